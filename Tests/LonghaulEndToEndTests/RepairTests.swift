import Foundation
import LonghaulTestSupport
import Testing

/// `doctor --repair` that is killed or fails, and files that cannot be used.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RepairTests {
    private static let enqueue = ["enqueue", "--earliest", "+10d", "http://127.0.0.1:1/a"]

    /// A store, half of which is in the log: the engine was killed.
    private func killed() async throws -> LonghaulHome {
        let home = try LonghaulHome()
        #expect(try await home.start(Self.enqueue + ["-o", home.file("1")]).wait().status == 0)
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

    /// The same, without its beginning.
    private func damaged() async throws -> LonghaulHome {
        let home = try await killed()
        let store = try #require(FileHandle(forWritingAtPath: home.state + "/queue.sqlite"))
        try store.write(contentsOf: Data(repeating: 0, count: 16))
        try store.close()
        return home
    }

    @Test(
        .enabled(if: Strace.isInstalled, "skipped: no strace"),
        arguments: [
            ("link", 1), ("rename", 1), ("rename", 2), ("rename", 3), ("rename", 4), ("fsync", 1),
        ])
    func anotherRepairEndsWhatAKillBrokeOff(_ call: String, _ number: Int) async throws {
        let home = try await damaged()
        let first = try await home.through(Strace.kill(before: call, number))
            .run("doctor", "--repair")
        #expect(first.status != 0)
        #expect(try await home.run("doctor", "--repair").status == 0)
        let ids = try await home.run("list", "--json").rows.compactMap { $0["id"].int }
        #expect(Set(ids) == [1, 2, 3, 4])
        let names = try home.scratch.names(in: "state")
        #expect(names.contains("queue.sqlite.damaged-1-wal"), "\(names)")
        #expect(!names.contains("salvage") && !names.contains("queue.sqlite.damaged-2"), "\(names)")
        let next = try await home.start(Self.enqueue + ["--json", "-o", home.file("5")]).wait()
        #expect(try next.rows.first?["id"] == 5, "\(next.output)")
    }

    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"), arguments: ["link", "rename"])
    func whatFailsLeavesNothingBehind(_ call: String) async throws {
        let home = try await damaged()
        let before = try home.scratch.names(in: "state")
        let failing = home.through(Strace.inject(call, "error=ENOSPC:when=1"))
        #expect(try await failing.run("doctor", "--repair").status == 73)
        #expect(try home.scratch.names(in: "state") == before)
        #expect(try await home.run("doctor", "--repair").status == 0)
        #expect(try await home.run("list", "--json").rows.count == 4)
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
