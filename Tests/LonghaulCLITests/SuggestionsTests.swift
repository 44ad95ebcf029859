import ArgumentParser
import Longhaul
import Testing

@testable import LonghaulCLI

/// What a newcomer types.
@Suite struct SuggestionsTests {
    private static let commands = ["get", "enqueue", "list", "remove", "resume", "watch", "status"]

    @Test(
        arguments: [
            ("gte", "get"), ("lst", "list"), ("statsu", "status"), ("download", "get"),
            ("downlaod", "get"), ("delete", "remove"), ("info", "show"), ("LIST", "list"),
            ("frobnicate", nil), ("x", nil),
        ] as [(String, String?)])
    func aCommand(typed: String, meant: String?) {
        #expect(Suggestions.command(typed, among: Self.commands) == meant)
    }

    @Test(
        arguments: [
            ("-x4", ["get", "-x4", "http://h/f"], "--connections 4"),
            ("-x", ["get", "-x", "16", "http://h/f"], "--connections 16"),
            ("--split", ["get", "--split=8", "http://h/f"], "--connections 8"),
            ("-O", ["get", "-O", "http://h/f"], "nothing: the URL names the file"),
            ("-O", ["get", "-O", "a.iso", "http://h/f"], "-o a.iso"),
            ("-P", ["get", "http://h/f", "-P", "/tmp"], "-d /tmp"),
            ("-k", ["get", "-k", "http://h/f"], "--insecure"),
            ("--tries", ["get", "--tries", "3", "u"], "--retries 3"),
            ("--frobnicate", ["get", "--frobnicate"], nil),
            ("--bwlimit", ["get", "--bwlimit", "2M", "u"], "--limit-rate 2M"),
            ("-C", ["get", "-C", "-", "u"], "nothing: a transfer resumes where it was"),
            ("--load-cookies", ["get", "--load-cookies=c.txt", "u"], "--cookies c.txt"),
            (
                "--max-concurrent-downloads", ["get", "--max-concurrent-downloads", "4", "u"],
                "--parallel 4"
            ),
            ("-n", ["get", "-nc", "u"], "--if-exists skip"),
            ("-x", ["get", "-x", "http://proxy:3128", "http://h/f"], "--proxy http://proxy:3128"),
            ("-s", ["get", "-s", "http://h/f"], "-q"),
            ("--out", ["get", "--out", "a", "http://h/f"], "-o a"),
            ("--outputt", ["get"], "--output"), ("--prio", ["get"], "--priority"),
            ("--retrys", ["get"], "--retries"), ("--conections", ["get"], "--connections"),
            ("--host", ["get"], "--host"), ("--xyz", ["get"], nil),
        ] as [(String, [String], String?)])
    func anOption(unknown: String, words: [String], meant: String?) {
        let known = ["--output", "--host", "--proxy", "--priority", "--retries", "--connections"]
        #expect(Suggestions.option(unknown, in: words, among: known) == meant)
    }

    /// A word of another program that is a command here, too, would hide it.
    @Test func eachCommandIsMeantByItsName() {
        let names = LonghaulCommand.configuration.subcommands.compactMap {
            $0.configuration.commandName
        }
        for name in names { #expect(Suggestions.command(name, among: names) == name) }
    }

    /// Each counterpart is an option of `get`, or a command.
    @Test func whatIsMeantIsThere() throws {
        let help = LonghaulCommand.helpMessage(for: Get.self, columns: 200)
        let commands = LonghaulCommand.configuration.subcommands.map { $0._commandName }
        for meaning in ForeignOptions.table.values.joined() where !meaning.hasPrefix("nothing: ") {
            let words = meaning.split(whereSeparator: { " `".contains($0) }).map(String.init)
            if words[0] == "longhaul" {
                #expect(commands.contains(words[1]), "\(meaning)")
            } else {
                #expect(help.contains(words[0]), "\(meaning)")
            }
        }
    }

    @Test(arguments: [
        (["http://h/f"], ["get", "http://h/f"]),
        (["-d", "/tmp", "ftp://h/f"], ["get", "-d", "/tmp", "ftp://h/f"]),
        (["get", "http://h/f"], ["get", "http://h/f"]), (["--help"], ["--help"]),
        (["enqueue", "http://h/f"], ["enqueue", "http://h/f"]), ([], []),
        (["-h", "http://h/f"], ["-h", "http://h/f"]),
    ])
    func aURLAloneIsGot(typed: [String], run: [String]) {
        #expect(LonghaulCommand.withCommand(typed) == run)
    }

    /// A wrapped example cannot be copied.
    @Test func examplesAreNotWrapped() {
        var commands: [any ParsableCommand.Type] = [LonghaulCommand.self]
        while let command = commands.popLast() {
            commands += command.configuration.subcommands
            let help = LonghaulCommand.helpMessage(for: command, columns: Limits.helpColumns)
            for line in command.configuration.discussion.split(separator: "\n")
            where line.hasPrefix("  ") {
                #expect(help.contains(line), "\(command): \(line)")
            }
        }
    }

    @Test(arguments: [
        (LonghaulError(.notFound, "x", httpStatus: 404), "not found (404)"),
        (LonghaulError(.checksumMismatch, "x"), "checksum mismatch"),
        (LonghaulError(.dns, "x"), "host not found"), (LonghaulError(.io, "x"), "disk failure"),
        (LonghaulError(.timedOut, "x"), "timed out"),
    ]) func aListHasWords(error: LonghaulError, words: String) {
        #expect(TransferText.words(error) == words)
    }
}
