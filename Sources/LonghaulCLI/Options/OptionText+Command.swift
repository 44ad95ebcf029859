import Longhaul

/// Typed values that only commands take.
extension OptionText {
    /// Each text is `K: V`, or `@FILE` with one field on each line.
    static func headers(_ texts: [String]) throws(LonghaulError) -> [HeaderFields.Field] {
        var fields: [HeaderFields.Field] = []
        for text in texts {
            if text.utf8.first == UInt8(ascii: "@") {
                fields += try headers(inFile: String(text.dropFirst()))
            } else {
                fields.append(try header(text, "--header"))
            }
        }
        return fields
    }

    private static func headers(
        inFile path: String
    ) throws(LonghaulError) -> [HeaderFields.Field] {
        var fields: [HeaderFields.Field] = []
        let lines = try ByteLines(path: path)
        while let line = try lines.next() {
            let name = "--header @\(path), line \(lines.number)"
            guard let text = try? line.text() else { throw .usage("\(name): it is not UTF-8") }
            if !text.isEmpty { fields.append(try header(text, name)) }
        }
        return fields
    }

    /// Compact JSON, which stays on one line wherever it is shown.
    static func json(_ text: String, _ name: String) throws(LonghaulError) -> String {
        do {
            return String(decoding: try JSONScanner.compacted(text), as: UTF8.self)
        } catch {
            throw .usage("\(name): the JSON cannot be used: \(error)")
        }
    }
}
