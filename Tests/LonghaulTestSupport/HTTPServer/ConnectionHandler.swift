import Glibc
import NIOCore

/// One connection: reads a request, performs its plan, and goes on with the next one.
///
/// All state belongs to the channel's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case reading
        case answering(Answer)
        /// Nothing is read or sent any more.
        case done
    }

    /// An answer under way.
    private struct Answer {
        var plan: ResponsePlan
        var entry: Int
        var head: RequestHead
        var cursor = BodyCursor()
        /// A pause between two bursts, or the delay before the head.
        var isPausing = false
    }

    private let number: Int
    private let server: ServerState
    private var state = State.reading
    private var input = ByteBuffer()
    /// Request body bytes that are still to be skipped.
    private var skip = 0
    private var isPumping = false

    private static let headBytesMax = 256 << 10
    private static let pieceBytes = 256 << 10

    init(number: Int, server: ServerState) {
        self.number = number
        self.server = server
    }

    // MARK: - Events

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        input.writeBuffer(&buffer)
        takeRequest(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context)
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .answering(let answer) = state { server.log.end(answer.entry, .lost) }
        state = .done
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? GoOn, case .answering(var answer) = state,
            event.concerns(answer.head)
        {
            answer.plan.goOn()
            state = .answering(answer)
            pump(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: - Requests

    private func takeRequest(_ context: ChannelHandlerContext) {
        guard case .reading = state else { return }
        let skipped = min(skip, input.readableBytes)
        input.moveReaderIndex(forwardBy: skipped)
        skip -= skipped
        guard skip == 0 else { return }

        let view = input.readableBytesView
        guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else {
            if view.count > Self.headBytesMax { context.close(promise: nil) }
            return
        }
        let head = RequestHead(parsing: view[..<end.lowerBound])
        input.moveReaderIndex(to: end.upperBound)
        input.discardReadBytes()
        guard let head else {
            context.close(promise: nil)
            return
        }
        skip = head["Content-Length"].flatMap { Int($0) } ?? 0
        let plan = server.plan(head)
        let entry = server.log.begin(connection: number, head: head, plan: plan).number
        start(Answer(plan: plan, entry: entry, head: head), context)
    }

    private func start(_ answer: Answer, _ context: ChannelHandlerContext) {
        state = .answering(answer)
        if answer.plan.ending == .drop {
            finish(.cut, context)
        } else if answer.plan.delayMilliseconds > 0 {
            pause(milliseconds: answer.plan.delayMilliseconds, context) { handler, context in
                handler.sendHead(context)
            }
        } else {
            sendHead(context)
        }
    }

    private func sendHead(_ context: ChannelHandlerContext) {
        guard case .answering(let answer) = state else { return }
        let early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
        let text = String(repeating: early, count: answer.plan.interimHeads) + answer.plan.head
        context.write(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        pump(context)
    }

    // MARK: - Body

    /// Writes body bytes while the kernel takes them and the plan allows.
    ///
    /// Flushing may make the channel writable again at once; `isPumping` keeps that event from
    /// recursing, so the loop checks again itself.
    private func pump(_ context: ChannelHandlerContext) {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        var burstLeft = Int.max
        if case .answering(let answer) = state { burstLeft = answer.plan.burst?.bytes ?? .max }
        while context.channel.isWritable, writePiece(&burstLeft, context) {
            if !context.channel.isWritable { context.flush() }
        }
        context.flush()
    }

    /// Writes the next bytes, or ends the answer after the last ones.
    ///
    /// - Returns: false if there is nothing more to write for now.
    private func writePiece(_ burstLeft: inout Int, _ context: ChannelHandlerContext) -> Bool {
        guard case .answering(var answer) = state, !answer.isPausing else { return false }
        let plan = answer.plan
        let room = min(Self.pieceBytes, plan.ending.bodyLimit - answer.cursor.sent)
        let count = min(room, burstLeft)
        let hasBody = plan.framing != .bodiless && room > 0
        if hasBody, count == 0, answer.cursor.sent < plan.bodyCount {
            rest(context)
            return false
        }
        guard hasBody,
            let piece = answer.cursor.next(plan.pieces, most: count, context.channel.allocator)
        else {
            bodyEnded(answer, context)
            return false
        }
        if plan.burst != nil { burstLeft -= piece.readableBytes }
        state = .answering(answer)
        write(piece, of: answer, context)
        return true
    }

    private func write(_ piece: ByteBuffer, of answer: Answer, _ context: ChannelHandlerContext) {
        let count = piece.readableBytes
        let chunked = if case .chunked = answer.plan.framing { true } else { false }
        if chunked {
            let size = ByteBuffer(string: String(count, radix: 16) + "\r\n")
            context.write(wrapOutboundOut(size), promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenSuccess { [log = server.log, entry = answer.entry] in
            log.sent(count, of: entry)
        }
        context.write(wrapOutboundOut(piece), promise: written)
        if chunked { context.write(wrapOutboundOut(ByteBuffer(string: "\r\n")), promise: nil) }
    }

    /// Pauses between two bursts.
    private func rest(_ context: ChannelHandlerContext) {
        guard case .answering(let answer) = state else { return }
        let milliseconds = answer.plan.burst?.milliseconds ?? 0
        pause(milliseconds: milliseconds, context) { handler, context in handler.pump(context) }
    }

    private func pause(
        milliseconds: Int, _ context: ChannelHandlerContext,
        then body: @escaping (ConnectionHandler, ChannelHandlerContext) -> Void
    ) {
        guard case .answering(var answer) = state else { return }
        answer.isPausing = true
        state = .answering(answer)
        let loop = context.eventLoop.assumeIsolated()
        loop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {
            guard case .answering(var answer) = self.state else { return }
            answer.isPausing = false
            self.state = .answering(answer)
            body(self, context)
        }
    }

    private func bodyEnded(_ answer: Answer, _ context: ChannelHandlerContext) {
        switch answer.plan.ending {
        case .stall:
            break
        case .cut, .reset, .drop:
            finish(.cut, context)
        case .keepAlive, .close:
            if answer.plan.framing == .chunked(terminated: true) {
                context.write(wrapOutboundOut(ByteBuffer(string: "0\r\n\r\n")), promise: nil)
            }
            let garbage = ByteBuffer(string: answer.plan.garbageAfter)
            context.write(wrapOutboundOut(garbage), promise: nil)
            finish(.sent, context)
        }
    }

    // MARK: - End of an answer

    /// Ends the answer once everything written so far is in the kernel.
    private func finish(_ outcome: LoggedRequest.Outcome, _ context: ChannelHandlerContext) {
        guard case .answering(let answer) = state else { return }
        state = .answering(with(answer, pausing: true))
        let flushed = context.eventLoop.makePromise(of: Void.self)
        flushed.futureResult.assumeIsolated().whenSuccess {
            guard case .answering = self.state else { return }
            self.server.log.end(answer.entry, outcome)
            guard answer.plan.ending == .keepAlive else {
                self.state = .done
                self.close(resetting: answer.plan.ending, context)
                return
            }
            self.state = .reading
            self.takeRequest(context)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: flushed)
    }

    private func with(_ answer: Answer, pausing: Bool) -> Answer {
        var answer = answer
        answer.isPausing = pausing
        return answer
    }

    private func close(resetting ending: ResponsePlan.Ending, _ context: ChannelHandlerContext) {
        if case .reset = ending, let socket = context.channel as? any SocketOptionProvider {
            // A lingering time of zero makes the kernel answer close() with RST.
            let option = linger(l_onoff: 1, l_linger: 0)
            socket.setSoLinger(option).assumeIsolated().whenComplete { _ in
                context.close(promise: nil)
            }
            return
        }
        context.close(promise: nil)
    }
}
