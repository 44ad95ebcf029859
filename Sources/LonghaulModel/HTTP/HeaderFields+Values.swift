extension HeaderFields {
    /// All fields of that name, in order.
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
    }

    /// The value when the field is there once, or several times alike; `nil` when it is missing or
    /// its copies disagree: where it is unknown which one is meant, none is used.
    package func single(_ name: String) -> String? {
        var found: String?
        for field in fields where field.name.equalsIgnoringCase(name) {
            let value = field.value.trimmingBlanks
            if let found, found != value { return nil }
            found = value
        }
        return found
    }

    package func contains(_ name: String) -> Bool {
        fields.contains { $0.name.equalsIgnoringCase(name) }
    }

    package enum Length: Hashable, Sendable {
        case absent
        case bytes(Int64)
        /// The value is not a number, or its copies disagree: the message's framing is broken (RFC
        /// 9110 §8.6).
        case invalid
        /// A number larger than that of any file's bytes.
        case beyondFiles
    }

    /// Content-Length. Equal copies, in several fields or as a list, count as one (RFC 9110 §8.6).
    package var contentLength: Length {
        var found: Int64?
        var isBeyondFiles = false
        for field in fields where field.name.equalsIgnoringCase("Content-Length") {
            // The field nearly always has a single number.
            if found == nil, let number = field.value.decimalValue {
                found = number
                continue
            }
            for part in field.value.split(separator: ",", omittingEmptySubsequences: false) {
                let digits = part.trimmingBlanks
                if let number = digits.decimalValue {
                    guard found == nil || found == number else { return .invalid }
                    found = number
                } else {
                    guard !digits.isEmpty, digits.utf8.allSatisfy(\.isASCIIDigit) else {
                        return .invalid
                    }
                    isBeyondFiles = true
                }
            }
        }
        if isBeyondFiles { return found == nil ? .beyondFiles : .invalid }
        return found.map { .bytes($0) } ?? .absent
    }

    /// The coding that the body comes in, `nil` for identity.
    package var contentCoding: String? {
        let codings = values("Content-Encoding").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingBlanks.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    /// A transfer coding frames the message itself and voids Content-Length (RFC 9112 §6.3).
    package var hasTransferCoding: Bool { contains("Transfer-Encoding") }

    /// A transfer coding that is not taken off again. None is asked for (RFC 9112 §7.4).
    package var foreignTransferCoding: String? {
        values("Transfer-Encoding").lazy
            .flatMap { $0.split(separator: ",") }
            .map { String($0).trimmingBlanks }
            .first {
                !$0.equalsIgnoringCase("chunked") && !$0.equalsIgnoringCase("identity")
            }
            .map { String($0) }
    }

    /// Seconds to wait, held to 0…24 h, by `Retry-After` (RFC 9110 §10.2.3) or by a rate limit that
    /// is used up, whichever is longest; `nil` when all are missing or malformed.
    package func retryAfter(now: Timestamp) -> Double? {
        [statedRetryAfter(now: now), usedUpSeconds, usedUpSeconds(now: now)].compactMap { $0 }.max()
    }

    private func statedRetryAfter(now: Timestamp) -> Double? {
        guard let value = single("Retry-After") else { return nil }
        let seconds: Double
        if let first = value.utf8.first, first.isASCIIDigit {
            guard value.utf8.allSatisfy({ $0.isASCIIDigit }) else { return nil }
            // More digits than an Int64 holds are a long time as well.
            seconds = Int64(value).map(Double.init) ?? .infinity
        } else {
            guard let date = HTTPDate.parse(value, now: now) else { return nil }
            // The server goes by its own clock, which may be wrong (RFC 9110 §6.6.1).
            let sent = single("Date").flatMap { HTTPDate.parse($0, now: now) }
            seconds = date - (sent ?? now)
        }
        return min(max(seconds, 0), Limits.retryAfterMaximumSeconds)
    }

    /// The server says that it takes byte ranges. A hint: only a 206 proves it.
    package var offersByteRanges: Bool {
        values("Accept-Ranges").contains { $0.trimmingBlanks.equalsIgnoringCase("bytes") }
    }

    /// The server says that it takes none.
    package var refusesRanges: Bool {
        values("Accept-Ranges").contains { $0.trimmingBlanks.equalsIgnoringCase("none") }
    }
}
