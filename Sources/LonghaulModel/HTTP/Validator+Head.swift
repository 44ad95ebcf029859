/// A longer ETag or Last-Modified pins nothing: it would only bloat the store.
private let validatorBytes = 1024

extension Validator {
    /// Reads from a response the validator of the version that it belongs to.
    ///
    /// - Parameter start: Where the body begins in the file, for FTP and SFTP answers that name
    ///   only the bytes to come.
    package init(_ head: ResponseHead, start: Int64 = 0) {
        self = head.announced
        if start > 0 { length = head.representationLength(start: start) }
    }

    init(reading head: ResponseHead) {
        self.init()
        length = head.representationLength(start: 0)
        if let value = head.headers.single("Last-Modified"), !value.isEmpty,
            value.utf8.count <= validatorBytes
        {
            lastModified = value
        }
        switch head.scheme {
        case .ftp, .sftp: return
        case .http: break
        }
        if let value = head.headers.single("ETag"), value.utf8.count <= validatorBytes,
            EntityTag(value) != nil
        {
            etag = value
        }
        lastModifiedIsStrong = Validator.isStrong(lastModified, in: head)
        if isNamed { origin = head.otherOrigin }
        digest = DigestField.announced(by: head)
    }

    /// RFC 9110 §8.8.2.2: a client may take a date for strong when the answer's Date is at least
    /// one second later (RFC 7232 asked for 60): the second of two changes within the same second
    /// then happened before the answer was made.
    private static func isStrong(_ lastModified: String?, in head: ResponseHead) -> Bool {
        guard let lastModified, let dateField = head.headers.single("Date"),
            let modified = HTTPDate.parse(lastModified, now: head.receivedAt),
            let date = HTTPDate.parse(dateField, now: head.receivedAt)
        else { return false }
        return date - modified >= 1
    }

    package var entityTag: EntityTag? { etag.flatMap { EntityTag($0) } }

    /// The tag that If-Range may carry; weak ones never match there (RFC 9110 §13.1.5).
    package var strongTag: EntityTag? {
        guard let tag = entityTag, tag.isStrong else { return nil }
        return tag
    }

    /// The date that If-Range may carry: strong, and only without any entity tag, even a weak one
    /// (RFC 9110 §13.1.5).
    package var strongDate: String? {
        etag == nil && lastModifiedIsStrong ? lastModified : nil
    }

    /// Bytes of two answers with this validator may be joined without a comparison (RFC 9110
    /// §15.3.7.3). Parallel segments need that.
    package var isStrong: Bool { strongTag != nil || strongDate != nil }

    /// No value tells this version from another.
    package var isEmpty: Bool {
        etag == nil && lastModified == nil && length == nil && digest == nil
    }
}

extension ResponseHead {
    /// Length of the whole file, where the head tells it.
    func representationLength(start: Int64) -> Int64? {
        if isPart {
            if case .bytes(_, let total?) = contentRange { return total }
            // FTP and SFTP have no Content-Range: the length is that of the bytes to come.
            guard scheme != .http, let rest = bodyLength else { return nil }
            return start.addingClamped(rest)
        }
        return bodyLength
    }

    /// Content-Length where it counts.
    package var bodyLength: Int64? {
        guard !headers.hasTransferCoding, case .bytes(let length) = headers.contentLength
        else { return nil }
        return length
    }

    /// The one well-formed Content-Range.
    package var contentRange: ContentRange? {
        headers.single("Content-Range").flatMap { ContentRange($0) }
    }
}

extension Validator {
    /// `lastModified` as a moment; `nil` = missing or implausible.
    package var modified: Timestamp? {
        let epoch = Timestamp(milliseconds: 0)
        return lastModified.flatMap { HTTPDate.parse($0, now: epoch) }.flatMap {
            $0 >= epoch ? $0 : nil
        }
    }
}
