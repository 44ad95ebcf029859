/// The failures that only uploads over HTTP have.
package enum UploadFailure {
    /// The answer to a POST was lost.
    package static func unknownEnd(_ cause: Failure?) -> Failure {
        var error = cause?.error ?? LonghaulError(.network, "")
        error.message =
            "the answer to the POST was lost, and the server may have the file; look there, then "
            + "give the same upload with --repeatable to send it again"
        error.retryable = false
        return Failure(.permanent, error)
    }

    /// A success came before the body was out.
    ///
    /// - Parameter isCarriedOut: The server may have done something that must not be done twice.
    static func early(_ head: ResponseHead, isCarriedOut: Bool) -> Failure {
        let said = "the server answered (\(head.status)) before the whole file was sent"
        let advice =
            "; look there, then give the same upload with --repeatable to send it again"
        return Failure(
            isCarriedOut ? .permanent : .transient,
            LonghaulError(
                .serverError, isCarriedOut ? said + advice : said, httpStatus: head.status))
    }

    /// The server refuses bytes for their offset (409). Its offset moves for as long as it takes in
    /// the bytes of a broken connection.
    static func otherOffset(_ head: ResponseHead) -> Failure {
        Failure(
            .transient,
            LonghaulError(
                .serverError, "the server expects the upload at another offset (\(head.status))",
                httpStatus: head.status),
            retryAfter: head.headers.retryAfter(now: head.receivedAt))
    }

    /// The answer to a question for the offset has none.
    static let noOffset = Failure(
        .transient,
        LonghaulError(.serverError, "the server does not say how far the upload is"))

    /// The answer is no failure, but the same request would be next.
    package static let noGain = Failure(
        .transient,
        LonghaulError(.serverError, "the server answers, and has no more of the file than before"))

    /// The server has got other bytes than were sent, by their digest.
    static func damaged(_ head: ResponseHead) -> Failure {
        Failure(
            .transient,
            LonghaulError(
                .serverError, "bytes were damaged on their way to the server (\(head.status))",
                httpStatus: head.status),
            retryAfter: head.headers.retryAfter(now: head.receivedAt))
    }

    /// The answer to a creation names no resource.
    static func nowhere(_ head: ResponseHead) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .serverError,
                UploadAddress.isDowngrade(in: head)
                    ? "\(hiddenTLS), at another host; let the proxy tell it the host and the "
                        + "scheme (X-Forwarded-Host, X-Forwarded-Proto)"
                    : "the server does not say where the upload goes; try --protocol put or post",
                httpStatus: head.status))
    }

    /// Words about an answer as in ``UploadAddress/isDowngrade(in:)``.
    package static let hiddenTLS =
        "the server's address for the upload is http, as its proxy hides TLS from it"

    /// The source is not the file that the request names by its digest.
    package static func otherSource(_ expected: Checksum, _ actual: String) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .checksumMismatch,
                "the file's \(expected.algorithm.rawValue) is \(actual), not the expected "
                    + "\(expected.hex), and nothing was sent; check the file and --checksum"))
    }

    /// The server has told of no version of the draft.
    static func draftNotSpoken(_ head: ResponseHead) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .serverError,
                "the server does not take resumable uploads there (\(head.status)), and nothing "
                    + "was sent; try --protocol auto or put",
                httpStatus: head.status))
    }

    /// The server takes no upload whose length is unknown.
    static func cannotFollow(_ head: ResponseHead) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .serverError,
                "the server takes no file there that is still written (\(head.status)): it offers "
                    + "neither resumable uploads nor tus with a deferred length, and nothing was "
                    + "sent; upload the file when it is complete",
                httpStatus: head.status))
    }

    /// - Parameter least: Bytes that a resumable upload must have.
    static func tooSmall(_ least: Int64) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .clientError,
                "the server takes resumable uploads only from \(SizeText.shown(least)) on; try "
                    + "--protocol auto or put"))
    }

    /// - Parameter most: Bytes that the server takes.
    static func tooLarge(_ most: Int64) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .tooLarge, "the file is larger than the server takes (\(SizeText.shown(most)))"))
    }
}

extension FailureTable {
    /// Classifies an answer that refuses an upload.
    package static func classify(upload head: ResponseHead) -> Failure {
        var failure = classify(
            status: head.status, retryAfter: head.headers.retryAfter(now: head.receivedAt))
        let status = head.status
        switch status {
        case 303:
            failure.error.message =
                "the server redirects (303) without having taken the file; check the URL and the "
                + "credentials"
        case 403:
            failure.error.message =
                "the server refuses the upload (403); check the URL and the credentials, then "
                + "`resume`"
        case 404, 410:
            failure.error.message = "the server has no such place (\(status)); check the URL"
        case 405, 501:
            failure.error.message =
                "the server does not take this method there (\(status)); check the URL, --method "
                + "and --protocol"
            failure = Failure(.permanent, failure.error)
        case 409:
            failure.error.message =
                "the server refuses the upload for what it has there (409); check the URL"
        case 413:
            failure.error.code = .tooLarge
            failure.error.message = "the file is larger than the server takes (413)"
        case 423:
            failure = Failure(
                .transient, LonghaulError(.serverError, "the upload is in use at the server (423)"))
            failure.error.httpStatus = status
        case 507:
            failure.error.message = "the server has no room for the file (507)"
        default: break
        }
        return failure
    }
}
