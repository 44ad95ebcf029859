internal import CLonghaul
internal import LonghaulCore

extension EasyHandle {
    /// The meaning of libcurl's result for this handle.
    enum Completion {
        case ended(WireFailure?)
        case follow(RequestURL)
        case again(EasyHandle.Framing)
    }

    /// To be called once, when the handle's transfer has ended.
    func completion(_ code: CURLcode) -> Completion {
        let outcome = flow.pointee.outcome
        if verdict == nil, outcome == 0, hasAnswer(code) { judge(isCutOff: code != CURLE_OK) }
        if let asksAgain { return .again(asksAgain) }
        if wasClosedIdle(code) {
            connectionsTrustedFor = 0
            return .again(framing)
        }
        if lacksHTTP1(code) { return .again(.unproven) }
        switch verdict {
        case .redirect:
            return redirectCompletion()
        case .refuse:
            return .ended(.refused)
        case .accept, .hold, nil:
            return .ended(failure(code))
        }
    }

    /// An HTTP answer without a body is complete with its head; an empty file over FTP or SFTP,
    /// with libcurl's success.
    private func hasAnswer(_ code: CURLcode) -> Bool {
        isHTTPHead ? hasFinalHead : code == CURLE_OK
    }

    private func failure(_ code: CURLcode) -> WireFailure? {
        switch UInt32(flow.pointee.outcome) {
        case LH_FLOW_REACHED_STOP.rawValue: return nil
        case LH_FLOW_OVERLAP_DIFFERS.rawValue: return .overlapDiffers
        case LH_FLOW_TOO_LONG.rawValue: return .bodyTooLong
        case LH_FLOW_DISK.rawValue: return .disk(errno: flow.pointee.disk_errno)
        case LH_FLOW_HEAD_TOO_LARGE.rawValue: return .headTooLarge
        default: break
        }
        if isStalled { return .stalled }
        if code == CURLE_OK { return nil }
        // libcurl reports a line beyond its own bound as a lack of memory.
        if code == CURLE_OUT_OF_MEMORY, isHTTPHead, !hasFinalHead { return .headTooLarge }
        return refusalOfProxy() ?? refusalOfSOCKS(code) ?? curlFailure(code)
    }

    /// libcurl reports a refused tunnel as a broken connection.
    private func refusalOfProxy() -> WireFailure? {
        if isHTTPHead { return nil }
        let status = lh_easy_getinfo_long(easy, CURLINFO_HTTP_CONNECTCODE)
        return status < 300 ? nil : .proxyRefused(status: status)
    }

    /// libcurl has one code for all answers of a SOCKS proxy. Refused credentials fail again at the
    /// next try. An unreachable server is no failure of the proxy.
    private func refusalOfSOCKS(_ code: CURLcode) -> WireFailure? {
        guard code == CURLE_PROXY else { return nil }
        let reason = lh_easy_getinfo_long(easy, CURLINFO_PROXY_ERROR)
        func isOneOf(_ reasons: CURLproxycode...) -> Bool {
            reasons.contains { Int($0.rawValue) == reason }
        }
        if isOneOf(CURLPX_USER_REJECTED, CURLPX_NO_AUTH, CURLPX_LONG_USER, CURLPX_LONG_PASSWD) {
            return .proxyRefusedCredentials(text: words(of: code))
        }
        // A rule, the CONNECT command or the address type: a retry cannot change these.
        if isOneOf(
            CURLPX_REPLY_NOT_ALLOWED, CURLPX_REPLY_COMMAND_NOT_SUPPORTED,
            CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED)
        {
            return .proxyForbids(text: words(of: code))
        }
        if isOneOf(
            CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_NETWORK_UNREACHABLE,
            CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_CONNECTION_REFUSED,
            CURLPX_REPLY_TTL_EXPIRED, CURLPX_REQUEST_FAILED)
        {
            return .proxyCannotReach(text: words(of: code))
        }
        return nil
    }

    func curlFailure(_ code: CURLcode) -> WireFailure {
        if code == CURLE_PEER_FAILED_VERIFICATION, RequestURL.scheme(of: url) == "sftp" {
            return .unknownHostKey(text: words(of: code))
        }
        return .curl(
            code: Int32(code.rawValue), text: words(of: code),
            osError: Int32(lh_easy_getinfo_long(easy, CURLINFO_OS_ERRNO)))
    }

    /// libcurl's message, without the secrets of the request.
    private func words(of code: CURLcode) -> String {
        let own = String(cString: errorText)
        let text =
            replyOfFTP(code) ?? (own.isEmpty ? String(cString: curl_easy_strerror(code)) : own)
        var connection = request?.connection ?? ConnectionSettings()
        connection.proxy = proxy
        return Redaction.text(
            isAboutProxy(code) ? "of the proxy: \(text)" : text,
            hidingSecretsOf: connection)
    }

    /// libcurl's message does not say whose certificate was refused, nor that its host and port are
    /// the proxy's.
    private func isAboutProxy(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION:
            lh_easy_getinfo_long(easy, CURLINFO_PROXY_SSL_VERIFYRESULT) != 0
        case CURLE_COULDNT_CONNECT: isProxied
        default: false
        }
    }

    /// The proxy for this hop. A named proxy applies whatever `no_proxy` says; otherwise the
    /// variables recorded with the transfer apply, or this process's.
    var proxy: String? {
        let connection = request?.connection
        if let named = connection?.proxy { return named.isEmpty ? nil : named }
        let variables = connection?.proxyVariables ?? CurlGlobal.proxyVariables
        guard !variables.isEmpty, let origin = RequestURL(url)?.origin else { return nil }
        return variables.proxy(scheme: origin.scheme, host: origin.host)
    }

    var isProxied: Bool { proxy != nil }

    /// An FTP server closes a connection that was idle for too long with a reply, which is read as
    /// the answer to the next command. That is no failure of the server.
    private func wasClosedIdle(_ code: CURLcode) -> Bool {
        code == CURLE_OPERATION_TIMEDOUT && connectionsTrustedFor != 0
            && lh_easy_getinfo_long(easy, CURLINFO_NUM_CONNECTS) == 0 && replyOfFTP(code) != nil
    }

    /// The FTP reply, which alone says why a login or an offset was refused, or that the server
    /// closes its service (421), which libcurl reports as a timeout.
    private func replyOfFTP(_ code: CURLcode) -> String? {
        let asked = [CURLE_LOGIN_DENIED, CURLE_OPERATION_TIMEDOUT, CURLE_FTP_COULDNT_RETR_FILE]
        guard asked.contains(code) else { return nil }
        let reply = withUnsafeBytes(of: &flow.pointee.reply) { bytes in
            bytes[..<flow.pointee.reply_length].split { $0 == 0x0A || $0 == 0x0D }
                .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        }
        if code == CURLE_OPERATION_TIMEDOUT { return reply.hasPrefix("421") ? reply : nil }
        return reply.isEmpty ? nil : reply
    }

    /// Redirects are followed here, not by libcurl: the answer is judged first, and the fields to
    /// send along are chosen here.
    private func redirectCompletion() -> Completion {
        switch nextHop() {
        case .success(let target):
            return .follow(target)
        case .failure(let refusal):
            if let request, let head { facts.facts.append(.head(request.key, head, .redirect)) }
            return .ended(.redirect(refusal.problem))
        }
    }

    private struct Refusal: Error {
        var problem: RedirectProblem
    }

    private func nextHop() -> Result<RequestURL, Refusal> {
        func refused(_ problem: RedirectProblem) -> Result<RequestURL, Refusal> {
            .failure(Refusal(problem: problem))
        }
        guard let location = head?.headers["location"], let base = RequestURL(url),
            !location.isEmpty
        else { return refused(.missingLocation) }
        guard let target = RequestURL(location: location, base: base) else {
            let scheme = RequestURL.scheme(of: location)
            let isHTTP = scheme.isEmpty || scheme == "http" || scheme == "https"
            return refused(isHTTP ? .missingLocation : .scheme(scheme))
        }
        guard hops < configuration.maxRedirects else { return refused(.tooMany) }
        switch (base.origin.scheme, target.origin.scheme) {
        case ("https", "http"): return refused(.downgrade)
        case (_, "http"), (_, "https"): return .success(target)
        case (_, let other): return refused(.scheme(other))
        }
    }

    /// The end as a fact, to be taken before the handle is reused.
    func end(_ failure: WireFailure?, now: Int64) -> SegmentEnd {
        let planned = plan?.position ?? request?.offset ?? 0
        let written = flow.pointee.written > 0 ? flow.pointee.position : planned
        var end = SegmentEnd(
            failure: failure, writtenThrough: written, bytesReceived: flow.pointee.received,
            seconds: Double(now - begunAt) / 1e9, httpVersion: httpVersion)
        end.isProxied = isProxied
        return end
    }
}
