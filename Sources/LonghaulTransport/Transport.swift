internal import CLonghaul
package import LonghaulModel
internal import Synchronization

/// Moves bytes between servers and part files: one thread, one libcurl multi handle, values in and
/// values out.
///
/// The transport decides nothing: the request's `judge` interprets a head, and the engine chooses
/// what happens next. It knows neither the store nor the names of files. No call blocks except
/// ``shutdown()``.
///
/// Facts are delivered in order and in batches, on the transport's thread: `facts` must only put
/// them into a mailbox. After `ended` nothing more is written through the request's descriptor or
/// cells. A crash loses no bytes that were written before it: they are in the page cache, and the
/// cells have their number.
package final class Transport: Sendable {
    private let inbox: TransportInbox
    private let thread: LoopThread
    private let isJoined = Mutex(false)

    /// Starts the thread. Throws if libcurl is unusable or no thread can be had.
    package init(
        configuration: TransportConfiguration = TransportConfiguration(),
        budget: TransportBudget = TransportBudget(),
        facts: @escaping @Sendable ([WireFact]) -> Void
    ) throws(LonghaulError) {
        try CurlGlobal.start()
        guard let pointer = curl_multi_init() else {
            throw LonghaulError(.internal, "libcurl has no memory for its handles")
        }
        // curl_multi_init succeeds without a wake-up descriptor, too; such a handle would never
        // notice a request or the shutdown.
        guard curl_multi_wakeup(pointer) == CURLM_OK else {
            curl_multi_cleanup(pointer)
            throw LonghaulError(
                .internal, "libcurl cannot open what wakes it, for want of files or by a rule")
        }
        let multi = MultiHandle(pointer: pointer)
        let inbox = TransportInbox(multi: multi)
        do throws(LonghaulError) {
            thread = try LoopThread(
                name: configuration.isBackground ? "longhaul-wire-d" : "longhaul-wire",
                isBackground: configuration.isBackground
            ) {
                TransportLoop(
                    multi: multi, inbox: inbox, configuration: configuration, budget: budget,
                    facts: facts
                )
                .run()
            }
        } catch {
            curl_multi_cleanup(pointer)
            throw error
        }
        self.inbox = inbox
    }

    deinit {
        shutdown()
    }

    /// Starts requests, or queues them. Each ends with exactly one `ended`. After ``shutdown()`` it
    /// does nothing.
    package func start(_ requests: [SegmentRequest]) {
        if !requests.isEmpty { inbox.send(.start(requests)) }
    }

    /// Continues a request whose head was judged `hold`. Ignored if it has ended.
    package func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        inbox.send(.proceed(key, plan))
    }

    /// Lets a request end with success at this file offset instead of at the end of its range:
    /// another request takes the rest. Bytes already written past it stay.
    package func shrink(_ key: SegmentKey, end: Int64) {
        inbox.send(.shrink(key, end: end))
    }

    /// Ends requests early: each still reports `ended`, as `stopped` unless it had ended before.
    package func stop(_ keys: [SegmentKey]) {
        if !keys.isEmpty { inbox.send(.stop(keys)) }
    }

    /// Removes requests that still wait: they report `ended`, as `withdrawn`. Running requests are
    /// not affected.
    package func withdraw(_ keys: [SegmentKey]) {
        if !keys.isEmpty { inbox.send(.withdraw(keys)) }
    }

    /// Keeps later requests off existing connections, for example after a change of network:
    /// packets on them may be lost without an error. A request in `keys` is ended if it is silent
    /// for three seconds, which loses nothing.
    package func leaveConnections(suspecting keys: [SegmentKey]) {
        inbox.send(.leaveConnections(suspecting: keys))
    }

    /// The limit over the requests of all transports with this one's budget; `nil` = none. To be
    /// set at each of them.
    package func setTotalRate(_ bytesPerSecond: Int64?) {
        inbox.send(.totalRate(bytesPerSecond))
    }

    /// The limit of one request; `nil` = none. Ignored if it has ended.
    package func setRate(_ key: SegmentKey, _ bytesPerSecond: Int64?) {
        inbox.send(.rate(key, bytesPerSecond))
    }

    /// Connections and streams to one origin from now on; open ones stay.
    package func setLimitsPerOrigin(_ limits: SchedulerLimits) {
        inbox.send(.limitsPerOrigin(limits))
    }

    /// Stops all requests, delivers their facts and ends the thread, where libcurl may still close
    /// sessions for a while. May be called more than once, but never from `facts`.
    package func shutdown() {
        precondition(!thread.isCurrent, "shutdown() would wait for itself")
        isJoined.withLock { isJoined in
            guard !isJoined else { return }
            inbox.send(.shutdown)
            thread.join { inbox.isClosed }
            isJoined = true
        }
    }
}
