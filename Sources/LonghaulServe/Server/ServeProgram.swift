package import Longhaul
internal import LonghaulPlatform
internal import NIOCore
internal import NIOPosix

/// Longest wait at the end for requests being answered.
let servedEndSeconds = 2.0
/// Threads for the store, which blocks.
private let servedThreads = 4

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
    ///   - limits: Rereads the engine's limits, at SIGHUP.
    ///   - ready: Called with the address once requests are answered.
    /// - Throws: `conflict` when the port is taken, and where any client would be admitted without
    ///   a secret; `storeUnavailable`.
    package func run(
        limits: @escaping @Sendable () throws(LonghaulError) -> EngineLimits,
        ready: (String) throws -> Void
    ) throws {
        try options.check()
        var engineOptions = EngineOptions(mode: .serve)
        engineOptions.waitsForLease = true
        engineOptions.limits = options.limits
        let engine = EngineRun(queue: queue, options: engineOptions)
        let served = ServedQueue(queue, engine, options)
        let hub = try EventHub(queue)
        let pool = NIOThreadPool(numberOfThreads: servedThreads)
        pool.start()
        let gatekeeper = Gatekeeper(secret: options.secret, allowedOrigins: options.allowedOrigins)
        let service = HTTPService(served, gatekeeper, hub, pool)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer {
            hub.stop()
            ServeProgram.end(pool, group)
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

    /// Requests that are being answered have a moment to end. One that takes longer does not keep
    /// the program: everything is saved in transactions.
    ///
    /// - Returns: All have ended.
    @discardableResult
    static func end(
        _ pool: NIOThreadPool, _ group: MultiThreadedEventLoopGroup,
        within seconds: Double = servedEndSeconds
    ) -> Bool {
        let ended = Mailbox<Void>()
        pool.shutdownGracefully { _ in ended.put([()]) }
        let isQuiet = !ended.take(within: seconds).isEmpty
        if isQuiet {
            try? group.syncShutdownGracefully()
        } else {
            // The late answer needs its event loop, which ends with the program.
            _ = Unmanaged.passRetained(group)
        }
        return isQuiet
    }
}
