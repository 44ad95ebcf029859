import Longhaul

/// The arguments as they came. In Swift's own list they are repaired: what was given the name of
/// one file would be written into another.
enum ArgumentBytes {
    /// Why a command with these words is refused; `nil` = all of them are text.
    static func refusal(_ words: [[UInt8]]) -> LonghaulError? {
        guard let index = words.firstIndex(where: { String(validating: $0, as: UTF8.self) == nil })
        else { return nil }
        let word = TerminalText.shown(bytes: words[index])
        let before = index == 0 ? "" : TerminalText.shown(bytes: words[index - 1])
        let secret = secrets.first { before == $0 || word.hasPrefix($0 + "=") }
        let what = secret.map { "the value of \($0)" } ?? "the argument '\(word)'"
        return .usage(
            "\(what) is not UTF-8, as all have to be; in a URL such bytes are written as %XX, and a"
                + " file's name must be another one")
    }

    /// Options whose values are shown nowhere.
    private static let secrets = ["--header", "--user", "--proxy"]
}
