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
            ("-O", ["get", "-O", "http://h/f"], "-o FILE"),
            ("-O", ["get", "-O", "a.iso", "http://h/f"], "-o a.iso"),
            ("-P", ["get", "http://h/f", "-P", "/tmp"], "-d /tmp"),
            ("-k", ["get", "-k", "http://h/f"], "--insecure"),
            ("--tries", ["get", "--tries", "3", "u"], "--retries 3"),
            ("--frobnicate", ["get", "--frobnicate"], nil),
        ] as [(String, [String], String?)])
    func anOption(unknown: String, words: [String], meant: String?) {
        #expect(Suggestions.option(unknown, in: words) == meant)
    }

    /// A word of another program that is a command here, too, would hide it.
    @Test func eachCommandIsMeantByItsName() {
        let names = LonghaulCommand.configuration.subcommands.compactMap {
            $0.configuration.commandName
        }
        for name in names { #expect(Suggestions.command(name, among: names) == name) }
    }

    /// Each meaning is an option that there is.
    @Test(arguments: ["-x", "-O", "-P", "-k", "-u", "-t", "-T", "-A", "-e", "-J", "-i"])
    func whatIsMeantIsThere(unknown: String) throws {
        let meaning = Suggestions.option(unknown, in: []) ?? "-i FILE"
        let option = meaning.split(separator: " ")[0]
        let help = LonghaulCommand.helpMessage(for: Get.self, columns: 200)
        #expect(help.contains(option), "\(option)")
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
