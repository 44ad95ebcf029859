internal import Longhaul
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket

/// Header fields of a request.
private let servedHeaderFields = 100
/// Bytes of a request's header fields.
private let servedHeaderBytes = 32 << 10

/// Accepts connections, a bounded number at once.
final class HTTPListener: Sendable {
    private let service: HTTPService
    private let group: any EventLoopGroup
    private let table = ConnectionTable()

    init(_ service: HTTPService, _ group: any EventLoopGroup) {
        self.service = service
        self.group = group
    }

    /// - Throws: `conflict` when the port is taken; `invalidRequest` when there is no such address.
    func listen(_ options: ServeOptions) throws(LonghaulError) -> any Channel {
        do {
            return try ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelInitializer { [self] in accept($0) }
                .bind(host: options.address, port: options.port).wait()
        } catch {
            let place = "\(options.address):\(options.port)"
            if let error = error as? IOError, error.errnoCode == EADDRINUSE {
                throw LonghaulError(
                    .conflict, "\(place) is taken; --listen \(options.address):0 takes a free port")
            }
            throw LonghaulError(
                .invalidRequest, "it is not possible to listen at \(place): \(error)")
        }
    }

    private func accept(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let place = table.place(for: channel) else {
            return channel.eventLoop.makeFailedFuture(TooManyConnections())
        }
        return channel.eventLoop.makeCompletedFuture {
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = servedHeaderBytes
            limits.maxHeaderListSize = servedHeaderBytes
            limits.maxHeaderFieldCount = servedHeaderFields
            try channel.pipeline.syncOperations.addHandler(ReadMeter(place))
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                withServerUpgrade: upgrade(place), withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: limits)
            try channel.pipeline.syncOperations.addHandler(
                ConnectionHandler(service, place), name: ConnectionHandler.name)
        }
    }

    private struct TooManyConnections: Error {}

    private func upgrade(
        _ place: ConnectionPlace
    ) -> NIOHTTPServerUpgradeSendableConfiguration {
        let service = service
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: Limits.servedBodyBytes,
            shouldUpgrade: { channel, head in
                // Refused, it is answered as any other request.
                let request = ServedRequest(head)
                let isAdmitted =
                    request.path == ["jsonrpc"]
                    && service.gatekeeper.verdict(head.headers, proven: true) == .admitted
                return channel.eventLoop.makeSucceededFuture(isAdmitted ? HTTPHeaders() : nil)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let handler = WebSocketHandler(
                        service, place, isProven: service.isProven(head.headers))
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            })
        return (
            upgraders: [upgrader],
            completionHandler: { context in
                context.pipeline.removeHandler(name: ConnectionHandler.name, promise: nil)
            }
        )
    }
}
