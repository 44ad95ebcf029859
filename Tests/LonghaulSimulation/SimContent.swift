import LonghaulCore

/// What the simulated server holds under one URL, and how it behaves.
struct SimContent {
    enum Proof: CaseIterable {
        case strongTag, weakTag, date, nothing
    }

    var proof: Proof
    /// The last one is served now.
    private(set) var versions: [SimBytes]
    var ignoresRanges = false
    /// Sends all bytes from the start of a range, whatever its end.
    var ignoresRangeEnds = false
    /// Sends bodies without saying how long they are.
    var isChunked = false
    /// Of servers that are odd in more ways.
    var oddities = SimOddities()
    /// Body bytes per second on each connection.
    var rate: Double = 2_000_000
    /// Instead of the file, until it is mended.
    var refusal: Int?
    /// Where it redirects to.
    var movedTo: String?
    /// It has told a lie, or something about it made what is held useless.
    var hasMisled = false

    init(proof: Proof, label: Int, size: Int64) {
        self.proof = proof
        versions = [SimBytes(label: label, count: size)]
    }

    var version: Int { versions.count - 1 }
    var current: SimBytes { versions[version] }

    /// What a client that does everything right never has to fetch twice.
    var isSteady: Bool {
        (proof == .strongTag || proof == .date) && !ignoresRanges && !isChunked && !hasMisled
            && versions.count == 1 && oddities == SimOddities()
    }

    /// Another file under the same name; one that only grew begins as the one before.
    mutating func change(label: Int, size: Int64, grows: Bool) {
        guard grows else { return versions.append(SimBytes(label: label, count: size)) }
        var next = current
        let start = next.count
        next.replace(
            start..<start + max(1, size),
            with: [
                SimBytes.Run(range: start..<start + max(1, size), label: label, from: start)
            ])
        versions.append(next)
    }

    func isVersion(_ bytes: SimBytes) -> Bool { versions.contains(bytes) }

    func headers(at now: Timestamp) -> HeaderFields {
        var fields = HeaderFields()
        switch proof {
        case .strongTag: fields["ETag"] = "\"v\(version)\""
        case .weakTag: fields["ETag"] = "W/\"v\(version)\""
        case .date:
            fields["Last-Modified"] = HTTPDate.format(
                Timestamp(milliseconds: 1_600_000_000_000 + Int64(version) * 86_400_000))
            fields["Date"] = HTTPDate.format(now)
        case .nothing: break
        }
        return fields
    }

    /// RFC 9110 §13.1.5, for the proofs that are strong.
    func meets(_ ifRange: String?, at now: Timestamp) -> Bool {
        guard let ifRange, !oddities.ignoresConditions else { return true }
        let fields = headers(at: now)
        switch proof {
        case .strongTag: return ifRange == fields["ETag"]
        case .date: return ifRange == fields["Last-Modified"]
        case .weakTag, .nothing: return false
        }
    }
}

/// What a server does that is odd, and that it may do.
struct SimOddities: Equatable {
    /// Sends the range that is asked for, whatever If-Range says.
    var ignoresConditions = false
    /// Leaves what proves the version out of a 206.
    var baresParts = false
    /// A 206 has no more bytes than these.
    var partMost = Int64.max
    /// Forbids more answers at a time.
    var connections = Int.max

    init() {}

    /// - Parameter size: Of the file that is served.
    init(_ size: Int64, _ random: inout SeededGenerator) {
        ignoresConditions = random.happens(0.25)
        baresParts = random.happens(0.25)
        if random.happens(0.25) {
            partMost = max(1000, size / Int64.random(in: 1...40, using: &random))
        }
        if random.happens(0.4) { connections = Int.random(in: 1...3, using: &random) }
    }
}
