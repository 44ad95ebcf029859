/// Reads the body of an answer that refuses a request, and extracts a line for output.
package enum ServerWords {
    /// `nil` = the body is empty, no text, or repeats the status.
    package static func of(_ head: ResponseHead, _ body: [UInt8]) -> String? {
        if body.isEmpty || body.contains(0) || head.headers.contains("Content-Encoding") {
            return nil
        }
        let beginning = Array(body.prefix(Limits.answerReadBytes))
        let words = shown(meaning(of: String(decoding: beginning, as: UTF8.self), beginning))
        return words.isEmpty || words.hasPrefix("\(head.status)") ? nil : words
    }

    private static func meaning(of text: String, _ bytes: [UInt8]) -> String {
        let text = String(text.drop(while: \.isWhitespace))
        // Object stores of Amazon, Azure and others answer in this form.
        if let code = MarkupText.element("Code", in: bytes) {
            let message = MarkupText.element("Message", in: bytes).map { ": \($0)" } ?? ""
            return MarkupText.unescaped(code + message)
        }
        let start = text.prefix(1_000).lowercased()
        if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") {
            return MarkupText.unescaped(MarkupText.element("title", in: bytes) ?? "")
        }
        if text.hasPrefix("<") { return MarkupText.withoutTags(text) }
        // The lines of JSON say nothing one by one.
        if text.hasPrefix("{") || text.hasPrefix("[") { return text }
        return text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    }

    /// Without terminal control characters, and bounded. A semicolon would begin the advice: see
    /// ``LonghaulError/parts``.
    private static func shown(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            scalars.append(scalar.isUnfitForDisplay ? " " : scalar == ";" ? "," : scalar)
        }
        let words = String(scalars).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if words.count <= Limits.answerWordsShown { return words }
        return words.prefix(Limits.answerWordsShown) + "…"
    }
}

extension Failure {
    /// The failure with the server's words about it.
    ///
    /// - Parameters:
    ///   - head: The answer that is the reason; `nil` = no answer is.
    ///   - body: The received part of its body.
    package func quoting(_ head: ResponseHead?, _ body: [UInt8]) -> Failure {
        guard let head, let words = ServerWords.of(head, body) else { return self }
        var failure = self
        let (what, advice) = failure.error.parts
        failure.error.message = what + ", saying: " + words + (advice.map { "; " + $0 } ?? "")
        return failure
    }
}
