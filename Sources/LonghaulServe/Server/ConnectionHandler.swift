internal import Longhaul
internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// Bytes of a file that are read and sent at once.
private let servedPieceBytes = 256 << 10

/// A connection: reads a request, has it answered on a thread of the pool, and continues with the
/// next one. A client that is slow, or has not shown the secret, is disconnected.
///
/// All state belongs to the channel's event loop.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    static let name = "longhaul-connection"

    private let service: HTTPService
    private let place: ConnectionPlace
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// An answer is due or under way: what else arrives of its request is passed over.
    private var isAnswering = false
    /// A request of this connection had the secret, or none is asked for.
    private var isProven = false
    /// The client sends no more.
    private var isInputClosed = false
    private var timer: Scheduled<Void>?
    private var stream: EventStream?

    init(_ service: HTTPService, _ place: ConnectionPlace) {
        self.service = service
        self.place = place
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
        if let event = event as? ChannelEvent, event == .inputClosed {
            isInputClosed = true
            // A client that has only ended its requests still reads. One that has left answers the
            // next bytes of its stream with a reset.
            stream?.sendPulse()
            if !isAnswering { context.close(promise: nil) }
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
            } else if !head.isOld,
                head.headers.first(name: "expect")?.lowercased() == "100-continue"
            {
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
            if isProven || service.isProven(head.headers) { place.set(.answering) }
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
        if answer.isProven { isProven = true }
        place.forgetBytes()
        let isHead = head?.method == .HEAD
        let isOld = head?.isOld ?? false
        // A client that has not sent its whole request would take it for the next answer.
        let closes =
            answer.closes || !isProven || isOld || isInputClosed || !(head?.isKeepAlive ?? false)
        var headers = HTTPHeaders(HTTPService.headers)
        headers.add(name: "Content-Type", value: answer.type)
        if let origin = head.flatMap({ service.gatekeeper.sharedOrigin($0.headers) }) {
            headers.add(name: "Access-Control-Allow-Origin", value: origin)
            headers.add(name: "Vary", value: "Origin")
        }
        for (name, value) in answer.headers { headers.replaceOrAdd(name: name, value: value) }
        if answer.events == nil {
            let length = answer.file.map { $0.range.count } ?? answer.body.count
            headers.add(name: "Content-Length", value: "\(length)")
        } else if !isOld {
            headers.add(name: "Transfer-Encoding", value: "chunked")
        }
        if closes { headers.add(name: "Connection", value: "close") }
        // HTTP/1.0 knows no chunks (RFC 9112 §7.1): a body without a length lasts until the end.
        let start = HTTPResponseHead(
            version: isOld ? .http1_0 : .http1_1, status: answer.status, headers: headers)
        if let subscription = answer.events, !isHead {
            context.writeAndFlush(wrapOutboundOut(.head(start)), promise: nil)
            place.set(.idle)
            let stream = EventStream(subscription, service, context)
            self.stream = stream
            stream.start()
            return
        }
        expect(isProven ? Limits.servedAnswerSeconds : service.requestSeconds, context)
        if let file = answer.file, !isHead {
            context.write(wrapOutboundOut(.head(start)), promise: nil)
            return send(file, closes: closes, context)
        }
        let written: EventLoopFuture<Void>
        if isHead || answer.body.isEmpty {
            written = context.writeAndFlush(wrapOutboundOut(.head(start)))
        } else {
            context.write(wrapOutboundOut(.head(start)), promise: nil)
            let bytes = context.channel.allocator.buffer(bytes: answer.body)
            written = context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))))
        }
        written.assumeIsolated().whenComplete { _ in self.finish(closes: closes, context) }
    }

    /// Sends the bytes that are left, a piece at a time: read on a thread of the pool, and the next
    /// one only after the client has taken this one.
    private func send(_ file: ServedFile, closes: Bool, _ context: ChannelHandlerContext) {
        service.run(on: context.eventLoop) { file.piece(atMost: servedPieceBytes) }
            .assumeIsolated().whenComplete { result in
                guard context.channel.isActive else { return }
                // The announced length cannot be kept.
                guard case .success(let bytes?) = result else {
                    return context.close(promise: nil)
                }
                if bytes.isEmpty { return self.finish(closes: closes, context) }
                self.expect(Limits.servedAnswerSeconds, context)
                var rest = file
                rest.range = file.range.lowerBound + Int64(bytes.count)..<file.range.upperBound
                let buffer = context.channel.allocator.buffer(bytes: bytes)
                context.writeAndFlush(self.wrapOutboundOut(.body(.byteBuffer(buffer))))
                    .assumeIsolated().whenSuccess { self.send(rest, closes: closes, context) }
            }
    }

    /// The client has taken the answer. The next request is read after its end is written, and not
    /// before: answers to a client that does not read would fill the memory.
    private func finish(closes: Bool, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let closes = closes || isInputClosed
        if !closes {
            isAnswering = false
            place.set(.idle)
            expect(service.requestSeconds, context)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            if closes { context.close(promise: nil) }
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

extension HTTPRequestHead {
    /// HTTP/1.0.
    fileprivate var isOld: Bool { version.major < 1 || version == .http1_0 }
}
