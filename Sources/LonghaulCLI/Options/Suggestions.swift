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

    /// The option that is meant, of another program or misspelt; `nil` = none comes near.
    ///
    /// - Parameters:
    ///   - words: Of the command line.
    ///   - known: The long options of the command.
    static func option(_ word: String, in words: [String], among known: [String] = []) -> String? {
        if let counterpart = ForeignOptions.counterpart(word, in: words) { return counterpart }
        guard word.hasPrefix("--"), word.utf8.count > 4 else { return nil }
        let begun = known.filter { $0.hasPrefix(word) }.min { $0.utf8.count < $1.utf8.count }
        if let begun { return begun }
        let near = known.map { (distance(word, $0), $0) }.min { $0.0 < $1.0 }
        guard let near, near.0 <= 2, 2 * near.0 < word.utf8.count - 2 else { return nil }
        return near.1
    }

    private static let commands = [
        "download": "get", "fetch": "get", "add-uri": "enqueue", "put": "upload", "send": "upload",
        "delete": "remove", "del": "remove", "start": "resume", "continue": "resume",
        "unpause": "resume", "stop": "pause", "abort": "cancel", "kill": "cancel", "info": "show",
        "ps": "list", "queue": "list", "log": "events", "logs": "events", "version": "--version",
        "top": "watch", "progress": "watch", "check": "doctor",
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
