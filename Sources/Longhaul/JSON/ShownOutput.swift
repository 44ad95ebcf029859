internal import LonghaulCore

/// Redacts what a host has written, or is started with, for show. Answers carry signed URLs and
/// values of header fields; the store keeps them.
package enum ShownOutput {
    package static func text(_ output: String) -> String {
        output.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { line(String(Substring($0))) }
            .joined(separator: "\n")
    }

    package static func arguments(_ argv: [String]) -> [String] {
        argv.map { Redaction.text($0) }
    }

    /// How output begins whose beginning was not kept.
    private static let cut = "…"

    private static func line(_ line: String) -> String {
        guard let brace = line.utf8.firstIndex(of: UInt8(ascii: "{")) else {
            // The line may be the end of an answer: the place of the cut in it is not known.
            let isEnd = line.hasPrefix(cut) && line.utf8.contains(UInt8(ascii: "}"))
            return isEnd ? cut + Redaction.mark : Redaction.text(line)
        }
        if line.hasPrefix(cut), !line.utf8.starts(with: (cut + "{").utf8) {
            return cut + Redaction.mark
        }
        // A line of its standard errors may have got in front.
        let before = Redaction.text(String(line[..<brace]))
        let rest = String(line[brace...])
        if let shown = try? json(rest, isHidden: false) { return before + shown }
        // An answer with a mistake in it, or a part of one.
        let isAnswer = rest.contains("\"url\"") || rest.contains("\"headers\"")
        return before + (isAnswer ? Redaction.mark : Redaction.text(rest))
    }

    /// Written anew, without what is secret.
    ///
    /// - Parameter isHidden: Nothing of it is shown but names.
    private static func json(_ text: String, isHidden: Bool, isURL: Bool = false) throws -> String {
        var text = text
        return try text.withUTF8 { bytes in
            var scanner = JSONScanner(bytes)
            var parts: [String] = []
            switch bytes.first {
            case UInt8(ascii: "{"):
                try scanner.object { name, scanner in
                    let value = try json(
                        scanner.raw(), isHidden: isHidden || name == "headers",
                        isURL: name == "url")
                    parts.append(quoted(name) + ":" + value)
                }
                try scanner.end()
                return "{" + parts.joined(separator: ",") + "}"
            case UInt8(ascii: "["):
                try scanner.array { scanner in
                    parts.append(try json(scanner.raw(), isHidden: isHidden, isURL: isURL))
                }
                return "[" + parts.joined(separator: ",") + "]"
            case UInt8(ascii: "\"") where !isHidden:
                let string = try scanner.string()
                return quoted(isURL ? Redaction.url(string) : Redaction.text(string))
            case .some, nil:
                return isHidden ? quoted(Redaction.mark) : try scanner.raw()
            }
        }
    }

    private static func quoted(_ string: String) -> String {
        var text = JSONText()
        text.value(string)
        return text.text
    }
}

extension LaunchFailure {
    /// The last line of its output, without secrets; `nil` = it wrote nothing.
    package var lastLine: String? {
        ShownOutput.text(output ?? "").byteLines.last { !$0.isEmpty }.map(String.init)
    }
}
