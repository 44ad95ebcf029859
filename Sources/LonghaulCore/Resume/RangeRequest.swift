package import LonghaulModel

/// Range of bytes that a request asks for, and the proof that they belong to the same version as
/// the bytes held.
package struct RangeRequest: Hashable, Sendable {
    package enum Proof: Hashable, Sendable {
        /// Nothing is held: the whole file, no Range.
        case nothingHeld
        /// Range with `If-Range: <strong ETag>`.
        case entityTag(String)
        /// Range with `If-Range: <strong Last-Modified>`.
        case date(String)
        /// Range alone, from `overlap` bytes before the missing ones: these, the total and the
        /// header fields must all match.
        case overlap
        /// Range alone, of bytes before which none is held: the total must agree, and the digest of
        /// the whole file proves in the end.
        case digest
        /// FTP and SFTP: an offset, `overlap` bytes before the missing ones: these, size and
        /// modification time must all be equal. A time has whole seconds, and may be set.
        case sizeAndTime
        /// No Range: the bytes held are skipped in the whole file if the pinned version comes back,
        /// and compared if the version is unknown.
        case skipping
        /// No Range: the bytes held are abandoned when the first byte comes.
        case restarting(RestartReason)
    }

    /// Meaning of another name for the version, if it comes from the origin that gave the first
    /// one.
    package enum Names: Hashable, Sendable {
        /// Another version.
        case prove
        /// Length and overlap decide, regardless of the name and the form of the answer: the bytes
        /// held were abandoned without need more than once, or the user's digest decides in the
        /// end.
        case compare
    }

    package var proof: Proof
    /// File offset of the first missing byte.
    package var position: Int64
    /// File offset where the bytes end that are missing; `nil` = with the file.
    package var end: Int64?
    /// Bytes held before `position` that are asked for again, to compare them.
    package var overlap: Int64
    /// Other bytes are missing before `position`: this request is one of several for the file.
    package var isExtra: Bool
    /// Content coding of the bytes held; `nil` = identity.
    package var heldCoding: String?
    /// The request goes to a mirror: no answer to it discards the bytes held.
    package var isForMirror = false
    /// The request goes to another source than the one in use, beside the requests to that one.
    package var isAside = false
    /// The file's name is not that of a page.
    package var isForNoPage = false
    /// The bytes held are of a file that another program has left: this answer proves them, or the
    /// download fails.
    package var isAdopting = false
    package var names = Names.prove
    /// Bytes held from the beginning of the file on, regardless of the range.
    package var held: Int64 = 0
    /// The error statuses whose page is the file; `nil` = an error has no file.
    package var errorPages: ErrorPages?
    /// The request bypasses caches on the way: their stored answer is of no use.
    package var bypassesCaches = false

    package init(
        proof: Proof, position: Int64, end: Int64? = nil, overlap: Int64 = 0,
        isExtra: Bool = false, heldCoding: String? = nil
    ) {
        self.proof = proof
        self.position = position
        self.end = end
        self.overlap = overlap
        self.isExtra = isExtra
        self.heldCoding = heldCoding
    }

    /// File offset of the first byte asked for.
    package var start: Int64 { sendsRange ? position - overlap : 0 }

    package var sendsRange: Bool {
        switch proof {
        case .entityTag, .date, .overlap, .digest, .sizeAndTime: true
        case .nothingHeld, .skipping, .restarting: false
        }
    }

    /// The request carries If-Range.
    package var isConditional: Bool {
        switch proof {
        case .entityTag, .date: true
        case .nothingHeld, .overlap, .digest, .sizeAndTime, .skipping, .restarting: false
        }
    }

    /// Fields that the request adds to the user's header fields (HTTP only). Accept-Encoding is
    /// identity: a content coding would move the bytes (RFC 9110 §14.2: ranges count in the coded
    /// representation).
    package var headers: HeaderFields {
        var fields = HeaderFields()
        fields.append(name: "Accept-Encoding", value: "identity")
        if sendsRange {
            let last = end.map { String($0 - 1) } ?? ""
            fields.append(name: "Range", value: "bytes=\(start)-\(last)")
        }
        if bypassesCaches { fields.append(name: "Cache-Control", value: "no-cache") }
        switch proof {
        case .entityTag(let value), .date(let value):
            fields.append(name: "If-Range", value: value)
        case .nothingHeld, .overlap, .digest, .sizeAndTime, .skipping, .restarting: break
        }
        return fields
    }
}

extension RangeRequest {
    /// The ladder: the strongest proof that the facts allow.
    ///
    /// - Parameters:
    ///   - position: First missing byte, not in `held`.
    ///   - end: End of the missing bytes, `nil` = end of the file.
    ///   - held: All bytes held, including those written by requests that still run.
    ///   - validator: The pinned validator of their version.
    package static func plan(
        from position: Int64, to end: Int64? = nil, held: ByteRanges, validator: Validator?,
        origin: OriginMemory?, scheme: ResponseHead.Scheme
    ) -> RangeRequest {
        precondition(position >= 0 && (end ?? .max) > position, "an empty range is never asked for")
        if held.isEmpty && position == 0 {
            return RangeRequest(proof: .nothingHeld, position: 0)
        }
        var ask = RangeRequest(proof: .restarting(.nothingToProve), position: 0)
        let isExtra = position > held.prefix
        // Bytes between position and prefix are held: asking for them is a bug of the caller, and
        // harmless.
        let available = held.run(endingAt: position)
        let overlap = min(available, Limits.overlapBytes)
        guard
            let proof = proof(
                validator: validator ?? Validator(), origin: origin, scheme: scheme,
                overlap: overlap, isExtra: isExtra, comparesAll: overlap == position)
        else { return ask }
        ask.proof = proof
        ask.position = position
        ask.end = end
        ask.isExtra = isExtra
        if proof == .overlap || proof == .sizeAndTime { ask.overlap = overlap }
        if proof == .skipping { ask.end = nil }
        return ask
    }

    /// A piece for another source than the one in use, whose bytes are put beside that one's;
    /// `nil` = nothing could prove that they belong together. The digest of the whole file does, or
    /// else an entity tag that both sources give it.
    static func aside(
        _ piece: SegmentPlanner.Start, validator: Validator, checksum: Checksum?
    ) -> RangeRequest? {
        guard let length = validator.length else { return nil }
        assert(piece.range.upperBound <= length, "what is asked for lies in the file")
        var ask = RangeRequest(
            proof: .digest, position: piece.range.lowerBound,
            end: piece.toEnd ? nil : piece.range.upperBound, isExtra: true)
        if checksum == nil, validator.digest.flatMap(DigestField.checksum) == nil {
            guard let tag = validator.strongTag else { return nil }
            ask.proof = .entityTag(tag.text)
        }
        ask.isAside = true
        return ask
    }

    /// A request for the whole file.
    ///
    /// - Parameter trustHeld: The bytes held stay if the pinned version comes back: right when
    ///   ranges failed, wrong when the bytes held are in doubt.
    package static func wholeFile(
        because reason: RestartReason, held: ByteRanges, trustHeld: Bool,
        heldCoding: String? = nil
    ) -> RangeRequest {
        var ask = RangeRequest(
            proof: held.isEmpty ? .nothingHeld : .restarting(reason), position: 0)
        ask.bypassesCaches = reason.mayBeOfCache
        if held.isEmpty { return ask }
        ask.heldCoding = heldCoding
        if trustHeld { ask.compareWhole(with: held) }
        return ask
    }

    /// The bytes held stay if the whole file begins with them.
    mutating func compareWhole(with held: ByteRanges) {
        guard held.prefix > 0 else { return }
        proof = .skipping
        position = held.prefix
    }

    private static func proof(
        validator: Validator, origin: OriginMemory?, scheme: ResponseHead.Scheme, overlap: Int64,
        isExtra: Bool, comparesAll: Bool
    ) -> Proof? {
        // All bytes held will be compared: that is proof enough.
        let overlapProves = overlap > 0 && (comparesAll || !validator.isEmpty)
        switch scheme {
        case .ftp, .sftp:
            guard overlapProves else { return nil }
            let isKnown = validator.length != nil && validator.lastModified != nil
            return isKnown ? .sizeAndTime : .overlap
        case .http: break
        }
        if origin?.mishandlesIfRange != true {
            if let tag = validator.strongTag { return .entityTag(tag.text) }
            if let date = validator.strongDate { return .date(date) }
        }
        // Without If-Range a strong validator still proves, by coming back with the 206.
        return overlapProves || validator.isStrong ? .overlap : nil
    }
}

extension ByteRanges {
    /// How many bytes without a gap end at `position`.
    func run(endingAt position: Int64) -> Int64 {
        guard let range = ranges.last(where: { $0.lowerBound < position }),
            range.upperBound >= position
        else { return 0 }
        return position - range.lowerBound
    }
}
