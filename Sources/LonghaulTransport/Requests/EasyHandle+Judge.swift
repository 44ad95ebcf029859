internal import CLonghaul
internal import LonghaulCore

extension EasyHandle {
    /// Reports the head and applies its verdict to the body. Called by the sink at the first body
    /// byte, and by the loop for answers that ended without one.
    ///
    /// - Parameter isCutOff: The body broke off before its first byte. A `hold` is then ignored:
    ///   stored bytes are not given up for a head alone.
    func judge(isCutOff: Bool = false) {
        guard let request, verdict == nil else { return }
        var head = isHTTPHead ? httpHead() : fileHead(request)
        head.isElsewhere = !isOnFirstOrigin(request)
        head.isProxied = isProxied
        let verdict = request.judge(head)
        if isCutOff, verdict == .hold { return }
        if !isCutOff, let framing = betterFraming(head, verdict) {
            asksAgain = framing
            hadHTTP2 = head.httpVersion == 20
            giveUpBody()
            return
        }
        self.head = head
        self.verdict = verdict
        if head.httpVersion == 20 {
            line?.speaksHTTP2 = true
            line?.isResting = false
        }
        switch verdict {
        case .accept(let plan):
            open(plan)
        case .hold:
            flow.pointee.state = Int32(LH_FLOW_HELD.rawValue)
        case .redirect, .refuse:
            discardBody()
        }
        // A redirect that is followed is no fact; another is reported when it ends the request.
        if verdict != .redirect { facts.facts.append(.head(request.key, head, verdict)) }
    }

    /// Directs the body to the place in the plan.
    func open(_ plan: BodyPlan) {
        self.plan = plan
        flow.pointee.skip = plan.skip
        flow.pointee.compare = plan.compare
        flow.pointee.position = plan.position
        flow.pointee.end = plan.end ?? -1
        flow.pointee.stop_at = stopAt ?? -1
        if plan.isCutAtEnd, let end = plan.end { flow.pointee.stop_at = min(end, stopAt ?? end) }
        if let end = request?.end {
            if isHTTPHead {
                // The bound of a range does not apply to an answer with the whole file.
                if head?.status == 206 { flow.pointee.end = min(end, plan.end ?? end) }
            } else {
                // FTP and SFTP cannot be asked for an end: the transfer is cut off there.
                flow.pointee.stop_at = min(end, stopAt ?? end)
            }
        }
        flow.pointee.state = Int32(LH_FLOW_OPEN.rawValue)
    }

    /// From now on, reaching this offset ends the request with success.
    func shrink(to end: Int64) {
        stopAt = min(end, stopAt ?? end)
        let stop = flow.pointee.stop_at
        flow.pointee.stop_at = stop < 0 ? end : min(stop, end)
    }

    var hasReachedStop: Bool {
        flow.pointee.state == Int32(LH_FLOW_OPEN.rawValue) && flow.pointee.stop_at >= 0
            && flow.pointee.compare == 0 && flow.pointee.position >= flow.pointee.stop_at
    }

    /// Whether it is paused until the engine has committed the head's meaning.
    var isHeld: Bool { flow.pointee.state == Int32(LH_FLOW_HELD.rawValue) }

    /// A body that is already in memory as a whole is dropped there, and the connection can be
    /// reused. For any other body the request is ended: reading the body would waste time.
    private func discardBody() {
        flow.pointee.state = Int32(LH_FLOW_DISCARD.rawValue)
        let length = lh_easy_getinfo_off_t(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        if length != Int64(flow.pointee.first_chunk) { giveUpBody() }
    }

    private func giveUpBody() {
        flow.pointee.state = Int32(LH_FLOW_DISCARD.rawValue)
        flow.pointee.outcome = Int32(LH_FLOW_REFUSED.rawValue)
    }

    // MARK: - Framing

    /// An HTTP/2 answer without a length ends with its stream, and libcurl may not distinguish a
    /// reset (RFC 9113 §8.1) from that end. The chunks of HTTP/1.1 prove theirs.
    private func betterFraming(_ head: ResponseHead, _ verdict: HeadVerdict) -> Framing? {
        switch framing {
        case .any where sharesThoughLimited(head): return verdict.takesBody ? .http1 : nil
        case .any:
            guard !CurlGlobal.tellsResets, head.httpVersion == 20, line?.lacksHTTP1 != true,
                head.headers["content-length"] == nil, head.status != 206
            else { return nil }
            return verdict.takesBody ? .http1 : nil
        case .http1:
            // "Upgrade Required" and "HTTP Version Not Supported".
            guard head.status == 426 || head.status == 505 else { return nil }
            line?.lacksHTTP1 = true
            return .unproven
        case .unproven: return nil
        }
    }

    /// A server that speaks only HTTP/2 refuses the handshake, or answers with something else than
    /// HTTP/1.1, or not at all.
    func lacksHTTP1(_ code: CURLcode) -> Bool {
        guard framing == .http1, verdict == nil, !hasFinalHead else { return false }
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
            line?.lacksHTTP1 = true
            return true
        // The network may be the cause: assumed for this request only.
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR: return hadHTTP2
        default: return isStalled && hadHTTP2
        }
    }

    // MARK: - Heads

    /// FTP through an HTTP proxy answers with HTTP heads too.
    var isHTTPHead: Bool { flow.pointee.head_length > 0 }

    var hasFinalHead: Bool { flow.pointee.head_complete != 0 }

    private func httpHead() -> ResponseHead {
        let block = UnsafeRawBufferPointer(
            start: flow.pointee.head, count: flow.pointee.head_length)
        return ResponseHead(
            scheme: .http, status: Int(flow.pointee.head_status),
            headers: HeadBlock.fields(of: block),
            effectiveURL: RequestURL.withoutUserInfo(url), httpVersion: httpVersion,
            receivedAt: TransportClock.wall())
    }

    /// The year 9999, where the date format ends.
    private static let latestFileTime: Int64 = 253_402_300_799

    /// FTP and SFTP have no head: one is made from libcurl's information, in HTTP's terms. The
    /// length is that of the bytes to come.
    private func fileHead(_ request: SegmentRequest) -> ResponseHead {
        var headers = HeaderFields()
        var length = lh_easy_getinfo_off_t(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        // Over SFTP libcurl reports no length for an empty file; its success shows it. Some FTP
        // servers report 0 for every file, and then send it.
        if length <= 0 { length = flow.pointee.first_chunk == 0 ? 0 : -1 }
        if length >= 0 {
            headers.append(name: "Content-Length", value: String(length))
        }
        let modified = lh_easy_getinfo_off_t(easy, CURLINFO_FILETIME_T)
        if modified >= 0 {
            let time = Timestamp(milliseconds: min(modified, Self.latestFileTime) * 1000)
            headers.append(name: "Last-Modified", value: HTTPDate.format(time))
        }
        return ResponseHead(
            scheme: RequestURL.scheme(of: url) == "sftp" ? .sftp : .ftp,
            status: request.offset > 0 ? 206 : 200, headers: headers,
            effectiveURL: RequestURL.withoutUserInfo(url), httpVersion: 0,
            receivedAt: TransportClock.wall())
    }

    /// 10, 11, 20, 30, or 0 before an answer.
    var httpVersion: Int {
        switch lh_easy_getinfo_long(easy, CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): 10
        case Int(CURL_HTTP_VERSION_1_1): 11
        case Int(CURL_HTTP_VERSION_2_0): 20
        case Int(CURL_HTTP_VERSION_3): 30
        default: 0
        }
    }
}

extension HeadVerdict {
    /// Whether a body is written.
    fileprivate var takesBody: Bool {
        switch self {
        case .accept, .hold: true
        case .redirect, .refuse: false
        }
    }
}
