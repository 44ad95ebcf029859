internal import LonghaulCore

/// Builds JSON in the order it is told, without spaces or line breaks: one value is one line.
///
/// Unknown values are `null`, so that a reader need not tell a missing field from an unknown one.
/// The text changes nothing on a terminal: control characters and invisible marks are written as
/// `\u` escapes.
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

    package mutating func value(_ value: some ShownValue) {
        value.writeJSON(to: &self)
    }

    // MARK: Fields

    package mutating func field(_ key: String, _ value: some ShownValue) {
        name(key)
        value.writeJSON(to: &self)
    }

    /// Writes a field whose key is known only when the program runs.
    package mutating func field(named key: String, _ value: some ShownValue) {
        string(key)
        append(":")
        value.writeJSON(to: &self)
    }

    /// JSON that came from the user.
    package mutating func field(_ key: String, json: String?) {
        field(key, json.map(ShownJSON.init))
    }

    package mutating func field(_ key: String, object fields: (inout JSONText) -> Void) {
        name(key)
        object(fields)
    }

    // MARK: - Bytes

    mutating func string(_ string: String) {
        separate()
        JSONQuote.append(string, to: &bytes)
    }

    /// A number, `true`, `false`, `null`, or compact JSON.
    mutating func literal(_ text: String) {
        separate()
        append(text)
    }

    mutating func name(_ key: String) {
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
}
