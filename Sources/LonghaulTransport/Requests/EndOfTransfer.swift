internal import CLonghaul
internal import LonghaulModel

/// The reason for a transfer's end, from libcurl's result and the handle's own records.
struct EndOfTransfer {
    let curl: CurlEasy
    let flow: ResponseFlow
    let errorText: UnsafeMutablePointer<CChar>
    let running: RunningRequest

    /// The file that was sent could not be read, or was changed.
    var ofSource: WireFailure? {
        switch UInt32(flow.pointer.pointee.outcome) {
        case LH_FLOW_SOURCE_CHANGED.rawValue: .sourceChanged
        case LH_FLOW_DISK.rawValue: .disk(errno: flow.pointer.pointee.disk_errno)
        default: nil
        }
    }

    func failure(_ code: CURLcode) -> WireFailure? {
        if let ofSource { return ofSource }
        switch UInt32(flow.pointer.pointee.outcome) {
        case LH_FLOW_REACHED_STOP.rawValue: return nil
        case LH_FLOW_OVERLAP_DIFFERS.rawValue: return .overlapDiffers
        case LH_FLOW_TOO_LONG.rawValue: return .bodyTooLong
        case LH_FLOW_HEAD_TOO_LARGE.rawValue: return .headTooLarge
        default: break
        }
        if running.hop.isStalled { return .stalled }
        if isUnannounced(code) { return .unannouncedEnd }
        if code == CURLE_OK { return nil }
        if flow.pointer.pointee.is_kept_away != 0 {
            return .privateAddress(host: RequestURL(running.hop.url)?.origin.host ?? "the host")
        }
        // libcurl reports a line beyond its own bound as a lack of memory, from 8.6 on as too large
        // (CURLE_TOO_LARGE, which older headers lack).
        if code == CURLE_OUT_OF_MEMORY || code.rawValue == 100, flow.isHTTPHead,
            !flow.hasFinalHead
        {
            return .headTooLarge
        }
        return refusalOfProxy() ?? refusalOfSOCKS(code) ?? curlFailure(code)
    }

    /// A body without a length ends with its connection. Over TLS close_notify shows that nothing
    /// was cut off (RFC 9112 §9.8); without it libcurl reports success (7.88) or a broken
    /// connection without an errno.
    private func isUnannounced(_ code: CURLcode) -> Bool {
        let isEnd =
            code == CURLE_OK || code == CURLE_RECV_ERROR && curl.number(CURLINFO_OS_ERRNO) == 0
        guard isEnd, flow.endsUnannounced, running.request.upload == nil,
            let head = running.hop.judged?.head
        else { return false }
        return head.headers.contentLength == .absent && !head.headers.hasTransferCoding
            && head.status != 204 && head.status != 304
    }

    private func curlFailure(_ code: CURLcode) -> WireFailure {
        if code == CURLE_PEER_FAILED_VERIFICATION,
            RequestURL.scheme(of: running.hop.url) == "sftp"
        {
            return .unknownHostKey(text: words(of: code))
        }
        return .curl(
            code: Int32(code.rawValue), text: words(of: code),
            osError: Int32(curl.number(CURLINFO_OS_ERRNO)))
    }

    /// An FTP server closes a connection that was idle for too long with a reply, which is read as
    /// the answer to the next command. That is not a failure of the server.
    ///
    /// libcurl takes a reused connection without a byte for a closed one, also after an empty file.
    /// From 8.13 on it fails to repeat a request over FTP and SFTP, as too many redirects, although
    /// these protocols have no redirects.
    func isOfIdleConnection(_ code: CURLcode) -> Bool {
        guard running.connectionsTrustedFor != 0, curl.number(CURLINFO_NUM_CONNECTS) == 0 else {
            return false
        }
        return code == CURLE_OPERATION_TIMEDOUT && replyOfFTP(code) != nil
            || code == CURLE_TOO_MANY_REDIRECTS && !running.hop.url.beginsIgnoringCase(with: "http")
    }

    // MARK: - Proxies

    /// libcurl reports a refused tunnel as a broken connection.
    private func refusalOfProxy() -> WireFailure? {
        if flow.isHTTPHead { return nil }
        let status = curl.number(CURLINFO_HTTP_CONNECTCODE)
        return status < 300 ? nil : .proxyRefused(status: status)
    }

    /// libcurl has one code for all answers of a SOCKS proxy. Refused credentials fail again at the
    /// next try. An unreachable server is no failure of the proxy.
    private func refusalOfSOCKS(_ code: CURLcode) -> WireFailure? {
        guard code == CURLE_PROXY else { return nil }
        let reason = curl.number(CURLINFO_PROXY_ERROR)
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

    /// libcurl's message does not say whose certificate was refused, nor that its host and port are
    /// the proxy's.
    private func isAboutProxy(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION:
            curl.number(CURLINFO_PROXY_SSL_VERIFYRESULT) != 0
        case CURLE_COULDNT_CONNECT: running.isProxied
        default: false
        }
    }

    // MARK: - Words

    /// libcurl's message, without the secrets of the request.
    private func words(of code: CURLcode) -> String {
        let own = String(cString: errorText)
        let text =
            replyOfFTP(code) ?? (own.isEmpty ? String(cString: curl_easy_strerror(code)) : own)
        var connection = running.request.connection
        connection.proxy = running.proxy
        return Redaction.text(
            isAboutProxy(code) ? "of the proxy: \(text)" : text,
            hidingSecretsOf: connection)
    }

    /// The FTP reply, which alone says why a login, an offset or a file was refused, or that the
    /// server closes its service (421), which libcurl reports as a timeout.
    private func replyOfFTP(_ code: CURLcode) -> String? {
        let explained = [
            CURLE_LOGIN_DENIED, CURLE_OPERATION_TIMEDOUT, CURLE_FTP_COULDNT_RETR_FILE,
            CURLE_UPLOAD_FAILED, CURLE_QUOTE_ERROR, CURLE_REMOTE_DISK_FULL,
        ]
        guard explained.contains(code) else { return nil }
        let reply = flow.replyOfFTP
        if code == CURLE_OPERATION_TIMEDOUT { return reply.hasPrefix("421") ? reply : nil }
        return reply.isEmpty ? nil : reply
    }
}
