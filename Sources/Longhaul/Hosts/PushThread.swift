internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// The pause after the store could not be read or written, and between two looks at it: the engine
/// may have many turns in a second.
private let pushRetrySeconds: Double = 5
private let pushLookSeconds: Double = 0.2
/// Reports that may wait for the store.
private let pushReportsMost = 1000

/// The thread that keeps the connections to streams while this process is the engine. It is started
/// with the first subscription: most queues have none.
final class PushThread: Sendable {
    private enum Input: Sendable {
        /// The engine has had a turn: subscriptions or the network may have changed.
        case turn(networkChanges: Int)
        case facts([WireFact])
        case stop
    }

    private let directory: String
    private let silenceSeconds: Double
    private let inputs = Mailbox<Input>()
    private let gone = Mailbox<Void>()
    private let state = Mutex((isStarted: false, isStopped: false))

    init(_ directory: String, silenceSeconds: Double) {
        self.directory = directory
        self.silenceSeconds = silenceSeconds
    }

    /// Starts the thread if there is a subscription, and has it look at the store. From any thread;
    /// returns at once.
    ///
    /// - Parameter networkChanges: The number of changes to another network so far.
    func turn(_ queue: TransferQueue, networkChanges: Int) {
        let (isStarted, isStopped) = state.withLock { $0 }
        if isStopped { return }
        let turn = Input.turn(networkChanges: networkChanges)
        if isStarted { return inputs.put([turn]) }
        guard (try? queue.store.subscriptions.isEmpty()) == false else { return }
        inputs.put([turn])
        state.withLock { $0.isStarted = true }
        if !DetachedThread.begin(name: "longhaul-push", work) {
            state.withLock { $0.isStarted = false }
        }
    }

    /// Ends the thread, and waits until it does nothing any more.
    func stop() {
        let isStarted = state.withLock { state in
            state.isStopped = true
            return state.isStarted
        }
        inputs.put([.stop])
        if isStarted { _ = gone.take(within: EngineOptions.leavingSeconds) }
    }

    @Sendable private func work() {
        defer { gone.put([()]) }
        let inputs = inputs
        let wire = PushWire(silenceSeconds: silenceSeconds) { inputs.put([.facts($0)]) }
        defer { wire.shutdown() }
        guard let queue = opened() else { return }
        var pushes = Pushes(queue, wire)
        var pause: Double? = 0
        var lookedAt: Instant?
        while true {
            let news = inputs.take(within: pause)
            var facts: [WireFact] = []
            for input in news {
                switch input {
                case .turn(let networkChanges): pushes.follow(networkChanges)
                case .facts(let more): facts += more
                case .stop: return
                }
            }
            do throws(LonghaulError) {
                try pushes.receive(facts)
                let now = SystemClock.now().monotonic
                if let lookedAt, now - lookedAt < pushLookSeconds {
                    pause = pushLookSeconds
                    continue
                }
                lookedAt = now
                pause = try pushes.connect().map { max(0, $0 - queue.now) }
            } catch {
                pause = pushRetrySeconds
            }
        }
    }

    /// `nil` = it was stopped before the store could be read.
    private func opened() -> TransferQueue? {
        WorkThread.opened(unless: { state.withLock { $0.isStopped } }) {
            try? TransferQueue(directory: directory)
        }
    }
}

/// Subscriptions, their connections, and what these bring.
private struct Pushes {
    let queue: TransferQueue
    let wire: PushWire
    private var random = SystemRandom()
    private var isFirst = true
    private var networkChanges: Int?
    /// Reports that are not recorded yet.
    private var waiting: [PushWire.Report] = []
    private var wanted: [PushSubscription.ID: PushSubscription] = [:]

    init(_ queue: TransferQueue, _ wire: PushWire) {
        self.queue = queue
        self.wire = wire
    }

    private var rows: Subscriptions { queue.store.subscriptions }

    /// Records what the connections have brought. What the store does not take waits, in order.
    mutating func receive(_ facts: [WireFact]) throws(LonghaulError) {
        waiting += wire.reports(of: facts)
        if waiting.count > pushReportsMost {
            // The servers repeat what is not recorded.
            wire.close(wire.open)
            waiting = []
        }
        while let report = waiting.first {
            try record(report)
            waiting.removeFirst()
        }
    }

    private mutating func record(_ report: PushWire.Report) throws(LonghaulError) {
        switch report {
        case .opened(let id): try rows.connected(id, now: queue.now)
        case .events(let events, let id, let lastID):
            let isUrgent = wanted[id]?.isUrgent ?? false
            let wakeUps = events.map { event in
                WakeUp(
                    identifier: event.identifier, payload: event.text.flatMap(Self.payload),
                    isUrgent: isUrgent)
            }
            try rows.receive(wakeUps, lastID: lastID, by: id, now: queue.now)
            if !wakeUps.isEmpty { WakeChannel.poke(queue.directory) }
        case .ended(let id, let failure, let stream): try end(id, failure, stream)
        }
    }

    private mutating func end(
        _ id: PushSubscription.ID, _ failure: Failure?, _ stream: PushStream?
    ) throws(LonghaulError) {
        guard let known = wanted[id] else { return }
        let (failures, retryAt, error) = PushPlan.afterEnd(
            failure, of: stream, failures: known.failures, now: queue.now, using: &random)
        try rows.ended(id, failures: failures, retryAt: retryAt, error: error)
    }

    /// JSON as it is, other text as a string of JSON.
    private static func payload(_ text: String) -> String? {
        if text.isEmpty { return nil }
        if let bytes = try? JSONScanner.compacted(text) {
            return String(decoding: bytes, as: UTF8.self)
        }
        var json = JSONText()
        json.value(text)
        return json.text
    }

    /// After a change of network a connection may be dead without an error.
    mutating func follow(_ networkChanges: Int) {
        if let known = self.networkChanges, known != networkChanges { wire.networkHasChanged() }
        self.networkChanges = networkChanges
    }

    /// Opens and closes connections; returns when to look again.
    mutating func connect() throws(LonghaulError) -> Timestamp? {
        if isFirst { try rows.forgetConnections() }
        isFirst = false
        let all = try rows.all()
        wanted = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        let network = try queue.store.settings.engineView()?.conditions.network.value
        let plan = PushPlan.decide(
            all, open: wire.open, isOffline: network == .offline, now: queue.now)
        wire.close(plan.closes)
        for id in plan.closes where wanted[id] != nil {
            try rows.ended(id, failures: 0, retryAt: nil, error: nil)
        }
        for subscription in plan.opens {
            guard let failure = wire.connect(subscription) else { continue }
            try end(subscription.id, failure, nil)
        }
        return plan.next
    }
}
