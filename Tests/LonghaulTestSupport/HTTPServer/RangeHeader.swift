/// What a `Range` header asks of a file of known size (RFC 9110 §14.1.2, §14.2).
enum RangeHeader: Equatable {
    /// No header, or one that is to be ignored: another unit, malformed, several ranges.
    case none
    case satisfiable(Range<Int>)
    case unsatisfiable

    init(_ value: String?, size: Int) {
        self = .none
        guard let value, let equals = value.firstIndex(of: "="),
            value[..<equals].lowercased() == "bytes"
        else { return }
        let spec = value[value.index(after: equals)...]
        let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, !spec.contains(",") else { return }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (.some(let first), .some(let last)):
            guard first <= last else { return }
            self = first < size ? .satisfiable(first..<min(last + 1, size)) : .unsatisfiable
        case (.some(let first), nil):
            guard ends[1].isEmpty else { return }
            self = first < size ? .satisfiable(first..<size) : .unsatisfiable
        case (nil, .some(let suffix)):
            guard ends[0].isEmpty else { return }
            let start = max(0, size - suffix)
            self = suffix > 0 && size > 0 ? .satisfiable(start..<size) : .unsatisfiable
        case (nil, nil):
            return
        }
    }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        // A last position beyond any file is legal and means "to the end".
        return Int(text) ?? Int.max - 1
    }
}
