internal import Longhaul
internal import NIOCore
internal import NIOWebSocket

/// Least seconds between two checks for started and paused transfers.
private let rpcNoticeSeconds = 0.3

/// A connection over WebSocket: calls and their answers, and notices.
///
/// All state belongs to the channel's event loop.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let service: HTTPService
    private let place: ConnectionPlace
    /// The upgrade had the secret in its header, or none is asked for.
    private let isProven: Bool
    /// The parts of a message so far.
    private var message = ByteBuffer()
    private var isBusy = false
    /// Messages that came with the last read and wait for the answer to the one before.
    private var waiting = CircularBuffer<[UInt8]>()
    private var waitingBytes = 0
    /// Closes a connection that does not show the secret.
    private var proof: Scheduled<Void>?
    private var subscription: Int?
    private var notices = RPCNotices()
    private var isComparing = false
    private var isToCompareAgain = false
    private var stall: Scheduled<Void>?

    init(_ service: HTTPService, _ place: ConnectionPlace, isProven: Bool) {
        self.service = service
        self.place = place
        self.isProven = isProven
    }

    func handlerAdded(context: ChannelHandlerContext) {
        place.forgetBytes()
        if isProven { return welcome(context) }
        proof = context.eventLoop.assumeIsolated().scheduleTask(
            in: .seconds(service.requestSeconds)
        ) {
            context.close(promise: nil)
        }
    }

    /// The client has shown the secret. Notices tell no secret, but which gids there are: they are
    /// for clients that know it.
    private func welcome(_ context: ChannelHandlerContext) {
        proof?.cancel()
        place.set(.idle)
        subscribe(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let subscription { service.hub.remove(subscription) }
        subscription = nil
        stall?.cancel()
        proof?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // RFC 6455 §7.1.1: an endpoint that ends the connection of TCP ends it in both directions.
        if let event = event as? ChannelEvent, event == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Nothing is read while a call is being answered, or while the client does not read: unsent
    /// messages stay in the client's memory.
    private func updateReading(_ context: ChannelHandlerContext) {
        let isReading = !isBusy && context.channel.isWritable
        context.channel.setOption(.autoRead, value: isReading).whenFailure { _ in }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        updateReading(context)
        stall?.cancel()
        stall = nil
        if !context.channel.isWritable {
            stall = context.eventLoop.assumeIsolated().scheduleTask(
                in: .seconds(Limits.servedAnswerSeconds)
            ) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Frames

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .binary, .continuation:
            var part = frame.unmaskedData
            message.writeBuffer(&part)
            if message.readableBytes > Limits.servedBodyBytes {
                return close(context, .messageTooLarge)
            }
            if frame.fin {
                let text = message.readBytes(length: message.readableBytes) ?? []
                message.clear()
                receive(text, context)
            }
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: close(context, .normalClosure)
        default: break
        }
    }

    private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        context.writeAndFlush(wrapOutboundOut(frame)).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    // MARK: - Calls

    /// Answers one call at a time, so that a client cannot occupy all threads, and answers stay in
    /// order.
    private func receive(_ text: [UInt8], _ context: ChannelHandlerContext) {
        if isBusy {
            waiting.append(text)
            waitingBytes += text.count
            if waitingBytes > Limits.servedBodyBytes { close(context, .policyViolation) }
            return
        }
        isBusy = true
        updateReading(context)
        service.answer(text: text, isProven: isProven, on: context.eventLoop).assumeIsolated()
            .whenComplete { result in
                self.isBusy = false
                guard context.channel.isActive, let reply = try? result.get() else { return }
                self.write(reply.json.text, context)
                if reply.isProven { self.welcome(context) }
                self.goOn(context)
            }
    }

    /// The next message, or the next read.
    private func goOn(_ context: ChannelHandlerContext) {
        guard let next = waiting.popFirst() else {
            place.forgetBytes()
            return updateReading(context)
        }
        waitingBytes -= next.count
        receive(next, context)
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        let data = context.channel.allocator.buffer(string: text)
        let frame = WebSocketFrame(fin: true, opcode: .text, data: data)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    // MARK: - Notices

    private func subscribe(_ context: ChannelHandlerContext) {
        guard subscription == nil else { return }
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        subscription = service.hub.add { news in
            loop.execute {
                let (handler, context) = bound.value
                handler.receive(news, context)
            }
        }
        compare(context)
    }

    private func receive(_ news: EventHub.News, _ context: ChannelHandlerContext) {
        guard subscription != nil, context.channel.isWritable else { return }
        for notice in notices.ends(news) { write(notice, context) }
        compare(context)
    }

    /// Compares the queue with its previous state, at most some times a second.
    private func compare(_ context: ChannelHandlerContext) {
        if isComparing {
            isToCompareAgain = true
            return
        }
        isComparing = true
        let queue = service.queue.queue
        service.run(on: context.eventLoop) { try? RPCNotices.seen(in: queue) }.assumeIsolated()
            .whenComplete { result in
                if let seen = try? result.get() {
                    for notice in self.notices.changes(to: seen) { self.write(notice, context) }
                }
                let pause = TimeAmount.milliseconds(Int64(rpcNoticeSeconds * 1000))
                context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
                    self.isComparing = false
                    guard self.isToCompareAgain, self.subscription != nil else { return }
                    self.isToCompareAgain = false
                    self.compare(context)
                }
            }
    }
}
