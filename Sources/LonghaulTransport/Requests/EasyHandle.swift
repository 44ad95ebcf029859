internal import CLonghaul
internal import LonghaulModel

/// An easy handle with its permanent parts; requests pass through it one after another.
///
/// The state of a request is in ``running``, and the state of one hop in its
/// ``RunningRequest/hop``: both end as a whole. Lives on the transport's thread only. While the
/// handle is in the multi handle, libcurl holds the addresses of `flow`, `errorText` and this
/// object; the loop keeps the object among the active ones for as long.
final class EasyHandle {
    let curl: CurlEasy
    let flow = ResponseFlow()
    let errorText: UnsafeMutablePointer<CChar>
    let configuration: TransportConfiguration
    let facts: FactBatch
    let pools: ConnectionPools
    let turn: UnsafeMutablePointer<lh_turn>
    /// The request that it serves; `nil` = none.
    var running: RunningRequest?
    /// Index of the handle among the active ones.
    var slot = 0
    private var lists = RequestLists()

    init?(
        configuration: TransportConfiguration, facts: FactBatch,
        pools: ConnectionPools, turn: UnsafeMutablePointer<lh_turn>
    ) {
        guard let curl = CurlEasy() else {
            flow.deallocate()
            return nil
        }
        self.curl = curl
        self.configuration = configuration
        self.facts = facts
        self.pools = pools
        self.turn = turn
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(curl.pointer)
        flow.deallocate()
        errorText.deallocate()
    }

    var request: SegmentRequest? { running?.request }
    var url: String { running?.hop.url ?? "" }

    // MARK: - Stages

    /// Makes the handle ready for a new request. The failure, if any, is how the request ends
    /// without having been sent.
    func begin(_ waiting: WaitingRequest, host: HostQueue, trustedFor: Int64?) -> WireFailure? {
        var running = RunningRequest(
            waiting, host: host, trustedFor: trustedFor, now: turn.pointee.now)
        running.slow(waiting.isSlowed, pools)
        return prepare(&running)
    }

    /// Adds the handle to the multi handle again, unchanged: nothing was sent. It does not wait for
    /// a connection that was still being made after so long and may turn out to be shareable: to a
    /// dead server all requests would wait for each other's connect timeout in turn.
    func goOn(_ waiting: WaitingRequest, trustedFor: Int64?) {
        running?.connectionsTrustedFor = trustedFor
        running?.isAlone = waiting.isAlone
        running?.slow(waiting.isSlowed, pools)
        setConnection(RequestURL.scheme(of: url), isPatient: false)
        if let stop = waiting.stopAt { shrink(to: stop) }
        running?.begunAt = turn.pointee.now
        flow.touched = turn.pointee.now
        limit(to: waiting.request.limitRate)
    }

    /// The request as an entry of the queue, to be continued.
    func parked() -> WaitingRequest? {
        guard let running else { return nil }
        leaveConnection()
        flow.pointer.pointee.begun = 0
        flow.pointer.pointee.is_crowded = 0
        var request = running.request
        request.limitRate = running.ownRate
        return WaitingRequest(
            request: request, stopAt: running.stopAt, handle: self, isAlone: running.isAlone)
    }

    /// Makes the handle ready for the next hop of the same request.
    func follow(_ target: RequestURL) -> WireFailure? {
        guard var running else { preconditionFailure("a hop without a request") }
        running.follow(target, pools)
        return prepareAgain(&running)
    }

    /// Makes the handle ready for the same hop once more.
    func ask(again framing: Hop.Framing) -> WireFailure? {
        guard var running else { preconditionFailure("a hop without a request") }
        running.ask(again: framing, isUnderRate: flow.isUnderRate)
        return prepareAgain(&running)
    }

    /// Forgets the request; its secrets do not stay in the handle.
    func clear() {
        leaveConnection()
        curl_easy_reset(curl.pointer)
        curl.forgetCookies()
        lh_pool_leave(curl.pointer)
        lists = RequestLists()
        running = nil
    }

    private func prepareAgain(_ running: inout RunningRequest) -> WireFailure? {
        leaveConnection()
        curl_easy_reset(curl.pointer)
        return prepare(&running)
    }

    /// Sets all options of a reset handle: an earlier request's or hop's must not affect this one.
    private func prepare(_ running: inout RunningRequest) -> WireFailure? {
        running.hop.expectsContinue =
            running.request.upload?.expectsContinue == true && !running.host.refusesExpect
        self.running = running
        prepareFlow(for: running.request)
        errorText[0] = 0
        lh_flow_attach(flow.pointer, curl.pointer)
        curl.set(CURLOPT_ERRORBUFFER, pointer: errorText)
        curl.set(CURLOPT_PRIVATE, pointer: Unmanaged.passUnretained(self).toOpaque())
        let scheme = RequestURL.scheme(of: running.hop.url)
        var secrets = RequestSecrets()
        if let read = running.request.secrets {
            switch read() {
            case .success(let found): secrets = found
            case .failure(let failure): return failure
            }
        }
        let options = HandleOptions(
            curl: curl, running: running, configuration: configuration, secrets: secrets)
        options.setTransfer(totalRate: pools.budget.rate)
        setConnection(scheme)
        options.setIdentity(scheme)
        return options.setProtocol(scheme, flow, &lists)
    }

    private func prepareFlow(for request: SegmentRequest) {
        let flow = flow.pointer
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
        flow.pointee.interim = { owner in
            guard let owner else { return }
            Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue().reportInterim()
        }
        if request.connection.privateAddresses == .refuse, running?.isProxied == false {
            flow.pointee.may_reach = { bytes, count in
                let address = Array(UnsafeBufferPointer(start: bytes, count: count))
                return PrivateAddresses.contain(address) ? 0 : 1
            }
        }
        flow.pointee.head_limit = configuration.maxHeadBytes
        flow.pointee.fd = request.target.descriptor
        flow.pointee.notice_every = request.noticeEvery
        flow.pointee.notice_at = request.noticeEvery
        flow.pointee.notices_head = request.connection.expectsSilence ? 1 : 0
        flow.pointee.touched = turn.pointee.now
        applyRate()
        guard let cell = UnsafeMutablePointer<UInt64>(bitPattern: request.target.cell) else {
            return
        }
        flow.pointee.segment_cell = cell
        flow.pointee.fetch_cell = UnsafeMutablePointer(
            bitPattern: UInt(cell[ProgressCell.fetchCell]))
    }

    // MARK: - Changes on the way

    /// Sets the request's own limit in bytes per second; `nil` = unlimited.
    func limit(to rate: Int64?) {
        guard running?.ownRate != rate else { return }
        running?.ownRate = rate
        applyRate()
    }

    /// Sets the limit of yielding in bytes per second; `nil` = unlimited.
    func yield(to rate: Int64?) {
        guard running?.yieldRate != rate else { return }
        running?.yieldRate = rate
        applyRate()
    }

    /// Applies the stricter of both limits from the next piece of the body on.
    private func applyRate() {
        lh_bucket_set(&flow.pointer.pointee.bucket, running?.rate ?? 0, turn.pointee.now)
    }

    /// Ends the request with success when it reaches this offset.
    func shrink(to end: Int64) {
        let stopAt = running?.stopAt ?? end
        running?.stopAt = min(end, stopAt)
        flow.shrink(to: end)
    }

    /// A body that moves on a shared connection is to be slowed down: the rest is better requested
    /// again.
    var isToBeAskedAgain: Bool {
        guard let running, let judged = running.hop.judged, judged.plan != nil else { return false }
        return sharesThoughLimited(running, judged.head)
    }
}

/// Facts of one turn of the loop, delivered together.
final class FactBatch {
    var facts: [WireFact] = []
    private let deliver: @Sendable ([WireFact]) -> Void

    init(deliver: @escaping @Sendable ([WireFact]) -> Void) {
        self.deliver = deliver
    }

    func deliverAll() {
        if facts.isEmpty { return }
        deliver(facts)
        facts.removeAll(keepingCapacity: true)
    }
}
