/// Deeper nesting is refused: input from outside must not use up the stack.
private let jsonDepthMax = 64

/// Reads JSON (RFC 8259) strictly and keeps what it does not interpret exactly as it was written:
/// numbers of any length, the order of keys. A decoder that builds values would lose both.
package struct JSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    /// The number of bytes read so far.
    package private(set) var offset = 0
    private var depth = 0

    /// The caller keeps `bytes` alive.
    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// `text` without spaces and line breaks between its parts.
    ///
    /// - Throws: ``JSONProblem`` when it is no JSON, or nested too deep.
    package static func compacted(_ text: String) throws -> [UInt8] {
        var text = text
        return try text.withUTF8 { bytes in
            var scanner = JSONScanner(bytes)
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count)
            try scanner.copyValue(to: &result)
            try scanner.end()
            return result
        }
    }

    // MARK: Values

    /// Calls `field` for every member, which must read its value.
    package mutating func object(
        _ field: (String, inout JSONScanner) throws -> Void
    ) throws {
        try open("{", "expected an object")
        if accept("}") { return close() }
        repeat {
            skipBlanks()
            let key = try string()
            try expect(":")
            try field(key, &self)
        } while accept(",")
        try expect("}")
        close()
    }

    package mutating func array(_ element: (inout JSONScanner) throws -> Void) throws {
        try open("[", "expected an array")
        if accept("]") { return close() }
        repeat { try element(&self) } while accept(",")
        try expect("]")
        close()
    }

    /// Reads a `null`, if there is one here; returns whether there was.
    package mutating func null() -> Bool {
        skipBlanks()
        return literal("null")
    }

    package mutating func bool() throws -> Bool {
        skipBlanks()
        if literal("true") { return true }
        if literal("false") { return false }
        throw problem("expected true or false")
    }

    package mutating func integer() throws -> Int64 {
        skipBlanks()
        let digits = try number()
        guard let value = Int64(String(decoding: bytes[digits], as: UTF8.self)) else {
            offset = digits.lowerBound
            throw problem("expected a whole number")
        }
        return value
    }

    /// A number, with a fraction or without.
    package mutating func double() throws -> Double {
        skipBlanks()
        let digits = try number()
        guard let value = Double(String(decoding: bytes[digits], as: UTF8.self)), value.isFinite
        else {
            offset = digits.lowerBound
            throw problem("expected a number that is not too large")
        }
        return value
    }

    /// True if the next value is an array.
    package mutating func isArray() -> Bool {
        skipBlanks()
        return peek == UInt8(ascii: "[")
    }

    /// True if the next value is an object.
    package mutating func isObject() -> Bool {
        skipBlanks()
        return peek == UInt8(ascii: "{")
    }

    /// True if the next value is a number, or pretends to be one.
    package mutating func isNumber() -> Bool {
        skipBlanks()
        return peek.map { $0.isASCIIDigit || $0 == UInt8(ascii: "-") } ?? false
    }

    /// True if the next value is a string.
    package mutating func isString() -> Bool {
        skipBlanks()
        return peek == UInt8(ascii: "\"")
    }

    package mutating func string() throws -> String {
        skipBlanks()
        let start = offset
        let raw = try stringBody()
        guard let text = String(validating: bytes[raw], as: UTF8.self) else {
            offset = start
            throw problem("a string is not UTF-8")
        }
        if !bytes[raw].contains(UInt8(ascii: "\\")) { return text }
        guard let text = unescaped(raw) else {
            offset = start
            throw problem("a string has half a surrogate pair")
        }
        return text
    }

    /// The next value as it is written, without blanks between its parts.
    package mutating func raw() throws -> String {
        var copy: [UInt8] = []
        try copyValue(to: &copy)
        return String(decoding: copy, as: UTF8.self)
    }

    /// Checks the next value and passes over it. Nothing is built, so a large value costs no
    /// memory.
    package mutating func skip() throws {
        if isObject() {
            try object { try $1.skip() }
        } else if isArray() {
            try array { try $0.skip() }
        } else if isString() {
            _ = try string()
        } else if isNumber() {
            _ = try number()
        } else if !null() {
            _ = try bool()
        }
    }

    /// Nothing but blanks may be left.
    package mutating func end() throws {
        skipBlanks()
        if offset < bytes.count { throw problem("something follows the JSON value") }
    }

    // MARK: - Grammar

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipBlanks() {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            default: return
            }
        }
    }

    private mutating func accept(_ mark: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard peek == UInt8(ascii: mark) else { return false }
        offset += 1
        return true
    }

    private mutating func expect(_ mark: Unicode.Scalar) throws {
        if !accept(mark) { throw problem("expected \(mark)") }
    }

    private mutating func open(_ mark: Unicode.Scalar, _ otherwise: String) throws {
        if !accept(mark) { throw problem(otherwise) }
        depth += 1
        if depth > jsonDepthMax {
            throw problem("more than \(jsonDepthMax) levels of nesting")
        }
    }

    private mutating func close() {
        depth -= 1
    }

    private mutating func literal(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard offset + length <= bytes.count else { return false }
        let matches = word.withUTF8Buffer { word in
            (0..<length).allSatisfy { bytes[offset + $0] == word[$0] }
        }
        if matches { offset += length }
        return matches
    }

    /// RFC 8259 §6: no leading zero, no leading plus, digits on both sides of a point.
    private mutating func number() throws -> Range<Int> {
        let start = offset
        if peek == UInt8(ascii: "-") { offset += 1 }
        let whole = digits()
        guard whole > 0 else {
            offset = start
            throw problem("expected a number")
        }
        if whole > 1, bytes[offset - whole] == UInt8(ascii: "0") {
            throw problem("a number must not begin with 0")
        }
        if peek == UInt8(ascii: ".") {
            offset += 1
            if digits() == 0 { throw problem("expected a digit") }
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            offset += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { offset += 1 }
            if digits() == 0 { throw problem("expected a digit") }
        }
        return start..<offset
    }

    private mutating func digits() -> Int {
        let start = offset
        while let byte = peek, byte.isASCIIDigit { offset += 1 }
        return offset - start
    }

    /// The bytes between the quotes; escapes are checked, not resolved.
    private mutating func stringBody() throws -> Range<Int> {
        guard peek == UInt8(ascii: "\"") else { throw problem("expected a string") }
        offset += 1
        let start = offset
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return start..<offset - 1
            case UInt8(ascii: "\\"):
                offset += 1
                try escape()
            case 0..<0x20: throw problem("a control character in a string must be escaped")
            default: offset += 1
            }
        }
        throw problem("a string has no end")
    }

    private mutating func escape() throws {
        switch peek {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            offset += 1
        case UInt8(ascii: "u"):
            offset += 1
            for _ in 0..<4 {
                guard let byte = peek, byte.isASCIIHexDigit else { throw problem("bad \\u escape") }
                offset += 1
            }
        case .some, nil: throw problem("bad escape in a string")
        }
    }

    /// Escapes resolved through UTF-16, so that surrogate pairs meet; `nil` = one stands alone.
    private func unescaped(_ range: Range<Int>) -> String? {
        var units: [UInt16] = []
        var rest = range
        while let start = rest.first {
            guard bytes[start] == UInt8(ascii: "\\") else {
                let end = bytes[rest].firstIndex(of: UInt8(ascii: "\\")) ?? rest.upperBound
                units += String(decoding: bytes[start..<end], as: UTF8.self).utf16
                rest = end..<rest.upperBound
                continue
            }
            var length = 2
            switch bytes[start + 1] {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"):
                length = 6
                units.append(
                    bytes[start + 2..<start + 6].reduce(0) {
                        $0 << 4 | UInt16($1.hexValue ?? 0)
                    })
            case let byte: units.append(UInt16(byte))
            }
            rest = start + length..<rest.upperBound
        }
        return String(validating: units, as: UTF16.self)
    }

    private mutating func copyValue(to copy: inout [UInt8]) throws {
        skipBlanks()
        let start = offset
        switch peek {
        case UInt8(ascii: "{"):
            var separator = UInt8(ascii: "{")
            try object { key, scanner in
                copy.append(separator)
                separator = UInt8(ascii: ",")
                JSONQuote.append(key, to: &copy)
                copy.append(UInt8(ascii: ":"))
                try scanner.copyValue(to: &copy)
            }
            if separator == UInt8(ascii: "{") { copy.append(separator) }
            copy.append(UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            var separator = UInt8(ascii: "[")
            try array { scanner in
                copy.append(separator)
                separator = UInt8(ascii: ",")
                try scanner.copyValue(to: &copy)
            }
            if separator == UInt8(ascii: "[") { copy.append(separator) }
            copy.append(UInt8(ascii: "]"))
        case UInt8(ascii: "\""):
            JSONQuote.append(try string(), to: &copy)
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            _ = try bool()
            copy += bytes[start..<offset]
        case UInt8(ascii: "n"):
            guard literal("null") else { throw problem("expected a value") }
            copy += bytes[start..<offset]
        case .some, nil:
            let range = try number()
            copy += bytes[range]
        }
    }

    private func problem(_ message: String) -> JSONProblem {
        JSONProblem(message: message, byte: offset + 1)
    }
}

/// The place and the reason where a text is not valid JSON.
package struct JSONProblem: Error, Hashable, CustomStringConvertible {
    package var message: String
    /// Counted from 1.
    package var byte: Int

    package init(message: String, byte: Int) {
        self.message = message
        self.byte = byte
    }

    package var description: String { "\(message) at byte \(byte)" }
}
