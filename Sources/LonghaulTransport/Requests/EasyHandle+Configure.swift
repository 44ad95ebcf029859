internal import CLonghaul
internal import LonghaulCore

extension EasyHandle {
    /// Sets all options of a reset handle: the options of an earlier request or hop must not affect
    /// this one.
    func configure(_ request: SegmentRequest) -> WireFailure? {
        errorText[0] = 0
        lh_flow_attach(flow, easy)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_PRIVATE, pointer: Unmanaged.passUnretained(self).toOpaque())
        set(CURLOPT_URL, url)
        set(CURLOPT_PROTOCOLS_STR, "http,https,ftp,ftps,sftp")
        set(CURLOPT_NOSIGNAL, 1)
        // libcurl cannot cancel a look-up in its resolver thread. Without this, removing a handle
        // blocks all requests until the look-up ends: half a minute if name servers do not answer.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_BUFFERSIZE, bufferSize(request))
        let connect = request.connection.connectTimeout * 1000
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(min(connect, Double(Int32.max)))))
        let scheme = RequestURL.scheme(of: url)
        setConnection(request, scheme)

        setSite(scheme)
        let isFirstOrigin = isOnFirstOrigin(request)
        setIdentity(request.connection, isFirstOrigin: isFirstOrigin)
        if isFirstOrigin, hops > 0, request.connection.user == nil { setUserInfo(of: request.url) }
        switch scheme {
        case "http", "https":
            return setHTTP(request, isFirstOrigin: isFirstOrigin)
        default:
            setFileProtocol(request)
            // These are for an HTTP proxy.
            return setFields(request.headers, all: true)
        }
    }

    /// Selects the connections that the request may use. Sets every option anew, because a parked
    /// handle keeps its earlier options.
    ///
    /// - Parameter isPatient: Whether it may wait for a connection that is being made and may turn
    ///   out to be shareable.
    func setConnection(_ request: SegmentRequest, _ scheme: String, isPatient: Bool = true) {
        // Over plain TCP nothing but HTTP/1.1 is negotiated, so there is nothing to wait for.
        let mayBeHTTP2 = scheme == "https" && framing != .http1
        let isAlone = request.connection.ownConnection || framing == .unproven
        mayShare = mayBeHTTP2 && !isAlone
        flow.pointee.has_data_sockets = scheme.hasPrefix("ftp") ? 1 : 0
        lh_pool_use(pools.pool(for: request, isApart: scheme == "https" && !mayShare), easy)
        set(
            CURLOPT_HTTP_VERSION, Int(mayBeHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        set(CURLOPT_PIPEWAIT, mayShare && isPatient ? 1 : 0)
        // libcurl takes the age of a connection in whole seconds.
        let seconds = connectionsTrustedFor.map { Int($0 / 1_000_000_000) - 1 }
        var isFresh = isAlone
        if let seconds, seconds < 1, !isFresh, !mayShare || !isRenewed {
            isFresh = true
            if mayShare { line?.renewedAt = turn.pointee.now }
        }
        set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
        set(CURLOPT_MAXLIFETIME_CONN, isFresh ? 0 : seconds.map { max(1, $0) } ?? 0)
        // A server whose connections are not trusted may have moved to another address.
        if connectionsTrustedFor != nil { set(CURLOPT_DNS_CACHE_TIMEOUT, 0) }
    }

    /// Called when libcurl has found a connection, before it sends the request: whether to go on.
    /// libcurl 7.88 knows only for each authority and pool whether requests may share a connection.
    /// If only some servers behind a name speak HTTP/2, it puts a request onto a busy HTTP/1.1
    /// connection, and each request reads the other's answer. So only one request stays on such a
    /// connection of a pool for sharing.
    func admits() -> Bool {
        guard mayShare, lh_easy_has_agreed_on_http2(easy) == 0 else { return true }
        guard let origin = RequestURL(url)?.origin, pools.unshared.insert(origin).inserted else {
            asksAgain = .http1
            return false
        }
        unsharedAt = origin
        return true
    }

    func leaveUnshared() {
        if let origin = unsharedAt { pools.unshared.remove(origin) }
        unsharedAt = nil
    }

    /// Another request of its queue has begun a connection to share since the old ones are not
    /// trusted.
    private var isRenewed: Bool {
        guard let renewedAt = line?.renewedAt, let connectionsTrustedFor else { return false }
        return renewedAt >= turn.pointee.now - connectionsTrustedFor
    }

    /// libcurl counts connections through a proxy without a tunnel for the proxy, not for the
    /// server: six slow ones would block all other servers behind it. An address scope is part of
    /// its key, so a scope for each server gives each its own connections. A scope has a meaning
    /// only for link-local IPv6 addresses.
    private func setSite(_ scheme: String) {
        guard ["http", "ftp"].contains(scheme), isProxied else { return }
        let site = RequestURL.prefix(of: RequestURL.withoutUserInfo(url)).lowercased()
        set(CURLOPT_ADDRESS_SCOPE, site.hashValue & Int(Int32.max) | 1)
    }

    func isOnFirstOrigin(_ request: SegmentRequest) -> Bool {
        if hops == 0 { return true }
        guard let first = RequestURL(request.url), let current = RequestURL(url) else {
            return false
        }
        return first.origin == current.origin
    }

    /// A limited request reads small portions: the rest of a full buffer would wait for tokens.
    private func bufferSize(_ request: SegmentRequest) -> Int {
        let total = turn.pointee.total.rate
        guard let rate = [request.limitRate ?? 0, total].filter({ $0 > 0 }).min() else {
            return configuration.bufferSize
        }
        return min(configuration.bufferSize, max(16_384, Int(rate / 20)))
    }

    private func setIdentity(_ connection: ConnectionSettings, isFirstOrigin: Bool) {
        // Set explicitly, because libcurl would otherwise read the variables of this process.
        set(CURLOPT_PROXY, proxy ?? "")
        set(CURLOPT_NOPROXY, "")
        if let file = connection.caCertificate {
            set(CURLOPT_CAINFO, file)
            set(CURLOPT_PROXY_CAINFO, file)
        }
        if connection.insecure {
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        // Credentials are only for the origin that they were given for.
        guard isFirstOrigin else { return }
        set(CURLOPT_NETRC, connection.netrc ? Int(CURL_NETRC_OPTIONAL.rawValue) : 0)
        set(CURLOPT_HTTPAUTH, lh_auth_basic)
        if let user = connection.user { set(CURLOPT_USERPWD, user) }
        if let file = connection.clientCertificate { set(CURLOPT_SSLCERT, file) }
        if let file = connection.clientKey { set(CURLOPT_SSLKEY, file) }
        // Without a passphrase OpenSSL would ask at the terminal and block this thread.
        set(CURLOPT_KEYPASSWD, "")
    }

    /// Redirects within the URL's own origin seldom repeat its user and password.
    private func setUserInfo(of first: String) {
        guard let first = RequestURL(first), let user = first.user,
            let current = RequestURL(url), current.user == nil
        else { return }
        set(CURLOPT_USERNAME, user)
        set(CURLOPT_PASSWORD, first.password ?? "")
    }

    private func setHTTP(_ request: SegmentRequest, isFirstOrigin: Bool) -> WireFailure? {
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // Range offsets count encoded bytes, so bodies are stored as received.
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        return setFields(request.headers, all: isFirstOrigin)
    }

    private func setFields(_ headers: HeaderFields, all: Bool) -> WireFailure? {
        curl_slist_free_all(fieldList)
        fieldList = nil
        var hasUserAgent = false
        var cookies: [String] = []
        for field in headers.fields {
            if field.name.equalsIgnoringCase("user-agent") { hasUserAgent = true }
            guard all || HeaderFields.mayGoElsewhere(field.name) else { continue }
            guard Self.isSendable(field) else {
                return .curl(
                    code: Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue),
                    text: "a header field has a name or value with characters that cannot be sent",
                    osError: 0)
            }
            // Joined into one field with the cookies that a hop has set (RFC 6265 §5.4).
            if field.name.equalsIgnoringCase("cookie"), !field.value.isEmpty {
                cookies.append(field.value)
                continue
            }
            // libcurl takes "Name:" as "omit this field" and "Name;" as "send it empty".
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            guard let longer = curl_slist_append(fieldList, line) else { continue }
            fieldList = longer
        }
        if let fieldList { lh_easy_setopt_list(easy, CURLOPT_HTTPHEADER, fieldList) }
        if !cookies.isEmpty { set(CURLOPT_COOKIE, cookies.joined(separator: "; ")) }
        if !hasUserAgent { set(CURLOPT_USERAGENT, configuration.userAgent) }
        return nil
    }

    /// A line end would begin another field, or another request (RFC 9110 §5.5).
    private static func isSendable(_ field: HeaderFields.Field) -> Bool {
        let isToken = field.name.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ":") && byte != UInt8(ascii: ";")
        }
        let isValue = field.value.utf8.allSatisfy { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
        return isToken && isValue && !field.name.isEmpty
    }

    private func setFileProtocol(_ request: SegmentRequest) {
        lh_flow_bound(flow, easy)
        set(CURLOPT_FILETIME, 1)
        if request.offset > 0 {
            lh_easy_setopt_off_t(easy, CURLOPT_RESUME_FROM_LARGE, request.offset)
        }
        if let key = request.connection.clientKey { set(CURLOPT_SSH_PRIVATE_KEYFILE, key) }
        // Without a file libcurl would accept any host key; with a file that does not exist it
        // accepts none.
        if !request.connection.insecure {
            let file = configuration.knownHostsFile ?? CurlGlobal.defaultKnownHostsFile()
            set(CURLOPT_SSH_KNOWNHOSTS, file ?? "/dev/null")
        }
    }

    // MARK: - Setters

    private func set(_ option: CURLoption, _ value: Int) {
        lh_easy_setopt_long(easy, option, value)
    }

    private func set(_ option: CURLoption, _ value: String) {
        lh_easy_setopt_string(easy, option, value)
    }

    private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer) {
        lh_easy_setopt_ptr(easy, option, pointer)
    }
}
