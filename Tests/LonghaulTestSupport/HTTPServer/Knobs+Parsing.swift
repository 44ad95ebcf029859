extension Knobs {
    /// Reads the query of a request target. Values are percent-decoded; `+` stands for itself.
    package init(query: Substring) throws(BadKnob) {
        self.init()
        var seen: Set<String> = []
        for item in query.split(separator: "&", omittingEmptySubsequences: true) {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let setter = Self.setters[name] else {
                throw BadKnob(name: name, reason: "unknown")
            }
            guard seen.insert(name).inserted || Self.repeatable.contains(name) else {
                throw BadKnob(name: name, reason: "given twice")
            }
            var value: String?
            if parts.count > 1 {
                value = PercentCoding.decode(parts[1])
                guard value != nil else {
                    throw BadKnob(name: name, reason: "broken percent-encoding")
                }
            }
            if let reason = setter(&self, value) { throw BadKnob(name: name, reason: reason) }
        }
    }

    /// Takes the value (nil: none was given) and returns what is wrong with it.
    private typealias Setter = @Sendable (inout Knobs, String?) -> String?

    private static let repeatable: Set = ["header", "noheader", "redirect"]

    private static let setters: [String: Setter] = [fileKnobs, rangeKnobs, answerKnobs, wireKnobs]
        .reduce(into: [:]) { all, some in all.merge(some) { _, _ in preconditionFailure() } }

    private static let fileKnobs: [String: Setter] = [
        "size": number(\.size), "seed": number(\.seed), "etag": text(\.etag),
        "weak": text(\.weak), "lastmod": number(\.lastmod), "date": number(\.date),
        "contenttype": text(\.contenttype), "disposition": text(\.disposition),
        "digest": flag(\.digest), "baddigest": flag(\.baddigest),
        "contentdigest": flag(\.contentdigest), "gzip": flag(\.gzip),
        "changeafter": number(\.changeafter), "othertagat": number(\.othertagat),
        "othertags": flag(\.othertags), "newnames": flag(\.newnames),
        "changesize": number(\.changesize),
    ]

    private static let rangeKnobs: [String: Setter] = [
        "noranges": flag(\.noranges), "ignorerange": flag(\.ignorerange),
        "noifrange": flag(\.noifrange), "ifrangefull": flag(\.ifrangefull),
        "wrongstart": signed(\.wrongstart), "wrongend": signed(\.wrongend),
        "wrongtotal": signed(\.wrongtotal), "wrongunit": flag(\.wrongunit),
        "unknowntotal": flag(\.unknowntotal), "norangeheader": flag(\.norangeheader),
        "multipart": flag(\.multipart), "changedetag": flag(\.changedetag),
        "maxrange": number(\.maxrange), "norangeend": flag(\.norangeend),
        "empty206": flag(\.empty206), "always206": flag(\.always206),
        "contentrange": text(\.contentrange), "closedranges": flag(\.closedranges),
        "contentrange200": flag(\.contentrange200), "bad416": number(\.bad416),
        "no416range": flag(\.no416range), "rangestatus": code(\.rangestatus),
    ]

    private static let answerKnobs: [String: Setter] = [
        "status": code(\.status), "statuses": number(\.statuses),
        "statusafter": number(\.statusafter), "304": flag(\.notModified),
        "retryafter": number(\.retryafter), "retryafterdate": signed(\.retryafterdate),
        "pageat": number(\.pageat), "wordsat": number(\.wordsat),
        "wordtimes": number(\.wordtimes), "words": text(\.words), "wordstype": text(\.wordstype),
        "redirect": list(\.redirect), "redirects": number(\.redirects),
        "redirectcode": { knobs, value in
            guard let value, let code = Int(value), (300...399).contains(code) else {
                return "not a redirection status"
            }
            knobs.redirectcode = code
            return nil
        },
        "auth": text(\.auth), "needheader": text(\.needheader, containing: ":"),
        "header": list(\.header, containing: ":"), "noheader": list(\.noheader),
        "headerflood": number(\.headerflood), "bigheader": number(\.bigheader),
        "interim": number(\.interim),
    ]

    private static let wireKnobs: [String: Setter] = [
        "nolength": flag(\.nolength), "closelength": flag(\.closelength),
        "badchunk": flag(\.badchunk), "short": number(\.short), "long": number(\.long),
        "trailergarbage": flag(\.trailergarbage), "close": flag(\.close),
        "delay": number(\.delay), "drip": positive(\.drip), "dripms": number(\.dripms),
        "rate": positive(\.rate), "crawlat": number(\.crawlat), "cut": number(\.cut),
        "cuts": number(\.cuts),
        "cutreset": flag(\.cutreset), "stall": number(\.stall), "stalls": number(\.stalls),
        "drop": flag(\.drop), "drops": number(\.drops),
    ]
}

// MARK: - Kinds of value

extension Knobs {
    private typealias Path<Value> = any (WritableKeyPath<Knobs, Value> & Sendable)

    private static func flag(_ path: Path<Bool>) -> Setter {
        { knobs, value in
            guard value == nil else { return "takes no value" }
            knobs[keyPath: path] = true
            return nil
        }
    }

    private static func number(_ path: Path<Int>) -> Setter {
        { knobs, value in
            guard let number = parse(value), number >= 0 else { return "not a number" }
            knobs[keyPath: path] = number
            return nil
        }
    }

    private static func number(_ path: Path<Int?>) -> Setter {
        { knobs, value in
            guard let number = parse(value), number >= 0 else { return "not a number" }
            knobs[keyPath: path] = number
            return nil
        }
    }

    private static func positive(_ path: Path<Int?>) -> Setter {
        { knobs, value in
            guard let number = parse(value), number > 0 else { return "not a positive number" }
            knobs[keyPath: path] = number
            return nil
        }
    }

    private static func signed(_ path: Path<Int>) -> Setter {
        { knobs, value in
            guard let number = parse(value) else { return "not a number" }
            knobs[keyPath: path] = number
            return nil
        }
    }

    private static func signed(_ path: Path<Int?>) -> Setter {
        { knobs, value in
            guard let number = parse(value) else { return "not a number" }
            knobs[keyPath: path] = number
            return nil
        }
    }

    private static func code(_ path: Path<Int?>) -> Setter {
        { knobs, value in
            guard let number = parse(value), (200...599).contains(number) else {
                return "not a final status"
            }
            knobs[keyPath: path] = number
            return nil
        }
    }

    private static func text(_ path: Path<String?>, containing needed: String = "") -> Setter {
        { knobs, value in
            guard let value, needed.isEmpty || value.contains(needed) else {
                return needed.isEmpty ? "needs a value" : "needs a '\(needed)'"
            }
            knobs[keyPath: path] = value
            return nil
        }
    }

    private static func text(_ path: Path<String>) -> Setter {
        { knobs, value in
            guard let value else { return "needs a value" }
            knobs[keyPath: path] = value
            return nil
        }
    }

    private static func list(_ path: Path<[String]>, containing needed: String = "") -> Setter {
        { knobs, value in
            guard let value, needed.isEmpty || value.contains(needed) else {
                return needed.isEmpty ? "needs a value" : "needs a '\(needed)'"
            }
            knobs[keyPath: path].append(value)
            return nil
        }
    }

    /// A whole number, with an optional binary suffix K, M or G.
    private static func parse(_ value: String?) -> Int? {
        guard let value else { return nil }
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30]
        if let last = value.last, let shift = shifts[last] {
            guard let number = Int(value.dropLast()) else { return nil }
            let product = number.multipliedReportingOverflow(by: 1 << shift)
            return product.overflow ? nil : product.partialValue
        }
        return Int(value)
    }
}
