/// Pause between the first attempt to delete an abandoned upload and the second.
private let uploadAbortRetrySeconds: Double = 10

/// Rest of an upload at its server when no fetch has it any more: it was cancelled, removed or
/// given up. The rest is deleted there, with a bounded number of attempts.
package struct AbandonedUpload: Hashable, Sendable {
    /// Row of the rest.
    package var id: Int64
    package var fetch: FetchID
    package var transfer: TransferID
    package var request: TransferRequest
    package var state: UploadState
    /// Attempts that have begun.
    package var attempts: Int

    package init(
        id: Int64, fetch: FetchID, transfer: TransferID, request: TransferRequest,
        state: UploadState, attempts: Int
    ) {
        self.id = id
        self.fetch = fetch
        self.transfer = transfer
        self.request = request
        self.state = state
        self.attempts = attempts
    }

    /// The transfer's request at the URL where the upload was left. If the transfer has changed its
    /// origin, its credentials may be for the new one: the old one receives none. A signature does
    /// not reveal the key.
    ///
    /// - Parameter askedURL: See ``FetchState/askedURL``.
    package static func request(
        _ request: TransferRequest, askedURL: String?
    ) -> TransferRequest {
        guard let askedURL, !CanonicalURL.areSame(askedURL, request.url) else { return request }
        var left = request
        left.url = askedURL
        let (old, new) = (try? URLParts(askedURL).origin, try? URLParts(request.url).origin)
        if old == new || request.options.upload?.isSigned == true { return left }
        left.options.user = nil
        left.options.headers = left.options.headers.forElsewhere(at: askedURL)
        left.options.clientCertificate = nil
        left.options.clientKey = nil
        return left
    }

    /// The request that takes it away; `nil` = there is nothing.
    package var exchange: UploadExchange? {
        UploadJob(request, state, transfer).flatMap {
            state.conversation($0, offset: 0).abort()
        }
    }

    /// Nothing more is done about the rest: it is gone, or the server will not delete it.
    ///
    /// - Parameter head: The answer to the last attempt; `nil` = none came.
    package func isSettled(by head: ResponseHead?) -> Bool {
        if attempts >= Limits.uploadAbortAttempts { return true }
        guard let head else { return false }
        guard head.scheme == .http else { return true }
        let upload = request.options.upload
        // The keys of a profile may be renewed.
        let isRenewable = request.options.user == nil && request.options.s3?.profile != nil
        return switch head.status {
        // Perhaps a signed request that has taken too long.
        case 400 where upload?.isSigned == true: false
        case 400, 401, 403: !isRenewable
        case 408, 409, 423, 425, 429, 500...599: false
        default: true
        }
    }

    /// The same upload after a tus server was asked whether it deletes uploads. `nil` = that was
    /// not asked, or has no answer.
    package func afterQuestion(_ head: ResponseHead?) -> AbandonedUpload? {
        guard case .tus(var kept) = state.progress, kept.terminates == nil, let head,
            head.isSuccess
        else { return nil }
        var known = self
        kept.terminates = TusOffer(head.headers).extensions.contains("termination")
        known.state.progress = .tus(kept)
        return known
    }

    /// Seconds from the beginning of an attempt to the next one.
    package static func pause(after attempts: Int) -> Double {
        assert(attempts > 0, "the first attempt is made at once")
        return uploadAbortRetrySeconds
            * Double(1 << (2 * min(attempts - 1, Limits.uploadAbortAttempts)))
    }
}
