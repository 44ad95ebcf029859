import Foundation
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 whose behaviour, lies included, is controlled by the query of
/// the URL: see `Knobs`. Each test starts its own; the kernel chooses the port.
///
/// The content of `/f/NAME?size=S&seed=N` is `ByteOracle(seed: N)`, S bytes of it.
package final class LoopbackServer: Sendable {
    package let log: RequestLog
    package let port: Int
    private let state: ServerState
    /// Bound to the port but not listening: keeps the port reserved while connections are refused.
    private let reservation: PortReservation
    private let listener: Mutex<(any Channel)?>

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - address: of this machine; another than the default for machines of a test's own.
    ///   - onFinish: called for every request that has ended, on the server's thread.
    package static func start(
        address: String = "127.0.0.1", port: Int = 0,
        onFinish: (@Sendable (LoggedRequest) -> Void)? = nil
    ) async throws -> LoopbackServer {
        let state = ServerState(log: RequestLog(onFinish: onFinish))
        let listener = try await listen(port, state, address)
        let bound = listener.localAddress?.port ?? 0
        return LoopbackServer(
            state: state, listener: listener, reservation: try PortReservation(bound))
    }

    private static func listen(
        _ port: Int, _ state: ServerState, _ address: String = "127.0.0.1"
    ) async throws -> any Channel {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(
                ChannelOptions.socket(SocketOptionLevel(SOL_SOCKET), SO_REUSEPORT), value: 1
            )
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
            .bind(host: address, port: port).get()
    }

    private init(state: ServerState, listener: any Channel, reservation: PortReservation) {
        self.state = state
        self.listener = Mutex(listener)
        self.reservation = reservation
        log = state.log
        port = reservation.port
    }

    deinit {
        takeListener()?.close(promise: nil)
        for channel in state.takeOpen() { channel.close(promise: nil) }
    }

    /// Stops listening and closes every connection: further connections are refused. The port stays
    /// reserved until the value is released.
    package func stop() async {
        try? await takeListener()?.close().get()
        await dropConnections()
    }

    /// Listens again on the same port after `stop`; counters and log continue.
    package func startAgain() async throws {
        let fresh = try await Self.listen(port, state)
        listener.withLock { $0 = fresh }
    }

    /// Closes every open connection, and continues to listen.
    package func dropConnections() async {
        for channel in state.takeOpen() { try? await channel.close().get() }
    }

    /// Ends all stalls and delays: present answers continue to their end at full speed. For a test
    /// that has had all the time it needs in the middle of an answer.
    ///
    /// - Parameter file: only the answers for this file.
    package func goOn(for file: String? = nil) {
        let event = GoOn(file: file)
        state.note(event)
        for channel in state.open { channel.pipeline.fireUserInboundEventTriggered(event) }
    }

    private func takeListener() -> (any Channel)? {
        listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
    }

    /// The most connections that were open at a time.
    package var connectionsAtMost: Int { state.openAtMost }

    /// The URL of a file: `url("a.bin?size=1M&etag=v1")`.
    package func url(_ nameAndKnobs: String) -> String {
        "http://127.0.0.1:\(port)/f/\(nameAndKnobs)"
    }

    /// The content of the `request`th answer for this name or URL, if it is an honest one.
    package func expected(_ nameAndKnobs: String, request: Int = 1) throws -> Representation {
        let query = nameAndKnobs.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return Representation(try Knobs(query: query), request: request)
    }

    /// Starts a server for the time of `body`. A request with invalid knobs is an error of the
    /// test, thrown at the end.
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

/// Tells a connection that its stalled or slow answer may go on, if it is for this file (nil: any).
struct GoOn: Sendable {
    var file: String?

    func concerns(_ head: RequestHead) -> Bool {
        file.map { head.pathAndQuery.path == "/f/" + $0 } ?? true
    }
}

/// The state that the connections of one server share.
final class ServerState: Sendable {
    let log: RequestLog
    private let shared = Mutex(Shared())

    private struct Shared {
        var visits: [String: ResponsePlanner.Visit] = [:]
        var connectionsAccepted = 0
        var open: [ObjectIdentifier: any Channel] = [:]
        var openAtMost = 0
        var goneOn: [GoOn] = []
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
            var (plan, carriesContent) = ResponsePlanner.plan(head, visit: withContent, now: now)
            shared.visits[head.target] = carriesContent ? withContent : visit
            if shared.goneOn.contains(where: { $0.concerns(head) }) { plan.goOn() }
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
            shared.openAtMost = max(shared.openAtMost, shared.open.count)
            shared.connectionsAccepted += 1
            return shared.connectionsAccepted - 1
        }
    }

    func note(_ event: GoOn) { shared.withLock { $0.goneOn.append(event) } }

    var openAtMost: Int { shared.withLock { $0.openAtMost } }

    var open: [any Channel] { shared.withLock { Array($0.open.values) } }

    func takeOpen() -> [any Channel] {
        shared.withLock { shared in
            defer { shared.open.removeAll() }
            return Array(shared.open.values)
        }
    }
}
