internal import Longhaul
internal import NIOCore
internal import NIOWebSocket

/// A connection over WebSocket: calls and their answers, and notices.
///
/// All state belongs to the channel's event loop.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let service: HTTPService
    private let isProven: Bool
    /// The parts of a message so far.
    private var message = ByteBuffer()
    private var isBusy = false
    /// Messages that wait for the answer to the one before.
    private var waiting: [String] = []
    private var subscription: Int?
    private var notices = RPCNotices()
    private var isComparing = false
    private var isToCompareAgain = false
    private var stall: Scheduled<Void>?

    init(_ service: HTTPService, isProven: Bool) {
        self.service = service
        self.isProven = isProven
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // Notices tell no secret, but which gids there are: they are for clients that know it.
        if isProven { subscribe(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let subscription { service.hub.remove(subscription) }
        subscription = nil
        stall?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
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
                let text = String(buffer: message)
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

    /// One call at a time, so that a client cannot occupy all threads, and answers stay in order.
    private func receive(_ text: String, _ context: ChannelHandlerContext) {
        if isBusy {
            waiting.append(text)
            if waiting.count > Limits.rpcCallsMaximum { close(context, .policyViolation) }
            return
        }
        isBusy = true
        service.answer(text: text, isProven: isProven, on: context.eventLoop).assumeIsolated()
            .whenComplete { result in
                self.isBusy = false
                guard context.channel.isActive, let reply = try? result.get() else { return }
                self.write(reply.text, context)
                // Its token was right.
                if reply.isAuthorized { self.subscribe(context) }
                if !self.waiting.isEmpty { self.receive(self.waiting.removeFirst(), context) }
            }
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
        for notice in RPCNotices.ends(news) { write(notice, context) }
        compare(context)
    }

    /// Compares the queue with what it was before, at most some times a second.
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
                let pause = TimeAmount.milliseconds(Int64(Limits.rpcNoticeSeconds * 1000))
                context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
                    self.isComparing = false
                    guard self.isToCompareAgain, self.subscription != nil else { return }
                    self.isToCompareAgain = false
                    self.compare(context)
                }
            }
    }
}
