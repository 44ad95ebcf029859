internal import LonghaulModel

/// Failures that pass, by more than their own words tell.
extension FetchFrame {
    /// - Parameter url: The URL of the request.
    func weighed(_ failure: Failure, of url: String, _ context: FetchContext) -> Failure {
        if failure.isOfIdentity, Self.isOverTLS(url),
            memory(of: url, context)?.isVerified == true || !bytes.have.isEmpty
        {
            return failure.passing(
                "it was before: check this machine's clock, or log in where the network asks for "
                    + "that")
        }
        // Another program may be writing the renewed secret just now.
        if failure.error.httpStatus == 401, failure.kind == .needsInput, url == target.request.url,
            !target.request.options.secretFiles.isEmpty,
            bytes.state.fruitlessAttempts < Limits.renewalRetries
                || target.lastError?.httpStatus != 401
        {
            return failure.passing("the files of its secrets are read again")
        }
        return failure
    }

    /// Errors that complete the transfer with their page; `nil` = none does.
    var errorPages: ErrorPages? {
        let options = target.request.options
        guard options.deliversErrorPages, options.mirrors.isEmpty else { return nil }
        let count = run.hasGained(bytes) ? 0 : bytes.state.fruitlessAttempts
        return ErrorPages(
            retryStatus: options.retryStatus,
            isLastAttempt: options.retries.map { count >= $0 } ?? false)
    }

    /// Effect of a failure of this machine. A name in use for long is a lasting failure.
    func leaving(after fault: LocalFault) -> FetchLeaving {
        var fault = fault
        if fault.isBusy, bytes.state.fruitlessAttempts >= Limits.busyRetries {
            fault.isPassing = false
        }
        return target.leaving(after: fault, bytesKept: bytes.have.count)
    }

    /// An answer over TLS shows that the server's certificate was accepted.
    func noteIdentity(of url: String, _ context: FetchContext) {
        guard Self.isOverTLS(url), !target.request.options.insecure,
            let origin = memory(of: url, context), !origin.isVerified
        else { return }
        step.writes.append(.learn(origin: origin.origin, .verified))
    }

    private static func isOverTLS(_ url: String) -> Bool {
        url.beginsIgnoringCase(with: "https:") || url.beginsIgnoringCase(with: "ftps:")
    }
}

extension Failure {
    /// The server's certificate was not accepted: CURLcode 60, 51 before 7.62.
    fileprivate var isOfIdentity: Bool {
        kind == .permanent && error.code == .tls && (error.curlCode == 60 || error.curlCode == 51)
    }

    /// The same as one that passes, with other advice.
    fileprivate func passing(_ advice: String) -> Failure {
        var error = error
        error.message = error.parts.what + "; " + advice
        return Failure(.transient, error, retryAfter: retryAfter)
    }
}
