/// The file of a completed transfer, as it was when that was recorded.
package struct KeptFile: Hashable, Sendable {
    package var path: String
    package var identity: FileIdentity
    package var length: Int64
    /// Whoever changed the file, its name or its mode since did so after this moment, and the
    /// kernel has noted it (`st_ctim`, which no program can set).
    package var finishedAt: Timestamp
    package var validator: Validator

    package init(
        path: String, identity: FileIdentity, length: Int64, finishedAt: Timestamp,
        validator: Validator
    ) {
        self.path = path
        self.identity = identity
        self.length = length
        self.finishedAt = finishedAt
        self.validator = validator
    }

    /// The question whether its version is still the current one (RFC 9110 §13.1). `nil` where only
    /// a weak validator is known: that the meaning is the same says nothing of the bytes.
    package var condition: HeaderFields? {
        var fields = HeaderFields()
        if let etag = validator.etag, !etag.hasPrefix("W/") {
            fields["If-None-Match"] = etag
        } else if let date = validator.lastModified, validator.lastModifiedIsStrong {
            fields["If-Modified-Since"] = date
        } else {
            return nil
        }
        return fields
    }
}
