import Foundation
import LonghaulTestSupport
import Testing

/// `doctor --repair` that is killed or fails, and files that cannot be used.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RepairTests {
    private static let enqueue = ["enqueue", "--earliest", "+10d", "http://127.0.0.1:1/a"]

    /// A store, half of which is in the log: the engine was killed.
    private func killed(copied: Bool = false) async throws -> LonghaulHome {
        let home = try LonghaulHome()
        #expect(try await home.start(Self.enqueue + ["-o", home.file("1")]).wait().status == 0)
        // An engine that has nothing to do ends at once, and makes a copy.
        if copied { #expect(try await home.run("run").status == 0) }
        let engine = try home.start("daemon")
        try await eventually("it runs") {
            try await home.run("status", "--json").rows.first?["engine"]["pid"].int != nil
        }
        for number in 2...4 {
            let more = Self.enqueue + ["-o", home.file("\(number)")]
            #expect(try await home.start(more).wait().status == 0)
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        #expect(try home.scratch.names(in: "state").contains("queue.sqlite-wal"))
        return home
    }

    /// The same, without its beginning, and with a copy of the first part.
    private func damaged() async throws -> LonghaulHome {
        let home = try await killed(copied: true)
        let store = try #require(FileHandle(forWritingAtPath: home.state + "/queue.sqlite"))
        try store.write(contentsOf: Data(repeating: 0, count: 16))
        try store.close()
        return home
    }

    // MARK: - Copies

    @Test func aWorkingEngineMakesACopy() async throws {
        let home = try LonghaulHome()
        #expect(try await home.start(Self.enqueue + ["-o", home.file("1")]).wait().status == 0)
        let engine = try home.start("daemon")
        try await eventually("it makes a copy") {
            try home.scratch.names(in: "state").contains("copy-1.sqlite")
        }
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
        #expect(try !home.scratch.names(in: "state").contains("copy.sqlite"))
    }

    @Test func anEmptiedStoreIsRestoredFromItsCopy() async throws {
        let home = try LonghaulHome()
        #expect(try await home.start(Self.enqueue + ["-o", home.file("1")]).wait().status == 0)
        #expect(try await home.run("run").status == 0)
        #expect(try await home.start(Self.enqueue + ["-o", home.file("2")]).wait().status == 0)
        truncate(home.state + "/queue.sqlite", 0)
        let status = try await home.run("status")
        #expect(status.status == 73 && status.errors.contains("doctor --repair"))
        let doctor = try await home.run("doctor", "--json")
        #expect(doctor.status == 73)
        #expect(try doctor.rows.first { $0["check"] == "store" }?["ok"] == false)
        let repair = try await home.run("doctor", "--repair", "--json")
        #expect(repair.status == 0, "\(repair.output)")
        let finding = try #require(try repair.rows.first { $0["check"] == "repair" })
        #expect(finding["ok"] == true)
        let detail = finding["detail"].string ?? ""
        for words in ["replaced by the copy of 20", "with 1 transfer", "later is lost"] {
            #expect(detail.contains(words), "\(detail)")
        }
        #expect(try await home.run("list", "--json").rows.map { $0["id"].int } == [1])
    }

    @Test func aTotalLossIsNoSuccess() async throws {
        let home = try LonghaulHome()
        #expect(try await home.start(Self.enqueue + ["-o", home.file("1")]).wait().status == 0)
        truncate(home.state + "/queue.sqlite", 0)
        let repair = try await home.run("doctor", "--repair", "--json")
        #expect(repair.status == 73, "\(repair.output)")
        let finding = try #require(try repair.rows.first { $0["check"] == "repair" })
        #expect(finding["ok"] == false)
        #expect(finding["detail"].string?.contains("nothing was recovered") == true)
        // The store that takes its place is a sound one.
        #expect(try await home.run("doctor").status == 0)
    }

    /// The copy knows it as waiting, and the file is there: it stays.
    @Test func whatWasFinishedSinceTheCopyIsNotReplaced() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("f.bin?size=100K")
            #expect(
                try await home.run("enqueue", url, "-o", home.file("f"), "--no-start").status == 0)
            #expect(try await home.run("pause", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            let bytes = try Data(contentsOf: URL(filePath: home.file("f")))
            #expect(bytes.count == 100 << 10)
            truncate(home.state + "/queue.sqlite", 0)
            #expect(try await home.run("doctor", "--repair").status == 0)
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            _ = try await home.run("run")
            let shown = try #require(try await home.run("list", "--all", "--json").rows.first)
            #expect(shown["state"] == "failed", "\(shown)")
            #expect(shown["error"]["code"] == "destinationExists", "\(shown)")
            #expect(try Data(contentsOf: URL(filePath: home.file("f"))) == bytes)
        }
    }

    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"),
        arguments: [
            ("rename", 1), ("rename", 2), ("rename", 3), ("rename", 4), ("rename", 5), ("fsync", 1),
        ])
    func anotherRepairEndsWhatAKillBrokeOff(_ call: String, _ number: Int) async throws {
        let home = try await damaged()
        let first = try await home.through(Strace.kill(before: call, number))
            .run("doctor", "--repair")
        #expect(first.status != 0)
        #expect(try await home.run("doctor", "--repair").status == 0)
        let ids = try await home.run("list", "--json").rows.compactMap { $0["id"].int }
        #expect(ids == [1])
        let names = try home.scratch.names(in: "state")
        #expect(names.contains("queue.sqlite.damaged-1-wal"), "\(names)")
        #expect(!names.contains("salvage") && !names.contains("queue.sqlite.damaged-2"), "\(names)")
        let next = try await home.start(Self.enqueue + ["--json", "-o", home.file("5")]).wait()
        #expect(try next.rows.first?["id"].int ?? 0 > 10_000_000, "\(next.output)")
    }

    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"), arguments: [1, 5])
    func whatFailsLeavesNothingBehind(_ number: Int) async throws {
        let home = try await damaged()
        let before = try home.scratch.names(in: "state")
        let failing = home.through(Strace.inject("rename", "error=ENOSPC:when=\(number)"))
        #expect(try await failing.run("doctor", "--repair").status == 73)
        #expect(try home.scratch.names(in: "state") == before)
        #expect(try await home.run("doctor", "--repair").status == 0)
        #expect(try await home.run("list", "--json").rows.count == 1)
    }

    /// Root may write everything.
    @Test(
        .enabled(
            if: geteuid() == 0 && InstalledProgram.find("setpriv") != nil, "skipped: not root"),
        arguments: ["queue.sqlite", "queue.sqlite-wal", "queue.sqlite-shm", "engine.lock"])
    func whatItsOwnerMayNotWriteIsCorrected(_ name: String) async throws {
        let home = try await killed()
        chmod(home.scratch.path, 0o755)
        for path in [home.state, home.scratch("files")] { chown(path, 65_534, 65_534) }
        for file in try home.scratch.names(in: "state") {
            lchown("\(home.state)/\(file)", 65_534, 65_534)
        }
        let path = "\(home.state)/\(name)"
        chmod(path, 0o400)
        let other = home.through([
            InstalledProgram.find("setpriv") ?? "", "--reuid=65534", "--clear-groups",
        ])
        if name != "engine.lock" {
            let refused = try await other.start(Self.enqueue + ["-o", home.file("6")]).wait()
            #expect(refused.status == 73)
            #expect(refused.errors.contains("\(path) cannot be"), "\(refused.errors)")
            #expect(refused.errors.contains("doctor --repair"), "\(refused.errors)")
        }
        let doctor = try await other.run("doctor", "--json")
        #expect(doctor.status == 73)
        let finding = try #require(try doctor.rows.first { $0["check"] == "store" })
        #expect(finding["detail"].string?.contains(path) == true, "\(finding)")
        let repair = try await other.run("doctor", "--repair")
        #expect(repair.status == 0, "\(repair.output)")
        let accepted = try await other.start(Self.enqueue + ["-o", home.file("6")]).wait()
        #expect(accepted.status == 0, "\(accepted.errors)")
    }
}
