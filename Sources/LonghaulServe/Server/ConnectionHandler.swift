internal import Longhaul
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// A connection: reads a request, has it answered on a thread of the pool, and goes on with the
/// next one. A client that is slow is disconnected.
///
/// All state belongs to the channel's event loop.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    static let name = "longhaul-connection"

    private let service: HTTPService
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// An answer is due or under way: what else arrives of its request is passed over.
    private var isAnswering = false
    private var timer: Scheduled<Void>?
    private var stream: EventStream?

    init(_ service: HTTPService) {
        self.service = service
    }

    // MARK: - Events

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { expect(service.requestSeconds, context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        expect(service.requestSeconds, context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        stream?.stop()
        stream = nil
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stream?.writabilityChanged(context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused upgrade is answered as any other request.
        if error is NIOWebSocketUpgradeError { return }
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The client sends no more; a stream goes on until it stops reading.
        if let event = event as? ChannelEvent, event == .inputClosed, stream == nil, !isAnswering {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isAnswering = false
            if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
                length > Limits.servedBodyBytes
            {
                refuseBody(context)
            } else if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
                let go = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(go)), promise: nil)
            }
        case .body(var part):
            if isAnswering { return }
            body += part.readBytes(length: part.readableBytes) ?? []
            if body.count > Limits.servedBodyBytes { refuseBody(context) }
        case .end:
            guard !isAnswering, let head else { return }
            isAnswering = true
            timer?.cancel()
            answer(ServedRequest(head, body: body), context)
        }
    }

    // MARK: - Answers

    private func refuseBody(_ context: ChannelHandlerContext) {
        isAnswering = true
        var answer = ServedAnswer(
            LonghaulError(.tooLarge, "a request has at most \(Limits.servedBodyBytes) bytes"),
            .payloadTooLarge)
        answer.closes = true
        write(answer, context)
    }

    private func answer(_ request: ServedRequest, _ context: ChannelHandlerContext) {
        body = []
        service.answer(request, on: context.eventLoop).assumeIsolated().whenSuccess { answer in
            guard context.channel.isActive else { return }
            self.write(answer, context)
        }
    }

    private func write(_ answer: ServedAnswer, _ context: ChannelHandlerContext) {
        var answer = answer
        // A client that has not sent its whole request would take it for the next answer.
        if let head, !head.isKeepAlive { answer.closes = true }
        let isHead = head?.method == .HEAD
        var headers = HTTPHeaders(HTTPService.headers)
        headers.add(name: "Content-Type", value: answer.type)
        if let origin = head.flatMap({ service.gatekeeper.sharedOrigin($0.headers) }) {
            headers.add(name: "Access-Control-Allow-Origin", value: origin)
            headers.add(name: "Vary", value: "Origin")
        }
        for (name, value) in answer.headers { headers.add(name: name, value: value) }
        if answer.events == nil {
            headers.add(name: "Content-Length", value: "\(answer.body.count)")
        } else {
            headers.add(name: "Transfer-Encoding", value: "chunked")
        }
        if answer.closes { headers.add(name: "Connection", value: "close") }
        let start = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(wrapOutboundOut(.head(start)), promise: nil)
        if let subscription = answer.events, !isHead {
            context.flush()
            let stream = EventStream(subscription, service, context)
            self.stream = stream
            stream.start()
            return
        }
        if !isHead, !answer.body.isEmpty {
            let bytes = context.channel.allocator.buffer(bytes: answer.body)
            context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        }
        expect(Limits.servedAnswerSeconds, context)
        let closes = answer.closes
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            if closes {
                context.close(promise: nil)
            } else {
                self.expect(self.service.requestSeconds, context)
            }
        }
    }

    /// The next step has to come within this time.
    private func expect(_ seconds: Int64, _ context: ChannelHandlerContext) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(seconds)) {
            context.close(promise: nil)
        }
    }
}
