import Foundation
import LonghaulTestSupport
import Testing

/// `export` and `import` move a queue: transfers, sessions, hosts and jobs.
@Suite(.timeLimit(.minutes(60))) struct ExportTests {
    /// What belongs to one record, not to what was asked for.
    private static let own: Set<String> = [
        "id", "createdAt", "waitingFor", "preferencesCheckedAt", "forecast", "runs",
    ]

    private func rows(
        _ home: LonghaulHome, _ command: String...
    ) async throws -> [[String: JSONValue]] {
        try await home.start(command + ["--json"]).wait().rows.map { row in
            Dictionary(
                uniqueKeysWithValues: row.keys.subtracting(Self.own).map { ($0, row[$0]) })
        }
    }

    @discardableResult
    private func run(_ home: LonghaulHome, _ command: String...) async throws -> String {
        let result = try await home.start(command).wait()
        #expect(result.status == 0, "\(command): \(result.errors)")
        return result.output
    }

    /// Their transfers would be made twice where they are added again.
    @Test func bundlesAndFoldersAreNamed() async throws {
        let home = try LonghaulHome()
        _ = try home.scratch.directory("files/in")
        try home.scratch.write("a", to: "files/in/a")
        try home.scratch.write(#"{"path":"b","url":"http://127.0.0.1:9/b"}"#, to: "list")
        try await run(home, "enqueue", "http://127.0.0.1:9/c", "-o", home.file("c"))
        try await run(
            home, "folder", "add", "scans", home.file("in"), "http://127.0.0.1:9/in/", "--settle",
            "0s")
        try await run(
            home, "bundle", "add", "set", "list:" + home.scratch("list"), "--to", home.file("out"))
        let engine = try home.start("daemon")
        try await eventually("the folder and the bundle have transfers") {
            try await rows(home, "list", "--all").count >= 3
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        let exported = try await home.run("export")
        #expect(exported.status == 0)
        let urls = try exported.rows.compactMap { $0["url"].string }
        #expect(urls == ["http://127.0.0.1:9/c"])
        #expect(
            exported.errors == """
                longhaul: bundle set: left out; `bundle add` adds it on the other machine
                longhaul: folder scans: left out; `folder add` adds it on the other machine

                """)
    }

    @Test func aQueueIsMoved() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        // The store of the other machine counts from another number.
        try await run(other, "enqueue", "http://h/first", "-o", home.file("first"))
        try await run(
            home, "host", "add", "album", "--permit", "sync", "--max-memory", "1G", "--",
            "/bin/true", "-x")
        try await run(home, "session", "set", "photos", "--host", "album", "--launch-delay", "1m")
        try await run(home, "enqueue", "http://h/a", "-o", home.file("a"), "--session", "photos")
        try await run(
            home, "enqueue", "http://h/b", "-o", home.file("b"), "--after", "1", "--window",
            "01:00-06:00", "--retries", "3", "--meta", #"{"a":[1]}"#)
        try await run(home, "enqueue", "http://h/gone", "-o", home.file("gone"))
        try await run(home, "cancel", "3")
        try await run(home, "pause", "1")
        try await run(
            home, "job", "add", "backup", "--at", "02:30,14:00", "--days", "Mon-Fri", "--require",
            "power,battery=40", "--env", "REPO=/srv/a b", "--env", "REPO_TOKEN=x", "--max-time",
            "2h", "--grace", "5s", "--nice", "5", "--directory", "/tmp", "--", "ls", "-l")
        try await run(
            home, "job", "once", "--name", "unpack", "--after", "2", "--slot", "disk=2",
            "--max-memory", "64M", "--", "ls")
        try await run(
            home, "job", "add", "monthly", "--calendar", "Mon *-*-01..07 03:00", "--",
            "ls")
        let exported = try await home.run("export")
        #expect(exported.status == 0)
        #expect(exported.errors == "longhaul: job backup: left out: REPO_TOKEN\n")
        #expect(!exported.output.contains("REPO_TOKEN=x"))
        let imported = try await other.run("import", "-", input: exported.output)
        #expect(imported.status == 0, "\(imported)")
        let lines = imported.output.split(separator: "\n")
        #expect(
            lines == [
                "host album", "session photos", "transfer 2 (was 1)", "transfer 3 (was 2)",
                "job backup", "job monthly", "job unpack",
            ])
        var moved = try await rows(other, "list")
        moved.removeLast()
        var before = try await rows(home, "list", "--state", "waiting")
        before += try await rows(home, "list", "--state", "paused")
        #expect(moved[0]["options"]?["after"] == [2] && moved[1]["state"] == "paused")
        #expect(moved[1] == before[1])
        moved[0]["options"] = nil
        before[0]["options"] = nil
        #expect(moved[0] == before[0])
        for name in ["backup", "monthly", "unpack"] {
            var (old, new) = (
                try await rows(home, "job", "show", name)[0],
                try await rows(other, "job", "show", name)[0]
            )
            // Without its secret it does not run.
            #expect(new["state"] == (name == "backup" ? "paused" : "waiting"))
            for key in ["state", "after"] { (old[key], new[key]) = (nil, nil) }
            #expect(old == new)
        }
        #expect(try await rows(other, "job", "show", "unpack")[0]["after"] == [3])
        let hosts = (
            try await rows(home, "host", "show", "album"),
            try await rows(other, "host", "show", "album")
        )
        #expect(hosts.0 == hosts.1)
        let session = try await rows(other, "session", "show", "photos")[0]
        #expect(session["host"] == "album" && session["launchDelay"] == 60)
        // The same again is the same.
        let again = try await other.run("import", "-", input: exported.output)
        #expect(again.status == 0 && again.output.split(separator: "\n") == lines, "\(again)")
        #expect(try await other.run("list", "--all", "--json").rows.count == 3)
    }

    @Test func secretsAreLeftOutAndNamed() async throws {
        let (home, other) = (try LonghaulHome(), try LonghaulHome())
        try await run(home, "enqueue", "http://h/a", "--header", "Authorization: Bearer x1")
        try await run(home, "enqueue", "http://h/b", "--user", "me:x2")
        try await run(home, "enqueue", "http://h/c?token=x3")
        let exported = try await home.run("export")
        #expect(!["x1", "x2", "x3"].contains { exported.output.contains($0) })
        for (id, field) in ["headers", "user", "url"].enumerated() {
            #expect(exported.errors.contains("transfer \(id + 1): left out: \(field)\n"))
        }
        let imported = try await other.run("import", "-", input: exported.output)
        #expect(imported.status == 5, "\(imported)")
        #expect(imported.errors.contains("1: paused, without headers: `longhaul set 1`"))
        #expect(imported.errors.contains("line 3: transfer 3: its URL has a secret"))
        let states = try await other.run("list", "--json").rows.map { $0["state"] }
        #expect(states == ["paused", "paused"])
    }

    @Test func aLineThatIsNoneRecordsNothing() async throws {
        let home = try LonghaulHome()
        let good = #"{"type":"transfer","id":1,"url":"http://h/a","destination":"/tmp/a"}"#
        let bad = try await home.run("import", "-", input: good + "\n{\"url\":\"http://h/b\"}\n")
        #expect(bad.status == 64 && bad.errors.contains("line 2: "), "\(bad)")
        #expect(try await home.run("list", "--json").rows.isEmpty)
    }

    /// Numbers that no export has, and that no integer or time holds.
    @Test(arguments: [
        "\"maxMemory\":1e300", "\"maxMemory\":-1", "\"maxMemory\":\"x\"", "\"eventBudget\":1e300",
        "\"taskBudget\":1e999", "\"taskBudget\":-1",
    ])
    func aNumberOfAHostThatIsTooLargeIsRefused(field: String) async throws {
        let home = try LonghaulHome()
        let line = "{\"type\":\"host\",\"name\":\"h\",\"argv\":[\"/bin/true\"],\(field)}\n"
        let imported = try await home.run("import", "-", input: line)
        #expect(imported.status == 64 || imported.status == 5, "\(imported)")
        #expect(imported.errors.contains("line 1: "), "\(imported)")
        #expect(try await home.run("host", "list", "--json").rows.isEmpty)
    }
}
