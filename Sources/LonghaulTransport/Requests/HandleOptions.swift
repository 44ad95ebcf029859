internal import CLonghaul
internal import LonghaulModel

/// Bytes of the body of an upload's answer that are kept.
private let responseBodyBytes = 64 << 10

/// Sets the options of a reset handle for one hop: none of an earlier request or hop remains.
struct HandleOptions {
    let curl: CurlEasy
    let running: RunningRequest
    let configuration: TransportConfiguration
    /// Present contents of the files.
    let secrets: RequestSecrets

    private var request: SegmentRequest { running.request }
    private var url: String { running.hop.url }

    func setTransfer(totalRate: Int64) {
        curl.set(CURLOPT_URL, url)
        curl.set(CURLOPT_PROTOCOLS_STR, "http,https,ftp,ftps,sftp")
        curl.set(CURLOPT_NOSIGNAL, 1)
        // libcurl cannot cancel a look-up in its resolver thread. Without this, removing a handle
        // blocks all requests until the look-up ends: half a minute if name servers do not answer.
        curl.set(CURLOPT_QUICK_EXIT, 1)
        curl.set(CURLOPT_TCP_KEEPALIVE, 1)
        curl.set(CURLOPT_BUFFERSIZE, bufferSize(totalRate: totalRate))
        let connect = request.connection.connectTimeout * 1000
        curl.set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(min(connect, Double(Int32.max)))))
    }

    /// A limited request reads small portions: the rest of a full buffer would wait for tokens.
    private func bufferSize(totalRate: Int64) -> Int {
        guard let rate = [request.limitRate ?? 0, totalRate].filter({ $0 > 0 }).min() else {
            return configuration.bufferSize
        }
        return min(configuration.bufferSize, max(16_384, Int(rate / 20)))
    }

    /// libcurl counts connections through a proxy without a tunnel for the proxy, not for the
    /// server: six slow ones would block all other servers behind it. An address scope is part of
    /// its key, so a scope for each server gives each its own connections. A scope has a meaning
    /// only for link-local IPv6 addresses.
    private func setSite(_ scheme: String) {
        guard ["http", "ftp"].contains(scheme), running.isProxied else { return }
        let site = RequestURL.prefix(of: RequestURL.withoutUserInfo(url)).lowercased()
        curl.set(CURLOPT_ADDRESS_SCOPE, site.hashValue & Int(Int32.max) | 1)
    }

    // MARK: - Identity

    func setIdentity(_ scheme: String) {
        setSite(scheme)
        setProxyAndTLS()
        // Credentials are only for the origin that they were given for.
        guard running.isOnFirstOrigin else { return }
        let connection = request.connection
        curl.set(CURLOPT_NETRC, connection.netrc ? lh_netrc_optional : 0)
        curl.set(CURLOPT_HTTPAUTH, connection.authentication.bits)
        if let user = secrets.user ?? connection.user {
            curl.set(CURLOPT_USERPWD, user)
        } else if connection.authentication == .negotiate {
            // The ticket identifies the user, and libcurl requires some name.
            curl.set(CURLOPT_USERPWD, ":")
        }
        if let file = connection.clientCertificate { curl.set(CURLOPT_SSLCERT, file) }
        if let file = connection.clientKey { curl.set(CURLOPT_SSLKEY, file) }
        // Without a passphrase OpenSSL would ask at the terminal and block this thread.
        curl.set(CURLOPT_KEYPASSWD, "")
        if running.hops > 0, secrets.user ?? connection.user == nil {
            setUserInfo(of: request.url)
        }
    }

    private func setProxyAndTLS() {
        // Set explicitly, because libcurl would otherwise read the variables of this process.
        curl.set(CURLOPT_PROXY, running.proxy ?? "")
        curl.set(CURLOPT_NOPROXY, "")
        curl.set(CURLOPT_PROXYAUTH, request.connection.authentication.bits)
        if let file = request.connection.caCertificate {
            curl.set(CURLOPT_CAINFO, file)
            curl.set(CURLOPT_PROXY_CAINFO, file)
        }
        if request.connection.insecure {
            curl.set(CURLOPT_SSL_VERIFYPEER, 0)
            curl.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }

    /// Redirects within the URL's own origin seldom repeat its user and password.
    private func setUserInfo(of first: String) {
        guard let first = RequestURL(first), let user = first.user,
            let current = RequestURL(url), current.user == nil
        else { return }
        curl.set(CURLOPT_USERNAME, user)
        curl.set(CURLOPT_PASSWORD, first.password ?? "")
    }

    // MARK: - Protocols

    func setProtocol(
        _ scheme: String, _ flow: ResponseFlow, _ lists: inout RequestLists
    ) -> WireFailure? {
        lists = RequestLists()
        switch scheme {
        case "http", "https":
            setHTTP()
            if let upload = request.upload, let failure = send(upload, flow) { return failure }
            do throws(WireFailure) {
                var own = running.isOnFirstOrigin ? secrets.fields.fields : []
                if let token = try sign() { own.append(token) }
                setCookies()
                return setFields(&lists.fields, all: running.isOnFirstOrigin, and: own)
            } catch {
                return error
            }
        default:
            setFileProtocol(flow)
            if request.upload == nil { receiveFile(scheme, &lists) }
            if let upload = request.upload,
                let failure = sendFile(upload, scheme, flow, &lists)
            {
                return failure
            }
            // The list is for an HTTP proxy.
            return setFields(&lists.fields, all: true)
        }
    }

    /// libcurl sends each where its domain and path say, and over TLS alone where it says so. The
    /// handle forgets them with the request.
    private func setCookies() {
        if secrets.cookies.isEmpty { return }
        guard let host = RequestURL(url)?.origin.host else { return }
        for cookie in secrets.cookies where cookie.mayGo(to: host) {
            curl.set(CURLOPT_COOKIELIST, cookie.line)
        }
    }

    private func setHTTP() {
        curl.set(CURLOPT_FOLLOWLOCATION, 0)
        curl.set(CURLOPT_HTTP09_ALLOWED, 0)
        curl.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // Range offsets count encoded bytes, so bodies are stored as received.
        curl.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    }

    /// A body of known length, or none; never chunked, which many servers refuse.
    private func send(_ upload: UploadBody, _ flow: ResponseFlow) -> WireFailure? {
        flow.pointer.pointee.upload.answer_limit = upload.keepsAnswer ? responseBodyBytes : 0
        if let content = upload.content {
            if let failure = flow.send(content, upload, curl) { return failure }
            curl.set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1000)
            // Bytes that libcurl has already read are sent without a rate, so yielding requests
            // have a small buffer.
            if request.yields { curl.set(CURLOPT_UPLOAD_BUFFERSIZE, 16_384) }
        } else if upload.method == "HEAD" {
            curl.set(CURLOPT_NOBODY, 1)
        }
        curl.set(CURLOPT_CUSTOMREQUEST, upload.method)
        return nil
    }

    /// Returns the field that goes with keys that expire.
    private func sign() throws(WireFailure) -> HeaderFields.Field? {
        guard let signing = request.signing, running.isOnFirstOrigin else { return nil }
        curl.set(CURLOPT_AWS_SIGV4, signing.signature)
        // The key of an object may have . and .. as names like others. libcurl 8.14 refuses to
        // sign an unchanged path, and drops them otherwise: the object would get another key.
        if CanonicalURL.hasDotSegments(url) { curl.set(CURLOPT_PATH_AS_IS, 1) }
        guard let keys = try signing.keys?().get() else { return nil }
        curl.set(CURLOPT_USERNAME, keys.id)
        curl.set(CURLOPT_PASSWORD, keys.secret)
        return keys.token.map { HeaderFields.Field(name: S3Keys.tokenField, value: $0) }
    }

    private func setFileProtocol(_ flow: ResponseFlow) {
        lh_flow_bound(flow.pointer, curl.pointer)
        curl.set(CURLOPT_FILETIME, 1)
        if let key = request.connection.clientKey { curl.set(CURLOPT_SSH_PRIVATE_KEYFILE, key) }
        // Without a file libcurl would accept any host key; with a file that does not exist it
        // accepts none.
        if !request.connection.insecure {
            let file = configuration.knownHostsFile ?? CurlGlobal.defaultKnownHostsFile()
            curl.set(CURLOPT_SSH_KNOWNHOSTS, file ?? "/dev/null")
        }
    }

    /// Over FTP libcurl would end the body where SIZE, or the text of the reply to RETR, says that
    /// it ends, and call that a success. Without a look at these it reads to the end of the data
    /// connection, and wants 226; SIZE and REST are for us to send then.
    private func receiveFile(_ scheme: String, _ lists: inout RequestLists) {
        let isByHTTP = running.proxy.map { !$0.beginsIgnoringCase(with: "socks") } ?? false
        if scheme == "sftp" || isByHTTP {
            if request.offset > 0 { curl.set(CURLOPT_RESUME_FROM_LARGE, offset: request.offset) }
            return
        }
        curl.set(CURLOPT_IGNORE_CONTENT_LENGTH, 1)
        if let file = RemoteFile(url), file.problem == nil {
            lists.before.append("*SIZE \(file.name)")
        }
        if request.offset > 0 { lists.before.append("REST \(request.offset)") }
        if let first = lists.before.first {
            lh_easy_setopt_list(curl.pointer, CURLOPT_PREQUOTE, first)
        }
    }

    /// Bytes for a file at the server, or nothing but a question or commands.
    private func sendFile(
        _ upload: UploadBody, _ scheme: String, _ flow: ResponseFlow, _ lists: inout RequestLists
    ) -> WireFailure? {
        // The time of the file at the server is of no use here, and would cost a command.
        curl.set(CURLOPT_FILETIME, 0)
        // Without a tunnel an HTTP proxy would be sent a PUT, and no command.
        curl.set(CURLOPT_HTTPPROXYTUNNEL, 1)
        curl.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        for command in upload.commands.before { lists.before.append(command) }
        for command in upload.commands.after { lists.after.append(command) }
        // FTP commands of CURLOPT_QUOTE would be sent before the change of directory.
        let before = scheme == "sftp" ? CURLOPT_QUOTE : CURLOPT_PREQUOTE
        if let first = lists.before.first { lh_easy_setopt_list(curl.pointer, before, first) }
        if let first = lists.after.first {
            lh_easy_setopt_list(curl.pointer, CURLOPT_POSTQUOTE, first)
        }
        guard let content = upload.content else {
            curl.set(CURLOPT_NOBODY, 1)
            lh_flow_ignore_body(curl.pointer)
            return nil
        }
        // A directory that another connection makes meanwhile is no failure.
        if upload.makesDirectories {
            curl.set(CURLOPT_FTP_CREATE_MISSING_DIRS, Int(CURLFTP_CREATE_DIR_RETRY.rawValue))
        }
        flow.pointer.pointee.upload.base = upload.appendsAt
        if let failure = flow.send(content, upload, curl) { return failure }
        if upload.appendsAt > 0 {
            curl.set(CURLOPT_RESUME_FROM_LARGE, offset: upload.appendsAt)
        }
        return nil
    }

    private func setFields(
        _ list: inout FieldList, all: Bool, and own: [HeaderFields.Field] = []
    ) -> WireFailure? {
        list = FieldList()
        var hasUserAgent = false
        var cookies: [String] = []
        for field in request.headers.fields + own {
            if field.name.equalsIgnoringCase("user-agent") { hasUserAgent = true }
            guard let field = all ? field : field.forElsewhere(at: url) else { continue }
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
            // A field without a value is not sent, nor the one of that name that libcurl would
            // send.
            list.append("\(field.name):" + (field.value.isEmpty ? "" : " \(field.value)"))
        }
        // libcurl's own rule would ask also where the answer is known. It signs fields named here,
        // also to leave them out.
        if let upload = request.upload, !upload.method.isEmpty, !running.hop.expectsContinue,
            request.signing == nil
        {
            list.append("Expect:")
        }
        if let first = list.first { lh_easy_setopt_list(curl.pointer, CURLOPT_HTTPHEADER, first) }
        if !cookies.isEmpty { curl.set(CURLOPT_COOKIE, cookies.joined(separator: "; ")) }
        if !hasUserAgent { curl.set(CURLOPT_USERAGENT, configuration.userAgent) }
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
}

extension HTTPAuthentication {
    /// libcurl's bits.
    fileprivate var bits: Int {
        switch self {
        case .basic: lh_auth_basic
        case .digest: lh_auth_digest
        case .negotiate: lh_auth_negotiate
        case .any: lh_auth_any
        }
    }
}
