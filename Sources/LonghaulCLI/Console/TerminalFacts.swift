import LonghaulPlatform

/// The properties of the output.
struct TerminalFacts: Equatable {
    /// True if lines can be redrawn.
    var isLive = false
    /// `nil` = as wide as it needs to be (a file, a pipe).
    var columns: Int?
    var rows = 24
    var hasColour = false
    /// True if more than ASCII can be shown.
    var hasUnicode = false

    static func of(
        _ descriptor: Int32, environment: (String) -> String? = Environment.value
    ) -> TerminalFacts {
        var facts = TerminalFacts()
        let isTerminal = CommandStream.isTerminal(descriptor)
        let window = isTerminal ? CommandStream.windowSize(descriptor) : nil
        facts.columns =
            window?.columns ?? environment("COLUMNS").flatMap { Int($0) }.flatMap {
                $0 > 0 ? $0 : nil
            }
            ?? (isTerminal ? 80 : nil)
        facts.rows = window.map { max($0.rows, 4) } ?? 24
        facts.isLive = isTerminal && environment("TERM") != "dumb"
        // https://no-color.org: set to any non-empty value.
        facts.hasColour = facts.isLive && (environment("NO_COLOR") ?? "").isEmpty
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment)
            .first { !$0.isEmpty }
        let charset = (locale ?? "").lowercased()
        facts.hasUnicode = charset.hasSuffix("utf-8") || charset.hasSuffix("utf8")
        return facts
    }

    var ellipsis: String { hasUnicode ? "…" : "..." }

    func styled(_ text: String, _ style: Style) -> String {
        hasColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// SGR parameters (ECMA-48 §8.3.117): the eight colours that every palette has.
    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
    }
}
