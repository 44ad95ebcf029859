internal import LonghaulCore

/// Builds JSON in the order it is told, without spaces or line breaks: one value is one line.
///
/// Every key is always written: what is not known is `null`, so that a reader need not tell a
/// missing field from an unknown one. Nothing that is written changes what a terminal does: control
/// characters and invisible marks leave as `\u` escapes.
package struct JSONText {
    package private(set) var bytes: [UInt8] = []

    package init(reservingBytes capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Ready for the next value; the memory is kept.
    package mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Ends the line.
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
    }

    // MARK: Values

    package mutating func object(_ fields: (inout JSONText) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        fields(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    package mutating func array<Element>(
        _ elements: some Sequence<Element>, _ write: (inout JSONText, Element) -> Void
    ) {
        separate()
        bytes.append(UInt8(ascii: "["))
        for element in elements { write(&self, element) }
        bytes.append(UInt8(ascii: "]"))
    }

    package mutating func value(_ number: Int64) {
        separate()
        append("\(number)")
    }

    package mutating func value(_ string: String) {
        separate()
        appendQuoted(string)
    }

    // MARK: Fields

    package mutating func field(_ key: String, _ string: String?) {
        name(key)
        if let string { appendQuoted(string) } else { append("null") }
    }

    package mutating func field(_ key: String, _ number: Int64?) {
        name(key)
        if let number { append("\(number)") } else { append("null") }
    }

    package mutating func field(_ key: String, _ number: Int?) {
        field(key, number.map(Int64.init))
    }

    /// Writes a field whose key is known only when the program runs.
    package mutating func field(named key: String, _ string: String) {
        separate()
        appendQuoted(key)
        append(":")
        appendQuoted(string)
    }

    package mutating func field(named key: String, _ number: Int) {
        separate()
        appendQuoted(key)
        append(":\(number)")
    }

    /// Whole numbers without a fraction, others to the thousandth; what is no number is unknown.
    package mutating func field(_ key: String, seconds number: Double?) {
        name(key)
        guard let number, number.isFinite, abs(number) < 1e15 else { return append("null") }
        let thousandths = Int64((number * 1000).rounded())
        if thousandths % 1000 == 0 { return append("\(thousandths / 1000)") }
        append("\(Double(thousandths) / 1000)")
    }

    /// A rate, in whole bytes per second.
    package mutating func field(_ key: String, rate number: Double?) {
        let rate = number.flatMap { $0.isFinite && abs($0) < 1e18 ? Int64($0.rounded()) : nil }
        field(key, rate)
    }

    package mutating func field(_ key: String, _ flag: Bool) {
        name(key)
        append(flag ? "true" : "false")
    }

    /// RFC 3339 in UTC with milliseconds.
    package mutating func field(_ key: String, _ time: Timestamp?) {
        field(key, time.map { RFC3339.format($0) })
    }

    /// JSON that came from the user. What turns out to be none is handed on as text.
    package mutating func field(_ key: String, json: String?) {
        guard let json else { return field(key, String?.none) }
        guard let compact = try? JSONScanner.compacted(json) else { return field(key, json) }
        name(key)
        bytes += compact
    }

    package mutating func field(_ key: String, object fields: (inout JSONText) -> Void) {
        name(key)
        object(fields)
    }

    package mutating func field<Element>(
        _ key: String, array elements: some Sequence<Element>,
        _ write: (inout JSONText, Element) -> Void
    ) {
        name(key)
        array(elements, write)
    }

    // MARK: - Bytes

    private mutating func name(_ key: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes += key.utf8
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// A comma where something stands before. Only what has just been opened, a name, or the
    /// beginning of a line does not ask for one.
    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"), UInt8(ascii: "\n"):
            return
        case .some: bytes.append(UInt8(ascii: ","))
        }
    }

    private mutating func append(_ text: String) {
        bytes += text.utf8
    }

    private mutating func appendQuoted(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        let isPlain = string.utf8.allSatisfy {
            $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        if isPlain {
            bytes += string.utf8
        } else {
            for scalar in string.unicodeScalars { appendEscaping(scalar) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaping(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": append("\\\"")
        case "\\": append("\\\\")
        case "\n": append("\\n")
        case "\r": append("\\r")
        case "\t": append("\\t")
        case " "..."~": bytes.append(UInt8(scalar.value))
        default:
            let character = String(scalar)
            if TerminalText.shown(character) == character { return append(character) }
            // RFC 8259 §7: beyond the basic plane, a surrogate pair.
            for unit in character.utf16 {
                let digits = String(unit, radix: 16)
                append("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits)
            }
        }
    }
}
