/// A `Content-Range` field in the unit of bytes (RFC 9110 §14.4), with nothing read into it: a
/// value that breaks the grammar in any way is no Content-Range.
package enum ContentRange: Hashable, Sendable {
    /// The bytes enclosed, end exclusive, and the length of the whole, `nil` for `*`.
    case bytes(Range<Int64>, total: Int64?)
    /// `bytes */N`: no byte of the asked range exists; the whole has N bytes.
    case unsatisfied(total: Int64)

    package init?(_ value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].equalsIgnoringCase("bytes") else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0] == "*" {
            guard let total = parts[1].decimalValue else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = ends[0].decimalValue, let last = ends[1].decimalValue,
            first <= last, last < .max
        else { return nil }
        var total: Int64?
        if parts[1] != "*" {
            guard let number = parts[1].decimalValue, number > last else { return nil }
            total = number
        }
        self = .bytes(first..<last + 1, total: total)
    }
}
