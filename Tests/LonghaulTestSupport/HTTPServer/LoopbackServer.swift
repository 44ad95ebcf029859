import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 whose every behaviour, lies included, is asked for in the query
/// of the URL: see `Knobs`. Each test starts its own; the port is the kernel's choice.
///
/// The content of `/f/NAME?size=S&seed=N` is `ByteOracle(seed: N)`, S bytes of it.
package final class LoopbackServer: Sendable {
    package let log: RequestLog
    package let port: Int
    private let state: ServerState
    private let listener: any Channel

    /// Starts listening.
    ///
    /// - Parameter onFinish: called for every request that has ended, on the server's thread.
    package static func start(
        port: Int = 0, onFinish: (@Sendable (LoggedRequest) -> Void)? = nil
    ) async throws -> LoopbackServer {
        let state = ServerState(log: RequestLog(onFinish: onFinish))
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(
                .writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = state.opened(channel)
                    let handler = ConnectionHandler(number: number, server: state)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        return LoopbackServer(state: state, listener: listener)
    }

    private init(state: ServerState, listener: any Channel) {
        self.state = state
        self.listener = listener
        log = state.log
        port = listener.localAddress?.port ?? 0
    }

    deinit {
        listener.close(promise: nil)
        for channel in state.takeOpen() { channel.close(promise: nil) }
    }

    /// Stops listening and closes every connection. Further connections are refused by the kernel.
    package func stop() async {
        try? await listener.close().get()
        for channel in state.takeOpen() { try? await channel.close().get() }
    }

    /// Closes every open connection, and goes on listening.
    package func dropConnections() async {
        for channel in state.takeOpen() { try? await channel.close().get() }
    }

    /// The URL of a file: `url("a.bin?size=1M&etag=v1")`.
    package func url(_ nameAndKnobs: String) -> String {
        "http://127.0.0.1:\(port)/f/\(nameAndKnobs)"
    }

    /// What the `request`th request for this name or URL is served, if it is served honestly.
    package func expected(_ nameAndKnobs: String, request: Int = 1) throws -> Representation {
        let query = nameAndKnobs.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return Representation(try Knobs(query: query), request: request)
    }

    /// Starts a server for the time of `body`. A request with knobs that make no sense is an error
    /// of the test, thrown at the end.
    package static func run<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start()
        do {
            let result = try await body(server)
            await server.stop()
            if let bad = server.log.badKnobs.first { throw bad }
            return result
        } catch {
            await server.stop()
            throw error
        }
    }
}

/// What the connections of one server share.
final class ServerState: Sendable {
    let log: RequestLog
    private let shared = Mutex(Shared())

    private struct Shared {
        var visits: [String: ResponsePlanner.Visit] = [:]
        var connectionsAccepted = 0
        var open: [ObjectIdentifier: any Channel] = [:]
    }

    init(log: RequestLog) { self.log = log }

    /// Decides the answer and counts the visit.
    func plan(_ head: RequestHead) -> ResponsePlan {
        let now = Int(Date().timeIntervalSince1970)
        return shared.withLock { shared in
            var visit = shared.visits[head.target] ?? ResponsePlanner.Visit()
            visit.request += 1
            var withContent = visit
            withContent.content += 1
            let (plan, carriesContent) = ResponsePlanner.plan(head, visit: withContent, now: now)
            shared.visits[head.target] = carriesContent ? withContent : visit
            return plan
        }
    }

    /// Remembers the connection until it closes.
    ///
    /// - Returns: its number, from 0.
    func opened(_ channel: any Channel) -> Int {
        let key = ObjectIdentifier(channel)
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.shared.withLock { _ = $0.open.removeValue(forKey: key) }
        }
        return shared.withLock { shared in
            shared.open[key] = channel
            shared.connectionsAccepted += 1
            return shared.connectionsAccepted - 1
        }
    }

    func takeOpen() -> [any Channel] {
        shared.withLock { shared in
            defer { shared.open.removeAll() }
            return Array(shared.open.values)
        }
    }
}
