internal import CLonghaul
internal import LonghaulModel

/// The year 9999, where the date format ends.
private let fileTimeSeconds: Int64 = 253_402_300_799

/// Judges the head of an answer: what happens to its body, and whether the hop is requested once
/// more.
extension EasyHandle {
    /// Reports the head and applies its verdict to the body. Called by the sink at the first body
    /// byte, and by the loop for answers that ended without one or whose body may begin late.
    ///
    /// - Parameter isCutOff: The body broke off before its first byte. A `hold` is then ignored:
    ///   stored bytes are not given up for a head alone.
    func judge(isCutOff: Bool = false) {
        guard let running, running.hop.isAwaited else { return }
        var head = flow.isHTTPHead ? httpHead(running) : fileHead(running)
        head.otherOrigin = running.otherOrigin
        head.isProxied = running.isProxied
        if let upload = running.request.upload {
            head.isAfterBody = sent.count - sent.held >= upload.content?.length ?? 0
        }
        if isOfIdleConnection(running, head) {
            self.running?.connectionsTrustedFor = 0
            self.running?.hop.answer = .dropped(running.hop.framing)
            return flow.giveUp()
        }
        let verdict = running.request.judge(head)
        if isCutOff, verdict == .hold { return }
        if !isCutOff, let framing = betterFraming(running, head, verdict) {
            self.running?.hop.answer = .dropped(framing)
            self.running?.hop.hadHTTP2 = head.httpVersion == 20
            flow.giveUp()
            return
        }
        self.running?.hop.answer = .judged(Hop.JudgedAnswer(head: head, verdict: verdict))
        if head.httpVersion == 20 {
            running.host.speaksHTTP2 = true
            running.host.isResting = false
        }
        switch verdict {
        case .accept(let plan):
            open(plan)
        case .hold:
            flow.hold()
        case .keep:
            flow.keep()
        case .redirect, .refuse:
            flow.discard(
                length: curl.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T),
                keeping: verdict == .refuse ? Int(Limits.answerReadBytes) : 0)
        }
        // A redirect that is followed is no fact; another is reported when it ends the request.
        if verdict != .redirect { facts.facts.append(.head(running.request.key, head, verdict)) }
    }

    /// A server, or a proxy before it, gives up a connection that was idle for too long, and its
    /// answer has crossed with the request (RFC 9110 §15.5.9): no failure, and asked once more over
    /// a new one.
    private func isOfIdleConnection(_ running: RunningRequest, _ head: ResponseHead) -> Bool {
        head.status == 408 && running.connectionsTrustedFor != 0
            && curl.number(CURLINFO_NUM_CONNECTS) == 0
    }

    /// An interim answer of resumable uploads; the request continues. Or the refusal of "Expect"
    /// (RFC 9110 §10.1.1): the hop is requested once more, without it.
    func reportInterim() {
        guard let running, running.hop.isAwaited, running.request.upload != nil else { return }
        if flow.pointer.pointee.head_status == 417 {
            guard running.hop.expectsContinue else { return }
            running.host.refusesExpect = true
            self.running?.hop.answer = .dropped(running.hop.framing)
            return flow.giveUp()
        }
        facts.facts.append(.interim(running.request.key, httpHead(running)))
    }

    /// Directs the body to the place in the plan.
    func open(_ plan: BodyPlan) {
        running?.hop.open(plan)
        flow.open(
            plan, end: request?.end, stopAt: running?.stopAt,
            status: running?.hop.judged?.head.status)
    }

    // MARK: - Framing

    /// A body on a shared connection is to be slowed down, which was not known when it was sent.
    func sharesThoughLimited(_ running: RunningRequest, _ head: ResponseHead) -> Bool {
        !running.isSlowed && running.hop.framing == .any && head.httpVersion == 20
            && flow.isUnderRate && !running.host.lacksHTTP1
    }

    /// An HTTP/2 answer without a length ends with its stream, and libcurl may not distinguish a
    /// reset (RFC 9113 §8.1) from that end. The chunks of HTTP/1.1 prove theirs.
    private func betterFraming(
        _ running: RunningRequest, _ head: ResponseHead, _ verdict: HeadVerdict
    ) -> Hop.Framing? {
        switch running.hop.framing {
        case .any where sharesThoughLimited(running, head):
            return verdict.takesBody ? .http1 : nil
        case .any:
            guard !CurlGlobal.tellsResets, head.httpVersion == 20, !running.host.lacksHTTP1,
                head.headers["content-length"] == nil, head.status != 206
            else { return nil }
            return verdict.takesBody ? .http1 : nil
        case .http1:
            // "Upgrade Required" and "HTTP Version Not Supported".
            guard head.status == 426 || head.status == 505 else { return nil }
            running.host.lacksHTTP1 = true
            return .unproven
        case .unproven: return nil
        }
    }

    /// A server that speaks only HTTP/2 refuses the handshake, or answers with something else than
    /// HTTP/1.1, or not at all.
    func lacksHTTP1(_ running: RunningRequest, _ code: CURLcode) -> Bool {
        let hop = running.hop
        guard hop.framing == .http1, hop.isAwaited, !flow.hasFinalHead else { return false }
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
            running.host.lacksHTTP1 = true
            return true
        // The network may be the cause: assumed for this request only.
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR: return hop.hadHTTP2
        default: return hop.isStalled && hop.hadHTTP2
        }
    }

    // MARK: - Heads

    private func httpHead(_ running: RunningRequest) -> ResponseHead {
        ResponseHead(
            scheme: .http, status: Int(flow.pointer.pointee.head_status), headers: flow.headFields,
            effectiveURL: RequestURL.withoutUserInfo(running.hop.url),
            httpVersion: curl.httpVersion, receivedAt: TransportClock.wall())
    }

    /// FTP and SFTP have no head: one is made from libcurl's information, in HTTP's terms. The
    /// length is that of the bytes to come.
    private func fileHead(_ running: RunningRequest) -> ResponseHead {
        var headers = HeaderFields()
        var length =
            flow.sizeByFTP.map { $0 - running.request.offset }
            ?? curl.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        // Over SFTP libcurl reports no length for an empty file; its success shows it. Some FTP
        // servers report 0 for every file, and then send it.
        if length <= 0 { length = flow.pointer.pointee.first_chunk == 0 ? 0 : -1 }
        if length >= 0 {
            headers.append(name: "Content-Length", value: String(length))
        }
        let modified = curl.offset(CURLINFO_FILETIME_T)
        if modified >= 0 {
            let time = Timestamp(milliseconds: min(modified, fileTimeSeconds) * 1000)
            headers.append(name: "Last-Modified", value: HTTPDate.format(time))
        }
        let url = running.hop.url
        return ResponseHead(
            scheme: RequestURL.scheme(of: url) == "sftp" ? .sftp : .ftp,
            status: running.request.offset > 0 ? 206 : 200, headers: headers,
            effectiveURL: RequestURL.withoutUserInfo(url), httpVersion: 0,
            receivedAt: TransportClock.wall())
    }
}

extension HeadVerdict {
    /// The body is written.
    fileprivate var takesBody: Bool {
        switch self {
        case .accept, .hold: true
        case .redirect, .keep, .refuse: false
        }
    }
}
