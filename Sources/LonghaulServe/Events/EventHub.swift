internal import Longhaul
internal import LonghaulPlatform
internal import Synchronization

/// Interval of reading the store without a notification.
private let servedWaitSeconds = 30.0
/// The pause after the store could not be read.
private let servedRetrySeconds = 1.0

/// Reads new events once for all streams, and tells subscribers of them and of each other change.
///
/// A thread waits for commits; without a subscriber it reads only the last event's number.
final class EventHub: Sendable {
    /// News for subscribers: events as lines of JSON, in order.
    struct News: Sendable {
        struct Line: Sendable {
            var sequence: Int64
            var session: String
            var type: String
            var transfer: TransferID?
            /// See ``TransferOptions/gid``.
            var gid: String?
            var json: [UInt8]
        }

        var lines: [Line] = []
        /// All events up to this one are in the lines, or were in earlier news.
        var through: Int64
    }

    typealias Subscriber = @Sendable (News) -> Void

    private struct State {
        var subscribers: [Int: Subscriber] = [:]
        var next = 0
    }

    private let queue: TransferQueue
    private let changes: ChangeWatch
    private let state = Mutex(State())
    private let isStopped = Atomic(false)

    init(_ queue: TransferQueue) throws(LonghaulError) {
        self.queue = queue
        changes = try queue.changes()
    }

    /// - Throws: `io` when no thread can be had.
    func start() throws(LonghaulError) {
        if !DetachedThread.begin(name: "longhaul-events", { self.follow() }) {
            throw LonghaulError(.io, "no thread can be started")
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        changes.cancel()
    }

    /// Calls `subscriber` on the hub's thread after each commit, until it is removed.
    func add(_ subscriber: @escaping Subscriber) -> Int {
        state.withLock { state in
            state.next += 1
            state.subscribers[state.next] = subscriber
            return state.next
        }
    }

    func remove(_ number: Int) {
        state.withLock { _ = $0.subscribers.removeValue(forKey: number) }
    }

    private func follow() {
        var through = try? queue.lastEventSequence()
        while !isStopped.load(ordering: .relaxed) {
            let isChanged: Bool
            do {
                isChanged = try changes.wait(timeout: servedWaitSeconds)
            } catch {
                // The store cannot be read for now.
                ThreadSleep.seconds(servedRetrySeconds)
                isChanged = true
            }
            let subscribers = state.withLock { Array($0.subscribers.values) }
            if subscribers.isEmpty {
                // A client that subscribes before the next wake-up gets the events from here on.
                if isChanged { through = try? queue.lastEventSequence() }
            } else if isChanged, let news = try? news(after: &through) {
                for subscriber in subscribers { subscriber(news) }
            }
        }
    }

    /// Without a position to continue from, subscribers read for themselves.
    private func news(after through: inout Int64?) throws(LonghaulError) -> News {
        guard let after = through else {
            let last = try queue.lastEventSequence()
            through = last
            return News(through: last)
        }
        var news = News(through: after)
        for event in try queue.events(after: after) {
            news.through = event.sequence
            news.lines.append(News.Line(event))
        }
        through = news.through
        return news
    }
}

extension EventHub.News.Line {
    init(_ event: EventRecord) {
        var json = JSONText()
        json.value(event)
        self.init(
            sequence: event.sequence, session: event.session, type: event.type,
            transfer: event.transferID, gid: event.transfer?.options.gid, json: json.bytes)
    }
}

/// The events that a client asks for.
struct EventSubscription: Sendable {
    var session: String?
    /// The last one that the client has.
    var after: Int64
}
