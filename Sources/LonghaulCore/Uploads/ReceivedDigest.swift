/// The server's digest of the bytes that it has received, in the answer to the request that brought
/// the last of them.
enum ReceivedDigest {
    /// The digest by this algorithm; `nil` = the answer does not tell.
    ///
    /// - Parameter exchange: The request that is answered.
    static func told(
        by head: ResponseHead, _ body: [UInt8], to exchange: UploadExchange,
        _ algorithm: Checksum.Algorithm
    ) -> Checksum? {
        switch exchange.purpose {
        case .whole, .append, .create: break
        // S3 tells a digest of digests for parts that were joined.
        case .discover, .ask, .list, .complete, .abort: return nil
        }
        guard head.isSuccess, exchange.body.content?.before.isEmpty != false else { return nil }
        if exchange.part == nil, algorithm == .sha256,
            let object = head.headers.single(s3Field).flatMap({ Base64.decode($0[...]) }),
            object.count == algorithm.byteCount
        {
            return Checksum(algorithm: .sha256, hex: Hex.text(object))
        }
        // The field of an answer with a body is about that body, and that of an answer with a
        // coding about the stored coded bytes: RFC 9530, appendix B.
        guard body.isEmpty, !head.headers.contains("Content-Encoding") else { return nil }
        let value = head.headers.values("Repr-Digest").joined(separator: ",")
        return DigestField.checksums(value).last { $0.algorithm == algorithm }
    }

    /// An upload that would be done fails if the server has other bytes than those that are
    /// expected. They are lost, and a later attempt begins anew.
    static func verdict(
        of judge: inout UploadJudge, on head: ResponseHead?, expecting expected: Checksum?
    ) -> UploadVerdict {
        let verdict = judge.judge(head)
        guard verdict == .done, let expected, let head,
            let told = told(by: head, judge.end.answer, to: judge.exchange, expected.algorithm),
            told != expected
        else { return verdict }
        _ = judge.gone("the server has other bytes than those expected")
        return .failed(
            failure(
                "the server says that it has a file whose \(told.algorithm.rawValue) is "
                    + "\(told.hex), not the expected \(expected.hex)", head))
    }

    /// S3 was told the digest of an object, and has refused what came.
    static func refusal(_ head: ResponseHead, _ body: [UInt8]) -> Failure? {
        guard head.status == 400, S3Answer.code(in: body) == "BadDigest" else {
            return nil
        }
        return failure("the server has refused the file, as it has another digest", head)
    }

    private static func failure(_ what: String, _ head: ResponseHead) -> Failure {
        var error = LonghaulError(
            .checksumMismatch, what + "; check the file and the expected value, then retry")
        error.httpStatus = head.status
        return Failure(.permanent, error)
    }

    /// Field of an object that was stored whole (Amazon S3 API Reference, PutObject). S3 compares
    /// the field if it is sent with the object.
    static let s3Field = "x-amz-checksum-sha256"
}
