/// What pins the version of the remote representation that a part file holds bytes of. Stored in
/// the transaction that stores offsets.
package struct Validator: Hashable, Sendable, Codable {
    /// As sent, with quotes, and with `W/` when weak.
    package var etag: String?
    /// The Last-Modified field as sent: If-Range wants it back byte for byte (RFC 9110 §13.1.5).
    package var lastModified: String?
    /// Whether `lastModified` was strong when it was received (RFC 9110 §8.8.2.2).
    package var lastModifiedIsStrong: Bool
    /// Length of the whole representation.
    package var length: Int64?
    /// `Repr-Digest` value for an algorithm that we can check, as `sha-256=:…:` (RFC 9530).
    package var digest: String?

    package init(
        etag: String? = nil, lastModified: String? = nil, lastModifiedIsStrong: Bool = false,
        length: Int64? = nil, digest: String? = nil
    ) {
        self.etag = etag
        self.lastModified = lastModified
        self.lastModifiedIsStrong = lastModifiedIsStrong
        self.length = length
        self.digest = digest
    }
}
