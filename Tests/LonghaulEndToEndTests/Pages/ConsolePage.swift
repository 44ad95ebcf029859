import Foundation
import LonghaulTestSupport
import Synchronization
import Testing

struct NotOnThePage: Error, CustomStringConvertible {
    var description: String
}

/// A document with what commands print, in blocks of ```` ```console ````: lines that begin with
/// `$ ` are typed, the others are the answer.
///
/// With `LONGHAUL_WRITE_PAGES=1` the answers that tests get are written into the document.
struct ConsolePage {
    let path: String

    private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let writing = Mutex(())
    private static let isWriting =
        ProcessInfo.processInfo.environment["LONGHAUL_WRITE_PAGES"] != nil

    private var file: URL { ConsolePage.root.appending(path: path) }

    private func lines() throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }

    /// All the headings of a level.
    func headings(_ level: String) throws -> [String] {
        try lines().filter { $0.hasPrefix(level + " ") }.map {
            String($0.dropFirst(level.count + 1))
        }
    }

    /// All typed commands in order, each with its heading.
    func commands() throws -> [(heading: String, command: String)] {
        var heading = ""
        var found: [(heading: String, command: String)] = []
        for line in try lines() {
            if line.hasPrefix("#") { heading = String(line.drop { $0 == "#" }.dropFirst()) }
            if line.hasPrefix("$ ") { found.append((heading, String(line.dropFirst(2)))) }
        }
        return found
    }

    /// The blocks of ```` ```sh ```` in the section under a heading.
    func scripts(under heading: String) throws -> [String] {
        let section = try lines().drop { $0.drop { $0 == "#" } != " \(heading)" }.dropFirst()
            .prefix { !$0.hasPrefix("#") }
        return section.joined(separator: "\n").components(separatedBy: "```sh\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
    }

    /// What the page shows as printed by a command in the section under a heading.
    func answer(to command: String, under heading: String) throws -> String? {
        let lines = try lines()
        return try range(of: command, under: heading, lines).map {
            lines[$0].map { $0 + "\n" }.joined()
        }
    }

    /// Every answer on the page to commands that begin so.
    func answers(to prefix: String) throws -> [String] {
        let lines = try lines()
        return lines.indices.filter { lines[$0].hasPrefix("$ \(prefix)") }.map { index in
            lines[(index + 1)...].prefix { !$0.hasPrefix("$ ") && $0 != "```" }
                .joined(separator: "\n")
        }
    }

    private func range(
        of command: String, under heading: String, _ lines: [String]
    ) throws -> Range<Int>? {
        guard let start = lines.firstIndex(where: { $0.drop { $0 == "#" } == " \(heading)" })
        else { return nil }
        let rest = lines[(start + 1)...]
        let end = rest.firstIndex { $0.hasPrefix("#") } ?? lines.endIndex
        guard let typed = rest[..<end].firstIndex(of: "$ \(command)") else { return nil }
        let last = lines[(typed + 1)...].firstIndex { $0.hasPrefix("$ ") || $0 == "```" }
        return typed + 1..<(last ?? end)
    }

    /// Compares what a command printed with what the page says of it, times and other chances
    /// aside.
    func check(
        _ printed: String, of command: String, under heading: String,
        location: SourceLocation = #_sourceLocation
    ) throws {
        if ConsolePage.isWriting { return try write(printed, of: command, under: heading) }
        let shown = try answer(to: command, under: heading)
        #expect(
            ConsolePage.plain(printed) == ConsolePage.plain(shown ?? ""),
            "\(path), \(heading): `\(command)` prints\n\(printed)", sourceLocation: location)
    }

    private func write(_ printed: String, of command: String, under heading: String) throws {
        try ConsolePage.writing.withLock { _ in
            var lines = try lines()
            guard let range = try range(of: command, under: heading, lines) else {
                throw NotOnThePage(description: "\(path) has no \(command) under \(heading)")
            }
            var new = printed.components(separatedBy: "\n")
            if new.last == "" { new.removeLast() }
            lines.replaceSubrange(range, with: new)
            try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        }
    }

    /// With moments, durations, processes, ports and places of this run taken out.
    static func plain(_ text: String) -> String {
        var text = text
        for (pattern, word) in [
            (#"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"#, "MOMENT"),
            (#"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?"#, "TIME"), (#"\b\d\d:\d\d\b"#, "TIME"),
            (#"\d+d\d+h|\d+h\d+m|\d+m\d+s|\b\d+s\b"#, "WHILE"), (#"\d+ ms"#, "WHILE"),
            // What is near enough is "now", before and after.
            (#"\bnow\b"#, "in WHILE"), ("WHILE ago", "in WHILE"),
            (#", [\d.]+ (?:[KMG]i)?B/s"#, ""), (#"[\d.]+ (?:[KMG]i)?B/s"#, "RATE"),
            (#"\b\d\d?%"#, "PART"), (#"[\d.]+(?=/[\d.]+ MiB kept)"#, "N"),
            (#""(?:cpuS|s)econds":[0-9.]+"#, "SECONDS"),
            (#"libcurl: .*"#, "LIBRARY"),
            (#"[0-9]+ open files"#, "N open files"),
            (#"port \d+|127\.0\.0\.1:\d+"#, "PORT"),
            (#""bytesKept":\d+"#, "KEPT"), (#"pid"?:? ?\d+"#, "PID"),
            (#"/(?:tmp/[A-Za-z0-9./_-]+|mnt)/"#, "/DIR/"),
            (#"\d+ s of its time|\d+ s left"#, "SECONDS"), (#" +"#, " "),
        ] {
            text = text.replacing((try? Regex(pattern)) ?? /$^/, with: word)
        }
        return text
    }
}
