internal import Longhaul
internal import NIOCore
internal import NIOHTTP1

/// Seconds after which a silent stream of events says that it is there.
private let servedPulseSeconds: Int64 = 15

/// Server-Sent Events to one client. Unread events are not kept: they are read from the store once
/// the client reads on.
///
/// All state belongs to the channel's event loop.
final class EventStream {
    private let service: HTTPService
    private let context: ChannelHandlerContext
    private let session: String?
    /// All events up to this one were sent, or are of other sessions.
    private var cursor: Int64
    /// The last event that the hub has spoken of.
    private var heard: Int64 = 0
    private var subscription: Int?
    private var isReading = false
    /// There may be more than was read.
    private var isBehind = true
    private var stall: Scheduled<Void>?
    private var pulse: RepeatedTask?

    init(
        _ subscription: EventSubscription, _ service: HTTPService, _ context: ChannelHandlerContext
    ) {
        self.service = service
        self.context = context
        session = subscription.session
        cursor = subscription.after
    }

    func start() {
        let loop = context.eventLoop
        let bound = NIOLoopBound(self, eventLoop: loop)
        subscription = service.hub.add { news in
            loop.execute { bound.value.receive(news) }
        }
        pulse = loop.scheduleRepeatedTask(
            initialDelay: .seconds(0), delay: .seconds(servedPulseSeconds)
        ) { _ in
            bound.value.sendPulse()
        }
        read()
    }

    /// Says that the stream is there. A client that has left answers with a reset.
    func sendPulse() {
        write(Array(": longhaul\n\n".utf8))
    }

    func stop() {
        if let subscription { service.hub.remove(subscription) }
        subscription = nil
        stall?.cancel()
        pulse?.cancel()
    }

    /// A client that has not read for a minute is disconnected.
    func writabilityChanged(_ isWritable: Bool) {
        stall?.cancel()
        stall = nil
        if isWritable { return read() }
        let context = context
        stall = context.eventLoop.assumeIsolated().scheduleTask(
            in: .seconds(Limits.servedAnswerSeconds)
        ) {
            context.close(promise: nil)
        }
    }

    private func receive(_ news: EventHub.News) {
        guard subscription != nil else { return }
        heard = max(heard, news.through)
        let isNext = news.lines.first.map { $0.sequence <= cursor + 1 } ?? (news.through <= cursor)
        if isReading || isBehind || !isNext || !context.channel.isWritable {
            isBehind = true
            return read()
        }
        send(news.lines.filter { $0.sequence > cursor }, through: news.through)
    }

    /// Reads on from the cursor, a page at a time.
    private func read() {
        guard subscription != nil, isBehind, !isReading, context.channel.isWritable else { return }
        isReading = true
        isBehind = false
        let (queue, after, session) = (service.queue.queue, cursor, session)
        let heard = heard
        service.run(on: context.eventLoop) { () -> [EventHub.News.Line] in
            // A store that cannot be read now is read again after the next change.
            let events = (try? queue.events(after: after, session: session)) ?? []
            return events.map(EventHub.News.Line.init)
        }.assumeIsolated().whenComplete { result in
            self.isReading = false
            guard self.subscription != nil, let lines = try? result.get() else { return }
            if let last = lines.last {
                self.isBehind = true
                self.send(lines, through: last.sequence)
            } else {
                self.cursor = max(self.cursor, heard)
            }
            self.read()
        }
    }

    private func send(_ lines: [EventHub.News.Line], through: Int64) {
        var bytes: [UInt8] = []
        for line in lines where session == nil || line.session == session {
            bytes += "id: \(line.sequence)\nevent: \(line.type)\ndata: ".utf8
            bytes += line.json
            bytes += "\n\n".utf8
        }
        cursor = max(cursor, through)
        if !bytes.isEmpty { write(bytes) }
    }

    private func write(_ bytes: [UInt8]) {
        let buffer = context.channel.allocator.buffer(bytes: bytes)
        context.writeAndFlush(
            NIOAny(HTTPServerResponsePart.body(.byteBuffer(buffer))), promise: nil)
    }
}
