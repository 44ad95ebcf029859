/// Pins the version of the remote representation that a part file holds bytes of. Stored in the
/// transaction that stores offsets.
package struct Validator: Hashable, Sendable, Codable {
    /// Entity tag as sent, with quotes, and with `W/` when weak.
    package var etag: String?
    /// The Last-Modified field as sent: If-Range wants it back byte for byte (RFC 9110 §13.1.5).
    package var lastModified: String?
    /// `lastModified` was strong when it was received (RFC 9110 §8.8.2.2).
    package var lastModifiedIsStrong: Bool
    /// Length of the whole representation.
    package var length: Int64?
    /// `Repr-Digest` value for an algorithm that we can check, as `sha-256=:…:` (RFC 9530).
    package var digest: String?
    /// How other sources of the same bytes name this version, by URL: a source that is asked again
    /// must still call it that.
    package var elsewhere: [String: Name]?
    /// The mirror that names it so; `nil` = the request's own URL does.
    package var mirror: String?

    /// The origin that gave the names, where a redirect had led to another than the request's;
    /// `nil` = the request's own.
    package var origin: String?
    /// Bytes are held that came under another name, by length and overlap alone.
    package var isJoined: Bool?
    /// Answers in a row that named no version and had less than is held; `nil` = 0.
    package var doubts: Int?

    /// Names that a server gives a version.
    package struct Name: Hashable, Sendable, Codable {
        package var etag: String?
        package var lastModified: String?
        package var lastModifiedIsStrong: Bool
        package var origin: String?
    }

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

extension Validator {
    package var isNamed: Bool { etag != nil || lastModified != nil }

    private var name: Name? {
        guard isNamed else { return nil }
        return Name(
            etag: etag, lastModified: lastModified, lastModifiedIsStrong: lastModifiedIsStrong,
            origin: origin)
    }

    private mutating func adoptName(_ name: Name?) {
        etag = name?.etag
        lastModified = name?.lastModified
        lastModifiedIsStrong = name?.lastModifiedIsStrong ?? false
        origin = name?.origin
    }

    /// The part that holds for another URL of the same bytes: length and digest. The doubts stay: a
    /// URL counts as another one until it has brought a byte.
    package var withoutIdentity: Validator {
        var validator = Validator(length: length, digest: digest)
        validator.doubts = doubts
        return validator
    }

    /// The same version at another source: under the name that it had there before, if any.
    package func moved(from old: String, to new: String) -> Validator {
        var moved = self
        if let name { moved.elsewhere = (elsewhere ?? [:]).merging([old: name]) { $1 } }
        moved.mirror = nil
        moved.adoptName(moved.elsewhere?.removeValue(forKey: new))
        if moved.elsewhere?.isEmpty == true { moved.elsewhere = nil }
        return moved
    }

    /// A source that had no name for this version has proven to have it, and names it so.
    package mutating func adopt(_ answer: Validator) {
        if name == nil { adoptName(answer.name) }
    }

    /// Bytes of more than one source may be held.
    package var isOfSeveral: Bool { elsewhere != nil || isJoined == true }

    /// Another server, which calls it otherwise, has proven to have this version.
    package mutating func rename(_ answer: Validator) {
        adoptName(answer.name)
        isJoined = true
    }
}
