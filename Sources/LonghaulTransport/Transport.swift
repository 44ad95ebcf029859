internal import CLonghaul
package import LonghaulCore
internal import Synchronization

/// Moves bytes between servers and part files: one thread, one libcurl multi handle, values in and
/// values out.
///
/// It decides nothing. What a head means is told by the request's `judge`, what happens next by the
/// engine; neither the store nor a file's name is known here. No call blocks, but ``shutdown()``.
///
/// Facts are delivered in order and in batches, on the transport's thread: `facts` must only put
/// them into a mailbox. After `ended` nothing more is written through the request's descriptor or
/// cells. A crash loses nothing that was written before it: the bytes are in the page cache, and
/// the cells say how far.
package final class Transport: Sendable {
    private let inbox: TransportInbox
    private let thread: LoopThread
    private let isJoined = Mutex(false)

    /// Starts the thread. Throws where libcurl is unusable or no thread is to be had.
    package init(
        configuration: TransportConfiguration = TransportConfiguration(),
        facts: @escaping @Sendable ([WireFact]) -> Void
    ) throws(LonghaulError) {
        try CurlGlobal.start()
        guard let pointer = curl_multi_init() else {
            throw LonghaulError(.internal, "libcurl has no memory for its handles")
        }
        // A handle that was made without what wakes it looks like any other, and would never hear
        // of a request, nor that it is to end.
        guard curl_multi_wakeup(pointer) == CURLM_OK else {
            curl_multi_cleanup(pointer)
            throw LonghaulError(
                .internal, "libcurl cannot open what wakes it, for want of files or by a rule")
        }
        let multi = MultiHandle(pointer: pointer)
        let inbox = TransportInbox(multi: multi)
        do throws(LonghaulError) {
            thread = try LoopThread(name: "longhaul-wire") {
                TransportLoop(
                    multi: multi, inbox: inbox, configuration: configuration, facts: facts
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

    /// Puts requests on the wire, or in line for it. Each ends with exactly one `ended`. After
    /// ``shutdown()`` nothing happens.
    package func start(_ requests: [SegmentRequest]) {
        if !requests.isEmpty { inbox.send(.start(requests)) }
    }

    /// Goes on with a request whose head was judged `hold`. Ignored if it has ended.
    package func proceed(_ key: SegmentKey, _ plan: BodyPlan) {
        inbox.send(.proceed(key, plan))
    }

    /// Lets a request end at this file offset, as a success, instead of where its range ends:
    /// another one takes the rest. Bytes that are already written past it stay.
    package func shrink(_ key: SegmentKey, end: Int64) {
        inbox.send(.shrink(key, end: end))
    }

    /// Ends requests early: each still reports `ended`, as `stopped` unless it had ended before.
    package func stop(_ keys: [SegmentKey]) {
        if !keys.isEmpty { inbox.send(.stop(keys)) }
    }

    /// Takes back those that have not gone out: they report `ended`, as `withdrawn`. The others go
    /// on as if nothing had been said.
    package func withdraw(_ keys: [SegmentKey]) {
        if !keys.isEmpty { inbox.send(.withdraw(keys)) }
    }

    /// Requests that go out from now on use no connection that is there already, as where the
    /// network has changed: it may lead nowhere, and nobody would say so. Of these requests, which
    /// lose nothing by it, it is given up when it is silent for three seconds.
    package func leaveConnections(suspecting keys: [SegmentKey]) {
        inbox.send(.leaveConnections(suspecting: keys))
    }

    /// The limit over all requests together; `nil` = none.
    package func setTotalRate(_ bytesPerSecond: Int64?) {
        inbox.send(.totalRate(bytesPerSecond))
    }

    /// The limit of one request; `nil` = none. Ignored if it has ended.
    package func setRate(_ key: SegmentKey, _ bytesPerSecond: Int64?) {
        inbox.send(.rate(key, bytesPerSecond))
    }

    /// Connections to one origin from now on; those that are open stay.
    package func setConnectionsPerOrigin(_ count: Int) {
        inbox.send(.connectionsPerHost(count))
    }

    /// Stops all requests, delivers their facts and ends the thread, which may say good-bye to
    /// servers for a while longer. May be called more than once, never from `facts`.
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
