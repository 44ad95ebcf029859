/// How long before its first answer an upload in parts may have begun.
private let uploadBeginSeconds: Double = 60

/// Names of objects and uploads as they stand in a URL.
package enum S3Key {
    /// Percent-encoded for the signature (RFC 3986 §2.3); encoded text is decoded first, once.
    package static func escaped(_ text: String) -> String {
        PercentEncoding.encode(PercentEncoding.decode(text), keeping: [UInt8(ascii: "/")])
    }

    static func escaped(id: String) -> String { PercentEncoding.encode(id.utf8) }
}

/// Reads the answers of S3.
enum S3Answer {
    /// The keys were good once (Amazon S3 API Reference, "List of error codes").
    static func tellsOfOldKeys(_ body: [UInt8]) -> Bool {
        ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"]
            .contains(code(in: body))
    }

    /// The same request may pass at another time, regardless of the status: S3 ends a request whose
    /// body comes slowly with 400 `RequestTimeout`.
    static func isPassing(_ body: [UInt8]) -> Bool {
        guard let code = code(in: body) else { return false }
        return passing.contains(code)
    }

    /// Error codes that Amazon's clients repeat, and codes that ask for a repetition.
    private static let passing: Set<String> = [
        "RequestTimeout", "RequestTimeoutException", "SlowDown", "InternalError",
        "ServiceUnavailable", "Busy", "OperationAborted", "ConditionalRequestConflict",
        "IncompleteBody", "Throttling", "ThrottlingException", "RequestThrottled",
        "RequestLimitExceeded", "TooManyRequestsException", "BandwidthLimitExceeded",
        "PriorRequestNotComplete",
    ]

    static func code(in body: [UInt8]) -> String? { MarkupText.element("Code", in: body) }

    /// The region of the bucket, where the answer says that it is another one.
    static func otherRegion(_ head: ResponseHead, _ body: [UInt8], than own: String?) -> String? {
        guard head.status == 301 || head.status == 400 else { return nil }
        let isNamed = ["AuthorizationHeaderMalformed", "IllegalLocationConstraintException"]
            .contains(code(in: body))
        let region =
            head.headers.single("x-amz-bucket-region")
            ?? (isNamed ? MarkupText.element("Region", in: body) : nil)
        guard let region, region != own, (1...40).contains(region.utf8.count),
            region.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2D })
        else { return nil }
        return region
    }

    /// The object has that length, and was made of this many parts in an upload that began at that
    /// moment by the server's clock: the object before may have had the same length.
    static func isObject(
        _ head: ResponseHead, size: Int64, parts: Int, since begun: Timestamp?
    ) -> Bool {
        guard head.isSuccess, case .bytes(size) = head.headers.contentLength,
            head.headers.single("ETag")?.hasSuffix("-\(parts)\"") == true
        else { return false }
        guard let begun, let modified = head.date("Last-Modified") else { return true }
        // Amazon dates an object by the beginning of its upload, before the answer to that.
        return begun - modified <= uploadBeginSeconds
    }

    /// A page of the parts of an upload; `nil` = the answer is not a list.
    static func parts(in body: [UInt8]) -> S3PartList? {
        let text = String(decoding: body, as: UTF8.self)
        // moto has another end of the name.
        guard text.firstRange(of: "<ListParts") != nil else { return nil }
        var list = S3PartList()
        var rest = Substring(text)
        while let open = rest.firstRange(of: "<Part>"),
            let close = rest[open.upperBound...].firstRange(of: "</Part>")
        {
            let part = Array(rest[open.upperBound..<close.lowerBound].utf8)
            rest = rest[close.upperBound...]
            guard let number = MarkupText.element("PartNumber", in: part).flatMap({ Int($0) }),
                number > 0,
                let size = MarkupText.element("Size", in: part).flatMap({ Int64($0) }),
                let tag = MarkupText.element("ETag", in: part)
            else { return nil }
            list.parts.append(
                S3PartList.Part(number: number, size: size, tag: MarkupText.unescaped(tag)))
        }
        // An answer may be longer than its kept part: the missing parts are asked for.
        let isCut = rest.firstRange(of: "</ListParts") == nil
        if isCut || MarkupText.element("IsTruncated", in: body) == "true" {
            // A page that is complete and has no part is followed by itself.
            if isCut, list.parts.isEmpty { return nil }
            list.next = list.parts.last?.number ?? 0
        }
        return list
    }
}

/// The meaning of S3's refusals.
extension S3Answer {
    /// - Parameter own: The region that the request was signed for.
    static func failure(_ head: ResponseHead, _ body: [UInt8], region own: String?) -> Failure {
        let usual = FailureTable.classify(upload: head)
        if head.status == 404 { return usual }
        if let failure = ReceivedDigest.refusal(head, code: code(in: body)) { return failure }
        if tellsOfOldKeys(body) { return oldKeys(head) }
        if usual.kind != .transient, isPassing(body) { return passing(head) }
        return otherRegion(head, body, than: own).map { S3Answer.otherRegion(head, $0) } ?? usual
    }

    static let unreadableList = Failure(
        .transient, LonghaulError(.serverError, "the server's list of parts cannot be read"))

    /// The answer to the completion is a success with an error in it.
    static let notJoined = Failure(
        .transient, LonghaulError(.serverError, "the server could not join the parts"))

    /// The completion names parts that S3 has not got so. The list of parts says more.
    static func otherParts(_ head: ResponseHead) -> Failure {
        Failure(
            .transient,
            LonghaulError(
                .serverError, "the server has not got all parts as they were sent (\(head.status))",
                httpStatus: head.status))
    }

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
}

/// Parts that a server has, in order.
struct S3PartList: Hashable {
    struct Part: Hashable {
        var number: Int
        var size: Int64
        var tag: String
    }

    var parts: [Part] = []
    /// There are more, after this one.
    var next: Int?
}

extension ResponseHead {
    func date(_ field: String) -> Timestamp? {
        headers.single(field).flatMap { HTTPDate.parse($0, now: receivedAt) }
    }
}
