import Foundation
import LonghaulTestSupport
import Testing

/// What `list --json` prints is input for `enqueue`: a queue is carried to another machine with it.
struct ListedInputTests {
    /// What belongs to the one transfer, not to what was asked for.
    private static let own: Set<String> = [
        "id", "createdAt", "waitingFor", "preferencesCheckedAt",
    ]

    private func listed(_ home: LonghaulHome) async throws -> [[String: JSONValue]] {
        try await home.run("list", "--json").rows.map { row in
            Dictionary(
                uniqueKeysWithValues: row.keys.subtracting(Self.own).map { ($0, row[$0]) })
        }
    }

    @Test func aListIsEnqueuedAgain() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        try Data("hello".utf8).write(to: URL(filePath: home.file("source")))
        for words in [
            ["enqueue", "http://h/a", "-o", home.file("a")],
            [
                "enqueue", "http://h/b?x=1", "-o", home.file("b"), "--session", "s", "--priority",
                "high", "--deadline", "2099-01-01T00:00:00Z", "--earliest", "2098-01-01T00:00:00Z",
                "--require", "power,battery=40", "--prefer", "idle", "--window", "01:00-06:00",
                "--checksum", "md5:d41d8cd98f00b204e9800998ecf8427e", "--meta", #"{"a":[1,"é"]}"#,
                "--mirror", "http://m/b", "--limit-rate", "10K", "--retries", "3", "--if-exists",
                "rename", "--connections", "2", "--stall-timeout", "90s", "--expect", "7",
                "--max-size", "1M", "--netrc", "--insecure", "--yield", "off", "--waive-after",
                "1h",
            ],
            ["enqueue", "http://h/c", "-o", home.file("c"), "--discretionary"],
            [
                "upload", "source", "http://h/d", "--protocol", "tus", "--repeatable",
                "--content-type", "text/plain", "--if-changed", "restart",
            ],
            ["upload", "source", "http://h/e", "--form", "file"],
        ] {
            let result = try await home.start(words).wait()
            #expect(result.status == 0, "\(words): \(result.errors)")
        }
        // The newest stands first.
        let lines = try await home.run("list", "--json").output.split(separator: "\n").reversed()
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: other.file("list")))
        let result = try await other.run("enqueue", "--input", "list")
        #expect(result.status == 0, "\(result.errors)")
        let (before, after) = (try await listed(home), try await listed(other))
        #expect(before.count == 5)
        for (before, after) in zip(before, after) { #expect(before == after) }
    }

    /// What has ended is not carried along, unless that is asked for.
    @Test func whatHasEndedIsPassedOver() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        for name in ["a", "b"] {
            _ = try await home.run(
                "enqueue", "http://h/\(name)", "-o", "/tmp/\(name)", "--header", "X: y")
        }
        _ = try await home.run("enqueue", "http://h/c", "-o", "/tmp/c")
        _ = try await home.run("cancel", "1", "2")
        let list = try await home.run("list", "--all", "--json").output
        let passed = try await other.run("enqueue", "--input", "-", input: list)
        #expect(passed.status == 0 && passed.output == "1\n", "\(passed)")
        #expect(
            passed.errors == """
                longhaul: passed over 2 transfers of the list that had ended; --again records \
                them, too

                """)
        #expect(try await other.run("list", "--json").rows.map { $0["url"] } == ["http://h/c"])
        // The header fields are hidden.
        let again = try await other.run("enqueue", "--again", "--input", "-", input: list)
        #expect(again.status == 64 && again.errors.contains("headers"), "\(again)")
    }

    @Test func aHiddenSecretIsNamed() async throws {
        let home = try LonghaulHome()
        _ = try await home.run("enqueue", "http://h/a", "--header", "Authorization: Bearer x")
        let list = try await home.run("list", "--json").output
        let result = try await home.run("enqueue", "--input", "-", input: list)
        #expect(result.status == 64)
        #expect(
            result.errors.contains("line 1: headers: a secret in it is hidden"), "\(result.errors)")
    }
}
