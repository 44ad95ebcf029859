internal import LonghaulModel

/// The bytes of a line that cron runs (MAX_COMMAND of Vixie's cron).
private let cronCommandBytes = 998

/// The lines in a user's crontab that are ours, between two marks that name the queue.
package struct CronBlock: Hashable, Sendable {
    package enum Problem: Error, Hashable {
        /// cron cuts the line, or takes it for two.
        case lineTooLong, lineBreak
        /// The mark at the beginning is there, the one at the end is not.
        case endIsMissing
    }

    /// The queue that it serves: its state directory.
    package let queue: String
    /// Marks and all, with a line break at the end.
    package let text: String

    /// - Parameters:
    ///   - environment: variables for the command, in order.
    ///   - arguments: the program by its absolute path, and its arguments.
    package init(
        queue: String, schedule: CronSchedule, environment: [EnvironmentEntry],
        arguments: [String]
    ) throws(Problem) {
        var words = environment.map { "\($0.name)=\(ShellText.quoted($0.value))" }
        words += arguments.map(ShellText.quoted)
        // The sentence at the end would be a mail each time; errors still are one.
        words.append(">/dev/null")
        // crontab(5): an unescaped percent sign is a line break, even between quotes.
        let command = words.joined(separator: " ").replacing(UInt8(ascii: "%"), with: "\\%")
        if ([queue, command].contains { $0.utf8.contains(UInt8(ascii: "\n")) }) {
            throw .lineBreak
        }
        if command.utf8.count > cronCommandBytes { throw .lineTooLong }
        self.queue = queue
        text = """
            \(CronBlock.begin(queue))
            \(schedule.text) \(command)
            \(CronBlock.end(queue))

            """
    }

    private static func begin(_ queue: String) -> String {
        "# BEGIN longhaul \(queue) (written by `longhaul install`; `longhaul uninstall` removes it)"
    }

    private static func end(_ queue: String) -> String { "# END longhaul \(queue)" }

    /// A crontab with this block in place of the queue's last one, else at its end. All other lines
    /// stay byte for byte.
    package func installed(in table: [UInt8]) throws(Problem) -> [UInt8] {
        if let range = try CronBlock.find(queue, in: table) {
            return Array(table[..<range.lowerBound]) + text.utf8 + table[range.upperBound...]
        }
        var table = table
        // crontab(1) refuses a last line without its end; one may be there all the same.
        if let last = table.last, last != UInt8(ascii: "\n") { table.append(UInt8(ascii: "\n")) }
        return table + text.utf8
    }

    /// A crontab without the queue's block; `nil` = there was no block.
    package static func removed(
        of queue: String, from table: [UInt8]
    ) throws(Problem) -> [UInt8]? {
        guard let range = try find(queue, in: table) else { return nil }
        return Array(table[..<range.lowerBound] + table[range.upperBound...])
    }

    /// Both marks and the lines between them, line ends included.
    private static func find(
        _ queue: String, in table: [UInt8]
    ) throws(Problem) -> Range<Int>? {
        let begin = Array(begin(queue).utf8)
        let end = Array(end(queue).utf8)
        var start: Int?
        var offset = 0
        while offset < table.count {
            let stop = table[offset...].firstIndex(of: UInt8(ascii: "\n")) ?? table.count
            let line = table[offset..<stop]
            let next = min(stop + 1, table.count)
            if line.elementsEqual(begin) {
                start = start ?? offset
            } else if let start, line.elementsEqual(end) {
                return start..<next
            }
            offset = next
        }
        if start != nil { throw .endIsMissing }
        return nil
    }
}

package struct EnvironmentEntry: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Text for a POSIX shell.
package enum ShellText {
    /// Quotes a text as one word that means itself.
    package static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            $0.isASCIIDigit || $0.isASCIILetter || plainMarks.contains($0)
        }
        if isPlain, !text.isEmpty { return text }
        return "'" + text.replacing(UInt8(ascii: "'"), with: #"'\''"#) + "'"
    }

    private static let plainMarks = Set("_-./:,+@=".utf8)
}
