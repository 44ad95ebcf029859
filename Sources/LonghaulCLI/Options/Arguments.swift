public import ArgumentParser
public import Longhaul

// Values that are parsed from their own text form.

extension TransferID: ExpressibleByArgument {
    /// Parses an id.
    public init?(argument: String) {
        self.init(argument)
    }
}

extension TransferState: ExpressibleByArgument {}

extension SubmissionStrategy: ExpressibleByArgument {}

extension SleepInhibition: ExpressibleByArgument {}

/// The arguments as raw bytes. Swift's own list is repaired UTF-8: the name of one file could
/// become the name of another.
enum ArgumentBytes {
    /// Why a command with these words is refused; `nil` = all of them are valid UTF-8.
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

    /// The parser takes any bundle of short options with an `h` in it for a request for help, which
    /// is a success: a script would continue without its file. `nil` = there is no such bundle.
    static func bundledHelp(_ words: [String]) -> LonghaulError? {
        for word in words {
            if word == "--" { return nil }
            guard word.hasPrefix("-"), !word.hasPrefix("--"), word.utf8.count > 2,
                word.contains("h")
            else { continue }
            // The rest may be a password.
            return .usage(
                "there is no option '\(TerminalText.shown(String(word.prefix(2))))…'; short options"
                    + " are written one by one, and their values as separate words")
        }
        return nil
    }

    /// Options whose values are never shown.
    private static let secrets = ["--header", "-H", "--user", "--proxy"]
}
