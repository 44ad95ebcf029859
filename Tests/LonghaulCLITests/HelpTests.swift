import ArgumentParser
import Foundation
import LonghaulTestSupport
import Testing

@testable import LonghaulCLI

/// Each command and each option is on its page, and begins its line of help with a verb.
@Suite struct HelpTests {
    /// A command as `--help` has it.
    private struct Entry {
        /// Without `longhaul`: `["host", "add"]`.
        var path: [String]
        var abstract: String
        /// Each option by its names: `["-q", "--quiet"]`.
        var options: [[String]]
    }

    private static let entries: [Entry] = {
        guard let dump = try? JSONValue(LonghaulCommand._dumpHelp()) else { return [] }
        return entries(of: dump["command"], path: [])
    }()

    private static func entries(of command: JSONValue, path: [String]) -> [Entry] {
        let below = command["subcommands"].items.flatMap { sub -> [Entry] in
            let name = sub["commandName"].string ?? ""
            return name == "help" ? [] : entries(of: sub, path: path + [name])
        }
        let options = command["arguments"].items.filter { $0["shouldDisplay"] != .bool(false) }
            .map { option in
                option["names"].items.map { name in
                    (name["kind"] == "long" ? "--" : "-") + (name["name"].string ?? "")
                }
            }
        let own = Entry(
            path: path, abstract: command["abstract"].string ?? "",
            options: options.filter { !$0.isEmpty })
        return [own] + below
    }

    private static let page: [String: Set<String>] = {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = root.appending(path: "docs/commands.md")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [:] }
        var sections: [String: Set<String>] = [:]
        var heading = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" }.dropFirst())
            }
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init)
            sections[heading, default: []].formUnion(words)
        }
        return sections
    }()

    /// These take the options of a transfer, which have a table.
    private static let transfers: Set<String> = ["get", "enqueue", "upload", "bundle", "folder"]
    /// On every command, as the page says at its head.
    private static let everywhere: Set<String> = ["--help", "--version", "--json"]

    @Test func everyOptionIsOnThePage() throws {
        #expect(Self.entries.count > 50)
        for entry in Self.entries where !entry.path.isEmpty {
            let command = "longhaul " + entry.path.joined(separator: " ")
            var words = try #require(Self.page[entry.path[0]], "\(command) has no section")
            #expect(words.isSuperset(of: entry.path.dropFirst()), "\(command) is not on the page")
            if Self.transfers.contains(entry.path[0]) {
                words.formUnion(Self.page["Options of a transfer"] ?? [])
            }
            // All options of an upload, its section says.
            if entry.path[0] == "folder" { words.formUnion(Self.page["upload"] ?? []) }
            for names in entry.options where Self.everywhere.isDisjoint(with: names) {
                #expect(words.isSuperset(of: names), "\(command) \(names) is not on the page")
            }
        }
    }

    /// The list of contents leads to each command.
    @Test func everyCommandIsInTheContents() {
        let contents = Self.page["The commands"] ?? []
        for entry in Self.entries where entry.path.count == 1 {
            #expect(contents.contains(entry.path[0]), "\(entry.path[0])")
        }
    }

    @Test func helpBeginsWithAVerb() {
        let verbs: Set<Substring> = [
            "Acknowledge", "Add", "Cancel", "Change", "Check", "Copy", "Create", "Delete",
            "Download", "End", "Ensure", "Export", "Fetch", "Finish", "Forget", "Import", "Keep",
            "Launch", "Limit", "List", "Make", "Move", "Name", "Pause", "Print", "Process", "Queue",
            "Read", "Register", "Remove", "Resume", "Run", "Say", "Schedule", "Send", "Serve",
            "Set", "Show", "Stop", "Submit", "Subscribe", "Sum", "Try", "Unsubscribe", "Verify",
            "Wait", "Withdraw", "Write",
        ]
        for entry in Self.entries {
            let first = entry.abstract.prefix { $0.isLetter }
            #expect(verbs.contains(first), "\(entry.path): \(entry.abstract)")
            #expect(entry.abstract.hasSuffix("."), "\(entry.path): \(entry.abstract)")
        }
    }
}
