internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// If memory is short, continuing at once would make it worse.
private let pollFailureMilliseconds: Int32 = 100

/// The code of the transport's thread: it takes commands, runs `curl_multi_perform`, delivers facts
/// and waits in `curl_multi_poll`.
///
/// Nothing here is shared: other threads reach it through ``TransportInbox`` only. Without requests
/// it sleeps until it is woken.
final class TransportLoop {
    let multi: UnsafeMutableRawPointer
    let inbox: TransportInbox
    let configuration: TransportConfiguration
    let turn: UnsafeMutablePointer<lh_turn>
    let batch: FactBatch
    var staleConnections = StaleConnections()
    let budget: TransportBudget
    let yieldDriver: YieldDriver
    var queue: OriginQueue
    var handles = HandleTable()
    var nextChecks = NextChecks()
    /// Starting offset of the last round of lifting rate pauses, so that the next begins with
    /// another request.
    var rateRound = 0
    /// The number of ready sockets at the end of the last sleep.
    var readySockets: Int32 = 0
    private var commands: [TransportCommand] = []
    private var isShuttingDown = false

    init(
        multi: MultiHandle, inbox: TransportInbox, configuration: TransportConfiguration,
        budget: TransportBudget, facts: @escaping @Sendable ([WireFact]) -> Void
    ) {
        self.multi = multi.pointer
        self.inbox = inbox
        self.configuration = configuration
        self.budget = budget
        yieldDriver = YieldDriver(
            pools: ConnectionPools(budget: budget, isBackground: configuration.isBackground))
        batch = FactBatch(deliver: facts)
        queue = OriginQueue(configuration: configuration)
        turn = .allocate(capacity: 1)
        turn.initialize(to: lh_turn())
        turn.pointee.budget = budget.pointer
    }

    func run() {
        setLimits()
        while true {
            let now = TransportClock.monotonic()
            turn.pointee.now = now
            staleConnections.count(asleep: TransportClock.asleep(at: now), now: now)
            applyCommands()
            liftRatePauses()
            liftRests()
            if turn.pointee.now >= queue.restsEndAt { queue.endRests() }
            admit()
            perform()
            reportProgress()
            putBackPending()
            endStalled()
            yieldDriver.steer(handles.active, now: turn.pointee.now)
            admit()
            batch.deliverAll()
            if isShuttingDown { break }
            if curl_multi_poll(multi, nil, 0, pollTimeout(), &readySockets) != CURLM_OK {
                poll(nil, 0, pollFailureMilliseconds)
            }
        }
        inbox.close()
        handles.dropSpare()
        curl_multi_cleanup(multi)
        yieldDriver.pools.close()
        free(turn.pointee.gathered)
        turn.deallocate()
    }

    private func setLimits() {
        func set(_ option: CURLMoption, _ value: Int) {
            lh_multi_setopt_long(multi, option, value)
        }
        set(CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        set(CURLMOPT_MAXCONNECTS, configuration.maxIdleConnections)
        set(CURLMOPT_MAX_CONCURRENT_STREAMS, Limits.streamsPerOrigin)
        boundConnections()
    }

    private func boundConnections() {
        budget.bound(
            perOrigin: queue.configuration.maxConnectionsPerHost,
            inAll: configuration.maxTotalConnections)
    }

    // MARK: - Commands

    private func applyCommands() {
        inbox.drain(into: &commands)
        defer { commands.removeAll(keepingCapacity: true) }
        for command in commands {
            switch command {
            case .start(let requests):
                for request in requests { queue.append(request) }
            case .proceed(let key, let plan):
                proceed(key, plan)
            case .shrink(let key, let end):
                shrink(key, end)
            case .stop(let keys):
                stop(keys)
            case .withdraw(let keys):
                report(queue.remove(Set(keys)), as: .withdrawn)
            case .leaveConnections(let keys):
                staleConnections.markAll(now: turn.pointee.now)
                for key in keys { handles[key]?.running?.hop.isSuspect = true }
                nextChecks.stall = turn.pointee.now
            case .totalRate(let rate):
                setTotalRate(rate)
            case .rate(let key, let rate):
                setRate(key, rate)
            case .limitsPerOrigin(let limits):
                queue.configuration.setLimitsPerOrigin(limits)
                boundConnections()
            case .shutdown:
                stopAll()
                isShuttingDown = true
                return
            }
        }
    }

    private func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        guard let handle = handles[key], handle.flow.isHeld else { return }
        handle.open(plan)
        resume(handle)
    }

    private func shrink(_ key: SegmentKey, _ end: Int64) {
        guard let handle = handles[key] else { return queue.shrink(key, end) }
        handle.shrink(to: end)
        // The offset is reached already; the next piece, which would end the request, may come
        // late.
        if handle.flow.hasReachedStop { finish(handle, nil) }
    }

    private func stop(_ keys: [SegmentKey]) {
        var unknown: Set<SegmentKey> = []
        for key in keys {
            if let handle = handles[key] {
                leaveConnection(of: handle)
                finish(handle, .stopped)
            } else {
                unknown.insert(key)
            }
        }
        if !unknown.isEmpty, !queue.isEmpty { report(queue.remove(unknown), as: .stopped) }
    }

    private func stopAll() {
        for handle in handles.active.reversed() { finish(handle, .stopped) }
        report(queue.removeAll(), as: .stopped)
    }

    private func report(_ keys: [SegmentKey], as failure: WireFailure) {
        for key in keys {
            batch.facts.append(
                .ended(key, SegmentEnd(failure: failure, writtenThrough: 0, bytesReceived: 0)))
        }
    }
}

/// The handles that serve requests, and unused ones for the next.
struct HandleTable {
    /// Active handles, in no order; each knows its index.
    private(set) var active: [EasyHandle] = []
    private var byKey: [SegmentKey: EasyHandle] = [:]
    private var spare: [EasyHandle] = []

    subscript(key: SegmentKey) -> EasyHandle? { byKey[key] }

    mutating func insert(_ handle: EasyHandle, for key: SegmentKey) {
        handle.slot = active.count
        active.append(handle)
        let previous = byKey.updateValue(handle, forKey: key)
        precondition(previous == nil, "two requests with one key")
    }

    mutating func remove(_ handle: EasyHandle, for key: SegmentKey) {
        byKey[key] = nil
        let last = active.removeLast()
        if last !== handle {
            active[handle.slot] = last
            last.slot = handle.slot
        }
    }

    mutating func spareHandle() -> EasyHandle? { spare.popLast() }

    mutating func keepSpare(_ handle: EasyHandle, atMost count: Int) {
        if spare.count < count { spare.append(handle) }
    }

    mutating func dropSpare() { spare = [] }
}

/// When the loop next looks through its requests, in monotonic nanoseconds.
struct NextChecks {
    /// No request can be found stalled before.
    var stall = Int64.max
    /// The same for requests that have not begun.
    var pending = Int64.max
}
