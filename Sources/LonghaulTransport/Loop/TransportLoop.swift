internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// The code of the transport's thread: it takes commands, runs `curl_multi_perform`, delivers facts
/// and waits in `curl_multi_poll`.
///
/// Nothing here is shared: other threads reach it through ``TransportInbox`` only. Without requests
/// it sleeps until it is woken.
final class TransportLoop {
    let multi: UnsafeMutableRawPointer
    let inbox: TransportInbox
    let configuration: TransportConfiguration
    let deliver: @Sendable ([WireFact]) -> Void
    let turn: UnsafeMutablePointer<lh_turn>
    let batch = FactBatch()
    var staleConnections = StaleConnections()
    let yieldDriver = YieldDriver(pools: ConnectionPools())
    var queue: OriginQueue
    var active: [EasyHandle] = []
    var byKey: [SegmentKey: EasyHandle] = [:]
    /// Unused exchanges, with their handles.
    var spare: [EasyHandle] = []
    /// Monotonic nanoseconds; no request can be found stalled before.
    var nextStallCheck = Int64.max
    /// The same for requests that have not begun.
    var nextPendingCheck = Int64.max
    /// Where the last round of lifting rate pauses began, so that the next begins with another
    /// request.
    var rateRound = 0
    /// The number of ready sockets at the end of the last sleep.
    var readySockets: Int32 = 0
    /// Nanoseconds that a request waits within libcurl for a connection, and then in its queue.
    static let pendingTime: Int64 = 1_000_000_000
    /// Nanoseconds between two runs while a connection is made. libcurl 7.88 gives up an address in
    /// one run and tries the next one only in the run after it, for which it asks no sooner than
    /// the next address, too, should have answered (lib/connect.c).
    static let connectingTime: Int64 = 250_000_000
    /// Nanoseconds without a byte after which a connection is better made anew.
    static let silenceOfTheDead: Int64 = 3_000_000_000
    /// Milliseconds in which a fast sender refills a socket that was emptied.
    static let momentForOthers: Int32 = 5
    /// Milliseconds.
    private static let pollFailurePause: Int32 = 100
    private var commands: [TransportCommand] = []
    private var isShuttingDown = false

    init(
        multi: MultiHandle, inbox: TransportInbox, configuration: TransportConfiguration,
        facts: @escaping @Sendable ([WireFact]) -> Void
    ) {
        self.multi = multi.pointer
        self.inbox = inbox
        self.configuration = configuration
        deliver = facts
        queue = OriginQueue(configuration: configuration)
        turn = .allocate(capacity: 1)
        turn.initialize(to: lh_turn())
    }

    func run() {
        setLimits()
        while true {
            let now = TransportClock.monotonic()
            turn.pointee.now = now
            staleConnections.note(asleep: TransportClock.asleep(at: now), now: now)
            obey()
            liftRatePauses()
            liftRests()
            if turn.pointee.now >= queue.restsEndAt { queue.endRests() }
            admit()
            perform()
            takeNotices()
            takeBackPending()
            endStalled()
            yieldDriver.look(at: active, now: turn.pointee.now)
            admit()
            if !batch.facts.isEmpty {
                deliver(batch.facts)
                batch.facts.removeAll(keepingCapacity: true)
            }
            if isShuttingDown { break }
            if curl_multi_poll(multi, nil, 0, pollTimeout(), &readySockets) != CURLM_OK {
                // If memory is short, going on at once would make it worse.
                poll(nil, 0, Self.pollFailurePause)
            }
        }
        inbox.close()
        spare = []
        curl_multi_cleanup(multi)
        yieldDriver.pools.close()
        turn.deallocate()
    }

    private func setLimits() {
        func set(_ option: CURLMoption, _ value: Int) {
            lh_multi_setopt_long(multi, option, value)
        }
        set(CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        set(CURLMOPT_MAXCONNECTS, configuration.maxIdleConnections)
        set(CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maxConnectionsPerHost)
        set(CURLMOPT_MAX_TOTAL_CONNECTIONS, configuration.maxTotalConnections)
        set(CURLMOPT_MAX_CONCURRENT_STREAMS, Limits.streamsPerOrigin)
    }

    // MARK: - Commands

    private func obey() {
        inbox.take(into: &commands)
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
                staleConnections.noteAll(now: turn.pointee.now)
                for key in keys { byKey[key]?.isSuspect = true }
            case .totalRate(let rate):
                setTotalRate(rate)
            case .rate(let key, let rate):
                setRate(key, rate)
            case .limitsPerOrigin(let limits):
                queue.configuration.setLimitsPerOrigin(limits)
                lh_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits.perOrigin)
            case .shutdown:
                stopAll()
                isShuttingDown = true
                return
            }
        }
    }

    private func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        guard let exchange = byKey[key], exchange.isHeld else { return }
        exchange.open(plan)
        resume(exchange)
    }

    private func shrink(_ key: SegmentKey, _ end: Int64) {
        guard let exchange = byKey[key] else { return queue.shrink(key, end) }
        exchange.shrink(to: end)
        // The offset is reached already; the next piece, which would end the request, may come
        // late.
        if exchange.hasReachedStop { finish(exchange, nil) }
    }

    private func stop(_ keys: [SegmentKey]) {
        var unknown: Set<SegmentKey> = []
        for key in keys {
            if let exchange = byKey[key] {
                leaveConnection(of: exchange)
                finish(exchange, .stopped)
            } else {
                unknown.insert(key)
            }
        }
        if !unknown.isEmpty, !queue.isEmpty { report(queue.remove(unknown), as: .stopped) }
    }

    private func stopAll() {
        for exchange in active.reversed() { finish(exchange, .stopped) }
        report(queue.removeAll(), as: .stopped)
    }

    private func report(_ keys: [SegmentKey], as failure: WireFailure) {
        for key in keys {
            batch.facts.append(
                .ended(key, SegmentEnd(failure: failure, writtenThrough: 0, bytesReceived: 0)))
        }
    }
}
