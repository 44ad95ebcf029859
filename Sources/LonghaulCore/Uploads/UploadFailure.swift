/// The failures that only uploads over HTTP have.
enum UploadFailure {
    /// The answer to a POST was lost.
    static func unknownEnd(_ cause: Failure?) -> Failure {
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

    /// The completion names parts that S3 has not got so. The list of parts says more.
    static func otherParts(_ head: ResponseHead) -> Failure {
        Failure(
            .transient,
            LonghaulError(
                .serverError, "the server has not got all parts as they were sent (\(head.status))",
                httpStatus: head.status))
    }

    /// The answer to a question for the offset has none.
    static let noOffset = Failure(
        .transient,
        LonghaulError(.serverError, "the server does not say how far the upload is"))

    /// The answer is no failure, but the same request would be next.
    static let noGain = Failure(
        .transient,
        LonghaulError(.serverError, "the server answers, and has no more of the file than before"))

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
    static let hiddenTLS =
        "the server's address for the upload is http, as its proxy hides TLS from it"

    /// The keys for S3 have expired.
    static func oldKeys(_ head: ResponseHead) -> Failure {
        Failure(
            .needsInput,
            LonghaulError(
                .unauthorized,
                "the keys for S3 have expired (\(head.status)); renew those of its profile, then "
                    + "`resume`, or upload it again with others in the environment",
                httpStatus: head.status))
    }

    /// S3 answers that the request may be made again.
    static func passing(_ head: ResponseHead) -> Failure {
        Failure(
            .transient,
            LonghaulError(
                .serverError, "the server cannot take the request now (\(head.status))",
                httpStatus: head.status),
            retryAfter: head.headers.retryAfter(now: head.receivedAt))
    }

    /// The bucket is in another region.
    static func otherRegion(_ head: ResponseHead, _ region: String) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .clientError,
                "the bucket is in the region \(region) (\(head.status)); give the same upload with "
                    + "AWS_REGION=\(region)",
                httpStatus: head.status))
    }

    /// The source is not the file that the request names by its digest.
    static func otherSource(_ expected: Checksum, _ actual: String) -> Failure {
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
                "the server does not say that it takes resumable uploads there (OPTIONS: "
                    + "\(head.status)), and nothing was sent; try --protocol auto or put",
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
