/// While a server's rate limit leaves fewer requests than this, they are spread over the time.
private let rateLimitSpreadBelow = 10

/// A quota that a server states in the field `RateLimit`, with its unit from `RateLimit-Policy`
/// (draft-ietf-httpapi-ratelimit-headers).
struct RateLimit: Hashable {
    /// Requests that remain; 0 = none until ``resetsIn`` is over.
    var remaining: Int
    /// Seconds until the quota is whole again.
    var resetsIn: Double

    /// Seconds until the next request should begin: all of the rest of the window once nothing
    /// remains, and an equal part of it for each request while few remain.
    var pause: Double {
        if remaining == 0 { return resetsIn }
        return remaining < rateLimitSpreadBelow ? resetsIn / Double(remaining + 1) : 0
    }
}

extension HeaderFields {
    /// Seconds until the next request should begin by the server's rate limits; 0 = at once. A
    /// quota of anything else than requests is not used, nor one that cannot be read.
    package var rateLimitPause: Double {
        guard contains("RateLimit") else { return 0 }
        return min(rateLimits.map(\.pause).max() ?? 0, Limits.retryAfterMaximumSeconds)
    }

    /// Seconds until a quota that is used up is whole again; `nil` = none is used up.
    var usedUpSeconds: Double? {
        guard contains("RateLimit") else { return nil }
        return rateLimits.lazy.filter { $0.remaining == 0 }.map(\.resetsIn).max()
            .map { min($0, Limits.retryAfterMaximumSeconds) }
    }

    /// The same by the fields of GitHub and others: `x-ratelimit-remaining`, and in
    /// `x-ratelimit-reset` the seconds since 1970 (GitHub REST API, "Rate limits").
    func usedUpSeconds(now: Timestamp) -> Double? {
        guard single("x-ratelimit-remaining") == "0",
            let reset = single("x-ratelimit-reset").flatMap({ $0.decimalValue })
        else { return nil }
        let seconds = Double(reset) - Double(now.milliseconds) / 1_000
        return min(max(seconds, 0), Limits.retryAfterMaximumSeconds)
    }

    private var rateLimits: [RateLimit] {
        var windows: [Substring: Double] = [:]
        var others: Set<Substring> = []
        let policies = values("RateLimit-Policy").joined(separator: ",")
        for (name, values) in Self.items(policies) {
            windows[name] = values["w"].flatMap { Double($0) }
            if let unit = values["qu"], unit != "requests" { others.insert(name) }
        }
        let limits = values("RateLimit").joined(separator: ",")
        return Self.items(limits).compactMap { name, values in
            guard !others.contains(name), let remaining = values["r"].flatMap({ Int($0) }),
                let seconds = values["t"].map({ Self.delta($0) }) ?? windows[name],
                remaining >= 0, seconds >= 0, seconds.isFinite
            else { return nil }
            return RateLimit(remaining: remaining, resetsIn: seconds)
        }
    }

    /// Seconds until a window ends. A number above a day is no such time but a date or
    /// milliseconds, as some servers send.
    private static func delta(_ text: Substring) -> Double? {
        Double(text).flatMap { $0 > Limits.retryAfterMaximumSeconds ? nil : $0 }
    }

    /// The members of a list of structured fields (RFC 9651 §3.1): names with their parameters,
    /// quotation marks taken off. No name or value of these fields has a comma or a semicolon.
    private static func items(
        _ text: String
    ) -> [(name: Substring, values: [Substring: Substring])] {
        text.split(separator: ",").map { member in
            let parts = member.split(separator: ";").map { bare($0) }
            var values: [Substring: Substring] = [:]
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1)
                if pair.count == 2 { values[bare(pair[0])] = bare(pair[1]) }
            }
            return (parts.first ?? "", values)
        }
    }

    private static func bare(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" || first == "\"" {
            text.removeFirst()
        }
        while let last = text.last, last == " " || last == "\t" || last == "\"" {
            text.removeLast()
        }
        return text
    }
}
