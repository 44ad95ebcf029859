extension FailureTable {
    /// Classifies a request that libcurl gave up (CURLcode, libcurl-errors(3)).
    ///
    /// - Parameters:
    ///   - text: libcurl's own words; shown without terminal control characters.
    ///   - osError: errno of the connect that failed (CURLINFO_OS_ERRNO), 0 if none.
    package static func classify(curl code: Int32, text: String, osError: Int32 = 0) -> Failure {
        let row = row(for: code, text: text)
        let detail = text.isEmpty ? "curl \(code)" : TerminalText.shown(text)
        var message = "\(row.what) (\(detail))"
        if osError != 0 && text.isEmpty { message += ", errno \(osError)" }
        if let advice = row.advice { message += "; \(advice)" }
        var error = LonghaulError(row.code, message)
        error.curlCode = Int(code)
        return Failure(
            row.kind, error, blamesOrigin: row.blamesOrigin,
            restart: row.kind == .restartFromZero ? .rangeNotSatisfiable(total: nil) : nil)
    }

    /// libcurl has one code (60) for keys of SSH hosts and for certificates; the advice differs.
    static func classify(hostKey text: String) -> Failure {
        var error = LonghaulError(
            .tls,
            "the SSH server's key is unknown, or is no longer the one in ~/.ssh/known_hosts "
                + "(\(TerminalText.shown(text))); ask for its fingerprint and put the right key "
                + "there, as `ssh` does at the first visit")
        error.curlCode = 60
        return Failure(.permanent, error)
    }

    private struct Row {
        var kind: FailureClass
        var code: LonghaulError.Code
        var what: String
        var advice: String?
        var blamesOrigin = false
    }

    private static func row(for code: Int32, text: String) -> Row {
        alertRow(code, text: text) ?? networkRow(code, text: text) ?? tlsRow(code, text: text)
            ?? serverRow(code, text: text) ?? localRow(code, text: text)
            // Codes that later versions of libcurl add: trying again is the careful choice.
            ?? Row(kind: .transient, code: .network, what: "the transfer failed")
    }

    /// The line broke or never stood.
    private static func networkRow(_ code: Int32, text: String) -> Row? {
        switch code {
        case 5, 6:  // COULDNT_RESOLVE_PROXY, COULDNT_RESOLVE_HOST
            let whose = code == 5 ? "the proxy's" : "the host's"
            return Row(
                kind: .transient, code: .dns, what: "\(whose) name could not be resolved",
                advice: "check the name and the network", blamesOrigin: true)
        case 7:  // COULDNT_CONNECT
            return Row(
                kind: .transient, code: .network, what: "no connection could be made",
                advice: "check the address and the network", blamesOrigin: true)
        case 28 where text.hasPrefix("421"), 67 where FTPReply.tellsOfNoRoom(text):
            // LOGIN_DENIED, with the server's reply
            return Row(
                kind: .transient, code: .serverError,
                what: "the FTP server has no room now, or closes its service", blamesOrigin: true)
        case 28, 42:
            // OPERATION_TIMEDOUT; ABORTED_BY_CALLBACK: silence at the end of a file
            return Row(
                kind: .transient, code: .timedOut, what: "the server did not answer in time",
                blamesOrigin: true)
        case 18, 56:  // PARTIAL_FILE, RECV_ERROR
            return Row(
                kind: .transient, code: .network, what: "the connection broke off",
                blamesOrigin: true)
        case 52:  // GOT_NOTHING
            return Row(
                kind: .transient, code: .network, what: "the server closed without an answer",
                blamesOrigin: true)
        case 55, 65:  // SEND_ERROR; SEND_FAIL_REWIND: it may not be sent again by itself
            return Row(
                kind: .transient, code: .network, what: "the request could not be sent",
                blamesOrigin: true)
        case 1 where text.hasPrefix("Received HTTP/0.9"):
            // UNSUPPORTED_PROTOCOL of an answer without a status line: servers that are restarted,
            // and what stands before them, send such things for a moment.
            return Row(
                kind: .transient, code: .serverError, what: "the server's answer is no HTTP",
                advice: "check the URL's scheme and port if that goes on", blamesOrigin: true)
        case 16, 92:  // HTTP2, HTTP2_STREAM
            return Row(
                kind: .transient, code: .network, what: "the HTTP/2 stream broke off",
                blamesOrigin: true)
        case 95, 96:  // HTTP3, QUIC_CONNECT_ERROR
            return Row(
                kind: .transient, code: .network, what: "the HTTP/3 stream broke off",
                blamesOrigin: true)
        case 8, 34, 61, 80, 81, 89:
            // WEIRD_SERVER_REPLY, HTTP_POST_ERROR, BAD_CONTENT_ENCODING, SSL_SHUTDOWN_FAILED,
            // AGAIN, NO_CONNECTION_AVAILABLE
            return Row(
                kind: .transient, code: .network, what: "the exchange with the server failed",
                blamesOrigin: true)
        case 45:  // INTERFACE_FAILED
            return Row(
                kind: .transient, code: .network, what: "the network interface failed")
        case 97:  // PROXY
            return Row(
                kind: .transient, code: .network, what: "the proxy failed",
                advice: "check --proxy and the *_proxy variables", blamesOrigin: true)
        default: return nil
        }
    }

    /// Under TLS 1.3 a server refuses a client when the handshake is over for it (RFC 8446
    /// §4.4.2.4), and only libcurl's words tell that from a line that broke.
    private static func alertRow(_ code: Int32, text: String) -> Row? {
        // HTTP2, SSL_CONNECT_ERROR, SEND_ERROR, RECV_ERROR, HTTP2_STREAM
        guard [16, 35, 55, 56, 92].contains(code) else { return nil }
        let text = text.lowercased()
        guard text.contains("alert") else { return nil }
        if text.contains("certificate required") {
            return Row(
                kind: .permanent, code: .tls, what: "the server asks for a client certificate",
                advice: "give --cert and --key")
        }
        let refusals = ["certificate", "unknown ca", "access denied"]
        guard refusals.contains(where: { text.contains($0) }) else { return nil }
        return Row(
            kind: .permanent, code: .tls, what: "the TLS certificates were not accepted",
            advice: "check --cacert, --cert and --key")
    }

    /// A handshake that breaks off is the network's; a wrong identity stays wrong.
    private static func tlsRow(_ code: Int32, text: String) -> Row? {
        switch code {
        case 35:  // SSL_CONNECT_ERROR
            if text.lowercased().contains("certificate") {
                return Row(
                    kind: .permanent, code: .tls, what: "the TLS certificates were not accepted",
                    advice: "check --cacert, --cert and --key")
            }
            if let row = handshakeRow(text.lowercased()) { return row }
            return Row(
                kind: .transient, code: .tls, what: "the TLS handshake broke off",
                blamesOrigin: true)
        // PEER_FAILED_VERIFICATION (51 before 7.62); OpenSSL's words, then GnuTLS's
        case 51 where text.tellsOfTheFuture, 60 where text.tellsOfTheFuture:
            return Row(
                kind: .transient, code: .tls, what: "the server's certificate is not valid yet",
                advice: "check this machine's clock", blamesOrigin: true)
        case 51, 60:
            return Row(
                kind: .permanent, code: .tls, what: "the server's identity could not be verified",
                advice: "give its authority with --cacert if it is to be trusted")
        case 58, 98:  // SSL_CERTPROBLEM, SSL_CLIENTCERT
            return Row(
                kind: .permanent, code: .tls, what: "the client certificate was not accepted",
                advice: "check --cert and --key; a key with a passphrase cannot be used, "
                    + "`openssl pkey` writes it without one")
        case 77, 82:  // SSL_CACERT_BADFILE, SSL_CRL_BADFILE
            return Row(
                kind: .permanent, code: .tls, what: "the certificates could not be read",
                advice: "check --cacert, or install ca-certificates")
        case 83, 90, 91:  // SSL_ISSUER_ERROR, SSL_PINNEDPUBKEYNOTMATCH, SSL_INVALIDCERTSTATUS
            return Row(
                kind: .permanent, code: .tls, what: "the server's certificate was not accepted")
        case 53, 54, 59, 64, 66:
            // SSL_ENGINE_NOTFOUND, SSL_ENGINE_SETFAILED, SSL_CIPHER, USE_SSL_FAILED,
            // SSL_ENGINE_INITFAILED
            return Row(
                kind: .permanent, code: .tls, what: "TLS could not be set up as asked")
        default: return nil
        }
    }

    /// Failures of the handshake that waiting does not cure. Up to TLS 1.2 a server that wants a
    /// certificate may say no more than that the handshake failed (RFC 5246 §7.2.2).
    private static func handshakeRow(_ text: String) -> Row? {
        if text.contains("alert handshake failure") {
            return Row(
                kind: .permanent, code: .tls, what: "the server refuses the TLS handshake",
                advice: "it may ask for a client certificate: give --cert and --key; or it has no "
                    + "TLS version or cipher in common with this machine")
        }
        let versions = ["alert protocol version", "unsupported protocol"]
        if versions.contains(where: { text.contains($0) }) {
            return Row(
                kind: .permanent, code: .tls,
                what: "the server has no TLS version in common with this machine",
                advice: "allow an older one in this machine's OpenSSL configuration, or ask who "
                    + "runs the server")
        }
        if text.contains("wrong version number") {
            return Row(
                kind: .permanent, code: .tls, what: "the server does not speak TLS on this port",
                advice: "check the URL's scheme and port: it may be plain http")
        }
        return nil
    }

    /// FTP and SFTP answers, which have no HTTP status.
    private static func serverRow(_ code: Int32, text: String) -> Row? {
        switch code {
        case 9:  // REMOTE_ACCESS_DENIED
            return Row(
                kind: .needsInput, code: .forbidden, what: "the server refuses access",
                advice: "give another URL with `set --url`, then `resume`")
        case 67, 94:  // LOGIN_DENIED, AUTH_ERROR
            return Row(
                kind: .needsInput, code: .unauthorized, what: "the server refuses the credentials",
                advice: "give --user, --netrc or another URL, then `resume`")
        case 78:  // REMOTE_FILE_NOT_FOUND
            return Row(
                kind: .needsInput, code: .notFound, what: "the server has no such file",
                advice: "give another URL with `set --url`, then `resume`")
        case 21, 31, 33, 36,
            19 where FTPReply.refusesRestart(text):
            // QUOTE_ERROR, as REST is sent as a command; FTP_COULDNT_USE_REST, RANGE_ERROR,
            // BAD_DOWNLOAD_RESUME; FTP_COULDNT_RETR_FILE, with the server's reply
            return Row(
                kind: .restartFromZero, code: .network, what: "the server cannot resume")
        case 10...15, 17, 19, 30, 79, 84, 87, 88:
            // FTP_ACCEPT_FAILED … FTP_CANT_GET_HOST, FTP_COULDNT_SET_TYPE, FTP_COULDNT_RETR_FILE,
            // FTP_PORT_FAILED, SSH, FTP_PRET_FAILED, FTP_BAD_FILE_LIST, CHUNK_FAILED
            return Row(
                kind: .transient, code: .serverError, what: "the server's answer was unusable",
                blamesOrigin: true)
        case 47:  // TOO_MANY_REDIRECTS
            return Row(kind: .permanent, code: .clientError, what: "too many redirects")
        default: return nil
        }
    }

    /// Faults of our use of libcurl, and of this machine.
    private static func localRow(_ code: Int32, text: String) -> Row? {
        switch code {
        case 1, 4, 37, 48:
            // UNSUPPORTED_PROTOCOL, NOT_BUILT_IN, FILE_COULDNT_READ_FILE, UNKNOWN_OPTION
            return Row(
                kind: .permanent, code: .unsupported, what: "this libcurl does not support that",
                advice: "`longhaul doctor` lists what it supports")
        case 3, 43, 49:  // URL_MALFORMAT, BAD_FUNCTION_ARGUMENT, SETOPT_OPTION_SYNTAX
            return Row(
                kind: .permanent, code: .invalidRequest, what: "the request is malformed",
                advice: "check the URL and the options")
        case 63:  // FILESIZE_EXCEEDED
            return Row(
                kind: .permanent, code: .tooLarge, what: "the file is larger than is allowed",
                advice: "raise --max-size")
        case 26 where text.contains("netrc"):
            return Row(
                kind: .permanent, code: .invalidRequest, what: "~/.netrc cannot be read",
                advice: "mend that file, then `resume`, or leave out --netrc")
        case 23, 26:  // WRITE_ERROR, READ_ERROR
            return Row(
                kind: .localFault, code: .io, what: "the file could not be written",
                advice: "mend that, then `resume`")
        case 2, 27, 93, 99:
            // FAILED_INIT, OUT_OF_MEMORY, RECURSIVE_API_CALL, UNRECOVERABLE_POLL
            return Row(
                kind: .transient, code: .io, what: "the machine is short of memory or descriptors")
        default: return nil
        }
    }
}

extension String {
    /// A certificate is not valid yet.
    fileprivate var tellsOfTheFuture: Bool {
        let text = lowercased()
        return text.contains("not yet valid") || text.contains("not activated yet")
    }
}

/// Facts that FTP servers tell in words only: 530 refuses a password and a client too many alike.
enum FTPReply {
    /// The server refused the login for want of room; the same login may succeed later.
    static func tellsOfNoRoom(_ reply: String) -> Bool {
        let reply = reply.lowercased()
        // Too many wrong passwords are no crowd.
        if aboutPasswords.contains(where: { reply.contains($0) }) { return false }
        return reply.hasPrefix("421") || aboutRoom.contains { reply.contains($0) }
    }

    /// Phrases of proftpd, pure-ftpd, vsftpd, FileZilla, IIS, wu-ftpd and their kin.
    private static let aboutRoom = [
        "too many", "maximum", "max number", "max clients", "limit reached", "limit exceeded",
        "already connected", "already logged in", "try again", "try later", "try back later",
        "server is full", "is busy", "temporarily",
    ]
    private static let aboutPasswords = [
        "fail", "attempt", "password", "incorrect", "invalid", "disabled", "banned", "blocked",
    ]

    /// The server refused the file because of the offset: some servers accept REST and then refuse
    /// RETR.
    static func refusesRestart(_ reply: String) -> Bool {
        reply.lowercased().contains("restart")
    }
}
