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
        // Servers give a digest of digests for an object of joined parts.
        case .discover, .ask, .list, .complete, .abort, .makeDirectory: return nil
        }
        guard head.isSuccess, exchange.body.content?.before.isEmpty != false else { return nil }
        if exchange.part == nil, algorithm == .sha256,
            let text = head.headers.single(S3Upload.digestField),
            let object = Base64.decode(text[...]), object.count == algorithm.byteCount
        {
            return Checksum(algorithm: .sha256, hex: Hex.text(object))
        }
        // The field of an answer with a body is about that body, and that of an answer with a
        // coding about the stored coded bytes: RFC 9530, appendix B.
        guard body.isEmpty, !head.headers.contains("Content-Encoding") else { return nil }
        let value = head.headers.values("Repr-Digest").joined(separator: ",")
        return DigestField.checksums(value).last { $0.algorithm == algorithm }
    }

    /// The server has refused the bytes because of their digest.
    static func refusal(_ head: ResponseHead, code: String?) -> Failure? {
        guard head.status == 400, code == "BadDigest" else { return nil }
        return failure("the server has refused the file, as it has another digest", head)
    }

    fileprivate static func failure(_ what: String, _ head: ResponseHead) -> Failure {
        var error = LonghaulError(
            .checksumMismatch, what + "; check the file and the expected value, then retry")
        error.httpStatus = head.status
        return Failure(.permanent, error)
    }
}

extension EndedExchange {
    /// The server says that it has other bytes than those expected.
    func mismatch(with expected: Checksum) -> Failure? {
        guard let head,
            let told = ReceivedDigest.told(by: head, end.answer, to: exchange, expected.algorithm),
            told != expected
        else { return nil }
        return ReceivedDigest.failure(
            "the server says that it has a file whose \(told.algorithm.rawValue) is "
                + "\(told.hex), not the expected \(expected.hex)", head)
    }
}
