/// Meaning of each failure. One table per source: the wire's facts, HTTP status, errno, and in a
/// separate file libcurl's codes. Every sentence has the cause and the advice.
package enum FailureTable {
    /// `nil` if the engine stopped the request, or the judged head has the reason.
    package static func classify(_ failure: WireFailure) -> Failure? {
        switch failure {
        case .stopped, .withdrawn, .refused: nil
        case .overlapDiffers: restart(.overlapDiffers)
        case .bodyTooLong: restart(.lengthDisagrees)
        case .stalled:
            Failure(
                .transient,
                LonghaulError(.timedOut, "the server sent nothing for the stall timeout"),
                blamesOrigin: true)
        case .unannouncedEnd: .unannouncedEnd
        case .disk(let errno): classify(errno: errno)
        case .sourceChanged: Failure(.permanent, .sourceChanged)
        case .redirect(let problem): classify(problem)
        case .privateAddress(let host): Failure(.permanent, .privateAddress(of: host))
        case .headTooLarge:
            Failure(
                .permanent,
                LonghaulError(
                    .tooLarge,
                    "the server's header fields are longer than "
                        + SizeText.shown(Int64(Limits.headerBytes))))
        case .proxyRefused(let status): classify(proxyStatus: status)
        case .proxyCannotReach(let text): classify(unreachedByProxy: text)
        case .proxyForbids(let text): classify(forbiddenByProxy: text)
        case .proxyRefusedCredentials(let text): classify(proxyCredentials: text)
        case .unknownHostKey(let text): classify(hostKey: text)
        case .noKeys(let profile, let problem): classify(problem, profile)
        case .secretFile(let problem):
            Failure(
                .needsInput,
                LonghaulError(.unauthorized, "\(problem.said); mend that, then `resume`"))
        case .curl(let code, let text, let osError):
            classify(curl: code, text: text, osError: osError)
        }
    }

    /// Abandoning held bytes, as a failure: used if only the request itself failed.
    package static func restart(_ reason: RestartReason) -> Failure {
        Failure(
            .restartFromZero, LonghaulError(.network, "started again from zero: \(reason)"),
            restart: reason)
    }

    /// The mirror has another file than the one that is held.
    package static func mirror(_ reason: RestartReason) -> Failure {
        Failure(.permanent, LonghaulError(.serverError, "the mirror is of no use: \(reason)"))
    }

    /// The source is not asked: its server has asked for time, or does not answer.
    package static func leftAlone(_ origin: OriginMemory, now: Timestamp) -> Failure {
        let pause = origin.pauseUntil.map { $0 - now } ?? 0
        return Failure(
            .transient,
            LonghaulError(.serverError, "\(origin.origin) is left alone for a while"),
            retryAfter: pause > 0 ? pause : nil)
    }

    /// The answer is a page in place of the partly fetched file.
    package static let foreignPage = Failure(
        .transient,
        LonghaulError(
            .network,
            "the answer is not the file but a page, perhaps the login page of the network; log in "
                + "there, or check the URL"))

    private static func classify(_ problem: RedirectProblem) -> Failure {
        let error =
            switch problem {
            case .tooMany:
                LonghaulError(
                    .clientError, "the server redirected more than \(Limits.redirects) times")
            case .scheme(let scheme):
                LonghaulError(
                    .unsupported,
                    "the server redirected to \(TerminalText.shown(scheme)):, which is not followed"
                )
            case .downgrade:
                LonghaulError(
                    .unsupported,
                    "the server redirected from https to http, which is not followed; "
                        + "give the http URL itself if it is to be trusted")
            case .missingLocation:
                LonghaulError(.serverError, "the server redirected without saying where to")
            }
        return Failure(.permanent, error)
    }

    private static func classify(_ problem: S3KeysProblem, _ profile: S3Profile) -> Failure {
        let advice =
            switch problem {
            case .noProfile, .noKeys: "put its keys there, then `resume`"
            case .unreadable, .noServices: "mend that, then `resume`"
            case .unsupported: "\(S3KeysProblem.export(profile)): upload it again with those"
            }
        return Failure(
            .needsInput, LonghaulError(.unauthorized, "\(problem.said(of: profile)); \(advice)"))
    }

    // MARK: HTTP

    /// Classifies a status that brings no usable body.
    package static func classify(status: Int, retryAfter: Double? = nil) -> Failure {
        let (kind, code, text) = meaning(ofStatus: status, asksForTime: retryAfter != nil)
        var error = LonghaulError(code, text)
        error.httpStatus = status
        return Failure(
            kind, error, retryAfter: retryAfter,
            blamesOrigin: kind == .transient && status != 425)
    }

    /// The same where credentials had been sent.
    package static func refusedCredentials(_ failure: Failure) -> Failure {
        guard failure.error.httpStatus == 401 else { return failure }
        var refused = failure
        refused.error.message =
            "the server refuses the credentials (401); give the right ones with --user, another "
            + "scheme with --auth, or another URL with `set --url`, then `resume`"
        return refused
    }

    /// The same on the way through a proxy, which may have answered in the server's place.
    package static func byProxy(_ failure: Failure, hadCredentials: Bool) -> Failure {
        var failure = failure
        switch failure.error.httpStatus {
        case 403:
            failure.error.message =
                "the server or the proxy refuses access (403); the link may have expired: "
                + "\(renewal); or ask who runs the proxy"
        case 407 where hadCredentials:
            failure.error.message =
                "the proxy refuses the credentials (407); put the right ones into the proxy's URL"
        default: break
        }
        return failure
    }

    private static let renewal = "give another URL with `set --url`, then `resume`"

    private static func meaning(
        ofStatus status: Int, asksForTime: Bool
    ) -> (FailureClass, LonghaulError.Code, String) {
        let renew = renewal
        switch status {
        case 401:
            return (
                .needsInput, .unauthorized,
                "the server asks for credentials (401); give --user or --netrc, or \(renew)"
            )
        case 407:
            return (
                .needsInput, .unauthorized,
                "the proxy asks for credentials (407); put them into the proxy's URL"
            )
        // GitHub and others answer so to requests that would succeed later.
        case 403 where asksForTime, 429:
            return (.transient, .clientError, "the server asks for fewer requests (\(status))")
        case 403:
            return (
                .needsInput, .forbidden,
                "the server refuses access (403); the link may have expired: \(renew)"
            )
        case 404:
            return (.needsInput, .notFound, "the server has no such file (404); \(renew)")
        case 410:
            return (.needsInput, .notFound, "the file is gone from the server (410); \(renew)")
        case 408: return (.transient, .clientError, "the server gave up waiting (408)")
        case 425: return (.transient, .clientError, "the server takes no early data (425)")
        case 500...599: return (.transient, .serverError, "the server failed (\(status))")
        case 400...499:
            return (
                .permanent, .clientError,
                "the server refuses the request (\(status)); check the URL and the headers"
            )
        case 300...399:
            return (
                .permanent, .serverError,
                "the server redirected without saying where to (\(status))"
            )
        default:
            return (
                .transient, .serverError,
                "the server's answer (\(status)) brings no file"
            )
        }
    }

    /// Classifies the status with which a proxy refuses a tunnel. If the refusal may pass, the
    /// server behind the proxy counts as dead.
    private static func classify(proxyStatus status: Int) -> Failure {
        if status == 407 || status == 408 || status == 429 {
            var failure = classify(status: status)
            if status != 407 {
                failure.error.message = "the proxy cannot serve this now (\(status))"
            }
            return failure
        }
        let isFinal = (400...499).contains(status)
        var error = LonghaulError(
            isFinal ? (status == 403 ? .forbidden : .clientError) : .serverError,
            isFinal
                ? "the proxy refuses the way to the server (\(status)); check --proxy and the "
                    + "*_proxy variables, or ask who runs the proxy"
                : "the proxy could not reach the server (\(status))")
        error.httpStatus = status
        return Failure(isFinal ? .permanent : .transient, error, blamesOrigin: !isFinal)
    }

    /// Classifies the report of a working SOCKS proxy that it cannot reach the server.
    private static func classify(unreachedByProxy text: String) -> Failure {
        var error = LonghaulError(
            .network,
            "the proxy could not reach the server (\(TerminalText.shown(text))); check the address")
        error.curlCode = 97
        return Failure(.transient, error, blamesOrigin: true)
    }

    /// The proxy forbids the server. As with a 4xx to CONNECT, the next attempt would fail as well.
    private static func classify(forbiddenByProxy text: String) -> Failure {
        var error = LonghaulError(
            .forbidden,
            "the proxy refuses the way to the server (\(TerminalText.shown(text))); check --proxy "
                + "and the *_proxy variables, or ask who runs the proxy")
        error.curlCode = 97
        return Failure(.permanent, error)
    }

    private static func classify(proxyCredentials text: String) -> Failure {
        var error = LonghaulError(
            .unauthorized,
            "the proxy refuses the credentials (\(TerminalText.shown(text))); put the right ones "
                + "into the proxy's URL")
        error.curlCode = 97
        return Failure(.needsInput, error)
    }

    // MARK: errno

    /// Classifies a failed operation on the part file or its directory. The numbers are Linux's,
    /// the same on all of its architectures that Swift runs on.
    package static func classify(errno: Int32) -> Failure {
        let kind: FailureClass
        let error: LonghaulError
        switch errno {
        case 28, 122:  // ENOSPC, EDQUOT
            kind = .waitForStorage
            let what = errno == 28 ? "the disk is full" : "the disk quota is used up"
            error = LonghaulError(.noSpace, "\(what); make room, then `resume`")
        case 1, 13, 30:  // EPERM, EACCES, EROFS
            kind = .localFault
            let what =
                errno == 30 ? "the file system is read-only" : "the file may not be written"
            error = LonghaulError(.permission, "\(what); mend that, then `resume`")
        case 27:  // EFBIG
            kind = .localFault
            error = LonghaulError(
                .tooLarge,
                "the file is too large for the file system, or for what this process may write "
                    + "(`ulimit -f`); choose another directory, or raise the limit")
        case 2, 20, 116:  // ENOENT, ENOTDIR, ESTALE
            kind = .localFault
            error = LonghaulError(
                .io, "the directory of the file is gone; bring it back, then `resume`")
        case 4, 11, 12, 23, 24:  // EINTR, EAGAIN, ENOMEM, ENFILE, EMFILE
            kind = .transient
            error = LonghaulError(
                .io, "the machine is short of memory or file descriptors (errno \(errno))")
        case 16, 26:  // EBUSY, ETXTBSY
            kind = .transient
            error = LonghaulError(
                .io, "another program has the file in use (errno \(errno)); it is tried again")
        case 5:  // EIO
            kind = .localFault
            error = LonghaulError(.io, "the disk failed (EIO); check it, then `resume`")
        default:
            kind = .localFault
            let what = errno.errnoWords.map { "\($0), errno \(errno)" } ?? "errno \(errno)"
            error = LonghaulError(
                .io, "the file could not be written (\(what)); mend that, then `resume`")
        }
        return Failure(kind, error)
    }
}

extension Int32 {
    /// Words for the errors of disks and mounts that went away.
    fileprivate var errnoWords: String? {
        switch self {
        case 6, 19: "no such device"  // ENXIO, ENODEV
        case 22: "the file system does not know how"  // EINVAL
        case 107: "the program behind the mount is gone"  // ENOTCONN
        case 108: "the mount was taken away"  // ESHUTDOWN
        case 110: "the server behind the mount does not answer"  // ETIMEDOUT
        case 112, 113: "the server behind the mount cannot be reached"  // EHOSTDOWN, EHOSTUNREACH
        case 117: "the file system is damaged"  // EUCLEAN
        default: nil
        }
    }
}
