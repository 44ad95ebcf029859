import Longhaul

/// Suggests the command for words of other programs, and for misspelt ones.
enum Suggestions {
    /// The command that is meant; `nil` = none comes near.
    static func command(_ name: String, among known: [String]) -> String? {
        let name = name.lowercased()
        // The dictionary's order is chance.
        let words = known + commands.keys.sorted()
        let near = words.map { (distance(name, $0), $0) }.min { $0.0 < $1.0 }
        guard let near, near.0 <= 2, near.0 < name.count else { return nil }
        return commands[near.1] ?? near.1
    }

    /// The counterpart of an option of curl, wget or aria2; `nil` = not an option of these.
    ///
    /// - Parameter words: Of the command line, `-x4` and `-x 4` alike.
    static func option(_ word: String, in words: [String]) -> String? {
        let unknown = word.hasPrefix("--") ? word : String(word.prefix(2))
        guard let meaning = options[unknown] else { return nil }
        guard let index = words.firstIndex(where: { $0.hasPrefix(unknown) }) else {
            return meaning
        }
        var value = String(words[index].dropFirst(unknown.count))
        if value.hasPrefix("=") { value.removeFirst() }
        let next = words[(index + 1)...].first ?? ""
        if value.isEmpty, !next.hasPrefix("-"), !next.contains("://") { value = next }
        guard !value.isEmpty, let name = valueNames.first(where: { meaning.hasSuffix(" " + $0) })
        else { return meaning }
        return String(meaning.dropLast(name.count)) + value
    }

    private static let valueNames = ["N", "DIR", "FILE", "SIZE", "DURATION"]

    private static let commands = [
        "download": "get", "fetch": "get", "add-uri": "enqueue", "put": "upload", "send": "upload",
        "delete": "remove", "del": "remove", "start": "resume", "continue": "resume",
        "unpause": "resume", "stop": "pause", "abort": "cancel", "kill": "cancel", "info": "show",
        "ps": "list", "queue": "list", "log": "events", "logs": "events", "version": "--version",
        "top": "watch", "progress": "watch", "check": "doctor",
    ]

    private static let options = [
        "-x": "--connections N", "-s": "--connections N", "--split": "--connections N",
        "--max-connection-per-server": "--connections N",
        "-P": "-d DIR", "--directory-prefix": "-d DIR", "--dir": "-d DIR",
        "-O": "-o FILE", "--out": "-o FILE", "--output-document": "-o FILE",
        "--input-file": "-i FILE", "-k": "--insecure", "--no-check-certificate": "--insecure",
        "-u": "--user U:P", "-t": "--retries N", "--tries": "--retries N", "--retry": "--retries N",
        "--max-tries": "--retries N", "-T": "--stall-timeout DURATION",
        "--timeout": "--stall-timeout DURATION", "--max-download-limit": "--limit-rate SIZE",
        "-A": "-H 'User-Agent: NAME'", "-U": "-H 'User-Agent: NAME'",
        "--user-agent": "-H 'User-Agent: NAME'", "-e": "-H 'Referer: URL'",
        "--referer": "-H 'Referer: URL'", "-J": "--remote-name",
        "--content-disposition": "--remote-name", "-F": "`longhaul upload --form NAME`",
        "-L": "nothing: redirects are followed", "--location": "nothing: redirects are followed",
        "-C": "nothing: a transfer resumes where it was", "-f": "nothing: a failure is exit 1",
    ]

    /// Changes of one character that make one word the other.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let above = row[column + 1]
                row[column + 1] = min(
                    above + 1, row[column] + 1, diagonal + (byte == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
