internal import CLonghaul
internal import LonghaulCore

/// One request on one easy handle, from the queue to `ended`, hops of redirects included. The
/// handle, its buffers and this object are used again for the next request.
///
/// Lives on the transport's thread only. While the handle is in the multi handle, libcurl holds the
/// addresses of `flow`, `errorText` and this object; the loop keeps the object in `active` for as
/// long.
final class EasyHandle {
    let easy: UnsafeMutableRawPointer
    let flow: UnsafeMutablePointer<lh_flow>
    let errorText: UnsafeMutablePointer<CChar>
    let configuration: TransportConfiguration
    let facts: FactBatch
    let pools: ConnectionPools

    /// The HTTP version to request.
    enum Framing {
        case any
        /// Its chunks prove the end of an answer, and its connection is not shared.
        case http1
        /// The server has no HTTP/1.1: the end of its answers cannot be proven.
        case unproven
    }

    /// Set from ``begin(_:waiting:now:)`` to ``clear()``.
    var request: SegmentRequest?
    var line: HostQueue?
    /// Its index in the loop's `active`.
    var slot = 0
    var url: String = ""
    var hops = 0
    var verdict: HeadVerdict?
    var head: ResponseHead?
    var plan: BodyPlan?
    /// An end before the requested one that counts as success.
    var stopAt: Int64?
    var begunAt: Int64 = 0
    /// The network has changed since it got its connection.
    var isSuspect = false
    var isStalled = false
    /// The bytes received on its connection when the request was last found silent; `nil` = it
    /// never was.
    var receivedBelow: UInt64?
    /// Connections older than so many nanoseconds are not used; `nil` = any may be used.
    var connectionsTrustedFor: Int64?
    var framing = Framing.any
    /// It was answered over HTTP/2 before it was requested over HTTP/1.1.
    var hadHTTP2 = false
    /// The origin to which it alone uses a connection that libcurl might take for one to share.
    var unsharedAt: RequestURL.Origin?
    /// Whether it holds an exclusive connection slot.
    var isAlone = false
    /// Whether a rate may apply to its body, from the start.
    var isSlowed = false
    /// Whether it may share a connection with other requests.
    var mayShare = false
    /// libcurl has reported its end: its sockets need not be shut down.
    var isOver = false
    /// Its answer is dropped, and it is requested once more with this framing.
    var asksAgain: Framing?
    /// The limit of the request itself in bytes per second; `nil` = unlimited.
    var ownRate: Int64? { didSet { if ownRate != oldValue { applyRate() } } }
    /// The limit set by ``YieldDriver``, in bytes per second; `nil` = unlimited.
    var yieldRate: Int64? { didSet { if yieldRate != oldValue { applyRate() } } }
    /// The request's fields, in libcurl's form; must live as long as the handle uses them.
    var fieldList: UnsafeMutablePointer<curl_slist>?

    init?(
        configuration: TransportConfiguration, facts: FactBatch,
        pools: ConnectionPools, turn: UnsafeMutablePointer<lh_turn>
    ) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.configuration = configuration
        self.facts = facts
        self.pools = pools
        self.turn = turn
        flow = .allocate(capacity: 1)
        flow.initialize(to: lh_flow())
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        // Any cookie enables the cookie engine for good; CURLOPT_COOKIEFILE would leak at a reset.
        lh_easy_setopt_string(easy, CURLOPT_COOKIELIST, "Set-Cookie: a=b")
        forgetCookies()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(fieldList)
        lh_flow_free_head(flow)
        flow.deallocate()
        errorText.deallocate()
    }

    let turn: UnsafeMutablePointer<lh_turn>

    /// Makes the handle ready for a new request. The failure, if any, is how the request ends
    /// without having been sent.
    func begin(_ waiting: WaitingRequest, line: HostQueue) -> WireFailure? {
        let request = waiting.request
        self.request = request
        stopAt = waiting.stopAt
        self.line = line
        url = request.url
        isAlone = waiting.isAlone
        slow(waiting.isSlowed)
        begunAt = turn.pointee.now
        ownRate = request.limitRate
        yieldRate = nil
        prepareFlow(for: request)
        return configure(request)
    }

    /// Adds the handle to the multi handle again, unchanged: nothing was sent. It does not wait for
    /// a connection that was still being made after so long and may turn out to be shareable: to a
    /// dead server all requests would wait for each other's connect timeout in turn.
    func goOn(_ waiting: WaitingRequest) {
        isAlone = waiting.isAlone
        slow(waiting.isSlowed)
        setConnection(waiting.request, RequestURL.scheme(of: url), isPatient: false)
        if let stop = waiting.stopAt { shrink(to: stop) }
        begunAt = turn.pointee.now
        flow.pointee.touched = turn.pointee.now
        ownRate = waiting.request.limitRate
    }

    /// A slowed body must not share its connection: libcurl 7.88 goes on reading for the other
    /// streams there, and keeps this one's bytes in memory, up to a window of 32 MiB, which it
    /// copies with each portion that is taken.
    private func slow(_ isSlowed: Bool) {
        self.isSlowed = isSlowed
        guard url.hasPrefix("https:") else { return }
        if isSlowed {
            framing = line?.lacksHTTP1 == true ? .unproven : .http1
        } else if pools.isUnshared(url) {
            framing = .http1
        }
    }

    /// Its body is to be slowed down, which was not known when it was sent.
    func sharesThoughLimited(_ head: ResponseHead) -> Bool {
        !isSlowed && framing == .any && head.httpVersion == 20
            && isUnderRate && line?.lacksHTTP1 != true
    }

    /// The same, while its body moves: the rest is better requested anew.
    var isToBeAskedAgain: Bool { plan != nil && head.map(sharesThoughLimited) == true }

    /// The request as an entry of the queue, to be continued.
    func parked() -> WaitingRequest? {
        guard var request else { return nil }
        request.limitRate = ownRate
        return WaitingRequest(
            request: request, stopAt: stopAt, exchange: self, isAlone: isAlone)
    }

    /// Makes the handle ready for the next hop of the same request.
    func follow(_ target: RequestURL) -> WireFailure? {
        hops += 1
        url = target.text
        framing = .any
        hadHTTP2 = false
        slow(isSlowed)
        return prepareAgain()
    }

    /// Makes the handle ready for the same hop once more.
    func ask(again framing: Framing) -> WireFailure? {
        self.framing = framing
        if isUnderRate { isSlowed = true }
        return prepareAgain()
    }

    private func prepareAgain() -> WireFailure? {
        guard let request else { preconditionFailure("a hop without a request") }
        verdict = nil
        head = nil
        isOver = false
        asksAgain = nil
        isStalled = false
        isSuspect = false
        receivedBelow = nil
        leaveUnshared()
        curl_easy_reset(easy)
        prepareFlow(for: request)
        return configure(request)
    }

    /// Clears all state of the request; secrets do not stay in the handle.
    func clear() {
        leaveUnshared()
        curl_easy_reset(easy)
        forgetCookies()
        lh_pool_use(nil, easy)
        curl_slist_free_all(fieldList)
        fieldList = nil
        request = nil
        line = nil
        verdict = nil
        head = nil
        plan = nil
        stopAt = nil
        hops = 0
        isStalled = false
        isSuspect = false
        receivedBelow = nil
        framing = .any
        hadHTTP2 = false
        isAlone = false
        isSlowed = false
        isOver = false
        asksAgain = nil
    }

    /// curl_easy_reset keeps the cookies: they serve the hops of one request.
    private func forgetCookies() {
        lh_easy_setopt_string(easy, CURLOPT_COOKIELIST, "ALL")
    }

    /// Applies the stricter of both limits from the next piece of the body on.
    private func applyRate() {
        let rate = [ownRate, yieldRate].compactMap(\.self).min() ?? 0
        lh_bucket_set(&flow.pointee.bucket, rate, turn.pointee.now)
    }

    private func prepareFlow(for request: SegmentRequest) {
        lh_flow_reset(flow)
        flow.pointee.turn = turn
        flow.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        flow.pointee.judge = { owner in
            guard let owner else { return }
            Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue().judge()
        }
        flow.pointee.admits = { owner in
            guard let owner else { return 1 }
            return Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue().admits() ? 1 : 0
        }
        flow.pointee.head_limit = configuration.maxHeadBytes
        flow.pointee.fd = request.target.descriptor
        flow.pointee.notice_every = request.noticeEvery
        flow.pointee.notice_at = request.noticeEvery
        flow.pointee.touched = turn.pointee.now
        applyRate()
        guard let cell = UnsafeMutablePointer<UInt64>(bitPattern: request.target.cell) else {
            return
        }
        flow.pointee.segment_cell = cell
        flow.pointee.fetch_cell = UnsafeMutablePointer(
            bitPattern: UInt(cell[ProgressCell.fetchCell]))
    }
}

/// Facts of one turn of the loop, delivered together.
final class FactBatch {
    var facts: [WireFact] = []
}
