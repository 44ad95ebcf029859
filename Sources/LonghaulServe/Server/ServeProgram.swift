package import Longhaul
internal import LonghaulPlatform
internal import NIOCore
internal import NIOPosix

/// The server: listens, and is the engine while no other process is.
package struct ServeProgram {
    private let queue: TransferQueue
    private let options: ServeOptions

    package init(_ queue: TransferQueue, _ options: ServeOptions) {
        self.queue = queue
        self.options = options
    }

    /// Runs until a signal or a client ends it. Everything is saved then.
    ///
    /// - Parameters:
    ///   - limits: Reads the engine's limits anew, at SIGHUP.
    ///   - ready: Called with the address once requests are answered.
    /// - Throws: `conflict` when the port is taken, and for an address that others can reach
    ///   without a secret; `storeUnavailable`.
    package func run(
        limits: @escaping @Sendable () throws(LonghaulError) -> EngineLimits,
        ready: (String) throws -> Void
    ) throws {
        if !options.isLoopback, options.secret == nil {
            throw LonghaulError(
                .conflict,
                "\(options.address) can be reached by others, which needs a secret: "
                    + "--secret-file FILE")
        }
        var engineOptions = EngineOptions(mode: .serve)
        engineOptions.waitsForLease = true
        engineOptions.limits = options.limits
        let engine = EngineRun(queue: queue, options: engineOptions)
        let served = ServedQueue(queue, engine, options)
        let hub = try EventHub(queue)
        let pool = NIOThreadPool(numberOfThreads: Limits.servedThreads)
        pool.start()
        let gatekeeper = Gatekeeper(secret: options.secret, allowedOrigins: options.allowedOrigins)
        let service = HTTPService(served, gatekeeper, hub, pool)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer {
            hub.stop()
            try? group.syncShutdownGracefully()
            try? pool.syncShutdownGracefully()
        }
        let listener = try HTTPListener(service, group).listen(options)
        try hub.start()
        let port = listener.localAddress?.port ?? options.port
        let host = options.address.contains(":") ? "[\(options.address)]" : options.address
        try ready("http://\(host):\(port)/")
        _ = try engine.runUntilSignalled(onHangUp: {
            // An invalid configuration changes nothing.
            if let new = try? limits() { try? served.adjust { $0 = new } }
        })
    }
}
