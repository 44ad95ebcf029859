package import LonghaulModel

/// Bytes of a pattern.
private let globBytes = 1_024

/// Chooses files of a bundle by patterns of their paths: `*` within a name, `**` across names, `?`,
/// `[…]`; `\` before a character takes its meaning away.
package struct GlobSet: Sendable {
    private let included: [Glob]
    private let excluded: [Glob]

    /// - Parameters:
    ///   - include: Empty = all files.
    ///   - exclude: Wins over `include`.
    package init(include: [String], exclude: [String]) throws(LonghaulError) {
        var globs: [[Glob]] = []
        for patterns in [include, exclude] {
            var list: [Glob] = []
            for pattern in patterns { list.append(try Glob(pattern)) }
            globs.append(list)
        }
        (included, excluded) = (globs[0], globs[1])
    }

    package func selects(_ path: String) -> Bool {
        let path = Array(path.unicodeScalars)
        if excluded.contains(where: { $0.matches(path) }) { return false }
        return included.isEmpty || included.contains { $0.matches(path) }
    }
}

/// One pattern.
private struct Glob: Sendable {
    private enum Token: Hashable, Sendable {
        case scalar(Unicode.Scalar)
        /// Any character of a name.
        case any
        case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
        /// Any part of a name.
        case star
        /// Any part of a path.
        case stars
        /// Whole directories, with their slashes, or none.
        case directories
    }

    private var tokens: [Token] = []

    init(_ pattern: String) throws(LonghaulError) {
        let shown = TerminalText.shown(String(pattern.prefix(200)))
        if pattern.isEmpty || pattern.utf8.count > globBytes {
            throw .usage("a pattern has 1 to \(globBytes) bytes")
        }
        var rest = Array(pattern.unicodeScalars)[...]
        // A directory stands for its files.
        if rest.last == "/" { rest += ["*", "*"] }
        var last: Unicode.Scalar = "/"
        while let scalar = rest.popFirst() {
            defer { last = scalar }
            switch scalar {
            case "*" where rest.first == "*":
                rest = rest.drop { $0 == "*" }
                if last == "/", rest.first == "/" {
                    rest.removeFirst()
                    tokens.append(.directories)
                } else {
                    tokens.append(.stars)
                }
            case "*": tokens.append(.star)
            case "?": tokens.append(.any)
            case "[":
                guard let set = Self.set(&rest) else {
                    throw .usage("the pattern '\(shown)' has a [ without its ]")
                }
                tokens.append(set)
            case "\\": tokens.append(.scalar(rest.popFirst() ?? scalar))
            default: tokens.append(.scalar(scalar))
            }
        }
    }

    /// The set up to its `]`, which may stand first as a member.
    private static func set(_ rest: inout ArraySlice<Unicode.Scalar>) -> Token? {
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest.removeFirst() }
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        while let scalar = rest.popFirst() {
            if scalar == "]", !ranges.isEmpty { return .set(ranges, isNegated: isNegated) }
            let after = rest.dropFirst().first
            if rest.first == "-", let after, after != "]" {
                rest.removeFirst(2)
                ranges.append(min(scalar, after)...max(scalar, after))
            } else {
                ranges.append(scalar...scalar)
            }
        }
        return nil
    }

    /// Follows all ways through the pattern at a time: no pattern takes longer than its length for
    /// each character of the path.
    func matches(_ path: [Unicode.Scalar]) -> Bool {
        var states = [Bool](repeating: false, count: tokens.count + 1)
        states[0] = true
        var last: Unicode.Scalar = "/"
        skipEmpty(&states, after: last)
        for scalar in path {
            var next = [Bool](repeating: false, count: states.count)
            for (index, token) in tokens.enumerated() where states[index] {
                switch token {
                case .scalar(let own): if own == scalar { next[index + 1] = true }
                case .any: if scalar != "/" { next[index + 1] = true }
                case .set(let ranges, let isNegated):
                    if scalar != "/", ranges.contains(where: { $0.contains(scalar) }) != isNegated {
                        next[index + 1] = true
                    }
                case .star: if scalar != "/" { next[index] = true }
                case .stars, .directories: next[index] = true
                }
            }
            last = scalar
            skipEmpty(&next, after: last)
            states = next
        }
        return states[tokens.count]
    }

    /// Tokens that may match nothing are passed over.
    private func skipEmpty(_ states: inout [Bool], after last: Unicode.Scalar) {
        for (index, token) in tokens.enumerated() where states[index] {
            switch token {
            case .star, .stars: states[index + 1] = true
            case .directories: if last == "/" { states[index + 1] = true }
            case .scalar, .any, .set: break
            }
        }
    }
}
