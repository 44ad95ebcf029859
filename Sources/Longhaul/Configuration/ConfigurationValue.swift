internal import LonghaulCore

/// A value of the file, read as one type; `nil` = it has another type.
struct ConfigurationValue {
    /// The unparsed text.
    let raw: String

    var text: String? { read { try $0.string() } }

    var flag: Bool? { read { try $0.bool() } }

    var texts: [String]? {
        read { scanner in
            var texts: [String] = []
            try scanner.array { texts.append(try $0.string()) }
            return texts
        }
    }

    func number(in range: ClosedRange<Int>) -> Int? {
        guard let number = read({ try $0.integer() }) else { return nil }
        return range.contains(Int(number)) ? Int(number) : nil
    }

    var seconds: Double? { text.flatMap { DurationText.parse($0) } }

    /// A number, or a text with a unit.
    var rate: Int64? {
        let rate = text.map { SizeText.parse($0) } ?? number(in: 1...Int.max).map(Int64.init)
        return rate.flatMap { $0 > 0 ? $0 : nil }
    }

    func input(_ shape: FieldShape) -> FieldInput? {
        read { scanner in
            let input = try scanner.input(shape)
            try scanner.end()
            return input
        }
    }

    private func read<Value>(_ body: (inout JSONScanner) throws -> Value) -> Value? {
        var raw = raw
        return raw.withUTF8 { bytes in
            var scanner = JSONScanner(bytes)
            return try? body(&scanner)
        }
    }
}
