/// Removes comments and what stands between quotes: enough of Swift's grammar to find words in
/// code.
struct Stripper {
    private enum State: Equatable {
        case code, block
        /// With so many number signs.
        case multiline(Int)
    }

    private var state = State.code
    /// What stood between quotes on one line, in order, as it is written.
    private(set) var literals: [String] = []

    mutating func strip(_ line: String) -> String {
        var result: [UInt8] = []
        var rest = Array(line.utf8)[...]
        while !rest.isEmpty {
            switch state {
            case .block: skip(through: "*/", &rest)
            case .multiline(let signs):
                skip(through: "\"\"\"" + String(repeating: "#", count: signs), &rest)
            case .code: takeCode(&rest, &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Back to code after the mark, or to the end of the line without it.
    private mutating func skip(through mark: String, _ rest: inout ArraySlice<UInt8>) {
        while !rest.isEmpty {
            if rest.starts(with: mark.utf8) {
                rest = rest.dropFirst(mark.utf8.count)
                state = .code
                return
            }
            rest.removeFirst()
        }
    }

    private mutating func takeCode(_ rest: inout ArraySlice<UInt8>, _ result: inout [UInt8]) {
        let first = rest[rest.startIndex]
        // Nearly all bytes begin nothing.
        guard
            first == UInt8(ascii: "/") || first == UInt8(ascii: "#") || first == UInt8(ascii: "\"")
        else {
            result.append(rest.removeFirst())
            return
        }
        if rest.starts(with: "//".utf8) {
            rest = []
        } else if rest.starts(with: "/*".utf8) {
            state = .block
            rest = rest.dropFirst(2)
        } else {
            takeString(&rest, &result)
        }
    }

    private mutating func takeString(_ rest: inout ArraySlice<UInt8>, _ result: inout [UInt8]) {
        let signs = rest.prefix { $0 == UInt8(ascii: "#") }.count
        let opening = rest.dropFirst(signs)
        if opening.starts(with: "\"\"\"".utf8) {
            state = .multiline(signs)
            rest = opening.dropFirst(3)
        } else if opening.first == UInt8(ascii: "\"") {
            rest = opening.dropFirst()
            let start = rest
            skipString(&rest, signs: signs)
            let length = rest.startIndex - start.startIndex - 1 - signs
            literals.append(String(decoding: start.prefix(max(0, length)), as: UTF8.self))
            result += "\"\"".utf8
        } else {
            result.append(rest.removeFirst())
        }
    }

    private func skipString(_ rest: inout ArraySlice<UInt8>, signs: Int) {
        let mark = "\"" + String(repeating: "#", count: signs)
        let escape = "\\" + String(repeating: "#", count: signs)
        while !rest.isEmpty {
            if rest.starts(with: escape.utf8) {
                rest = rest.dropFirst(escape.utf8.count)
                if rest.first == UInt8(ascii: "(") {
                    skipInterpolation(&rest)
                } else {
                    rest = rest.dropFirst()
                }
            } else if rest.starts(with: mark.utf8) {
                rest = rest.dropFirst(mark.utf8.count)
                return
            } else {
                rest.removeFirst()
            }
        }
    }

    private func skipInterpolation(_ rest: inout ArraySlice<UInt8>) {
        var depth = 0
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): skipString(&rest, signs: 0)
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            default: break
            }
            if depth == 0 { return }
        }
    }
}
