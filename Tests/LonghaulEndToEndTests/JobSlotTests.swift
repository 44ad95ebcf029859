import Foundation
import LonghaulTestSupport
import Testing

/// Jobs of one slot take turns, whatever happens to the engine.
@Suite(.timeLimit(.minutes(60))) struct JobSlotTests {
    /// `$D/NAME.go` ends the job of that name.
    private func add(_ name: String, _ options: String..., to jobs: JobHome) async throws {
        try await jobs.run(
            ["job", "add", name, "--no-start", "--env", "D=\(jobs.home.scratch.path)"] + options + [
                "--", "sh", "-c",
                "echo \(name) >> \"$D/order\"; while [ ! -e $D/\(name).go ]; do sleep 0.02; done",
            ])
    }

    private func reasons(_ jobs: JobHome, _ name: String) async throws -> [String] {
        try await jobs.job(name)["waitingFor"].items.compactMap { $0["reason"].string }
    }

    /// The engine is killed while the first runs; the next engine starts no second one.
    @Test func aKilledEngineLeavesThePlaceTaken() async throws {
        let jobs = try JobHome()
        try await add("a", "--slot", "disk", to: jobs)
        let first = try jobs.home.start("daemon")
        try await eventually("it runs") { jobs.lines("order") == ["a"] }
        try await eventually("the engine has it") { try await jobs.job("a")["state"] == "running" }
        try await jobs.end(first, by: SIGKILL)
        try await add("b", "--slot", "disk", to: jobs)
        try await add("free", to: jobs)
        let second = try jobs.home.start("daemon")
        // It was due after the other one.
        try await eventually("another job runs") { jobs.lines("order") == ["a", "free"] }
        try await eventually("it waits") { try await reasons(jobs, "b") == ["slot"] }
        let wait = try await jobs.job("b")["waitingFor"][0]
        #expect(wait["required"] == "disk" && wait["current"] == "a has the place")
        let why = try await jobs.run("job", "why", "b").output
        #expect(why.contains("slot disk"), "\(why)")
        // A run that is asked for waits, too.
        try await jobs.run("job", "run", "b")
        try await eventually("it waits still") { try await reasons(jobs, "b") == ["slot"] }
        #expect(jobs.lines("order") == ["a", "free"])
        try jobs.home.scratch.write("", to: "a.go")
        try await eventually("it has its turn") { jobs.lines("order") == ["a", "free", "b"] }
        for name in ["b", "free"] {
            try jobs.home.scratch.write("", to: name + ".go")
            try await eventually("it has ended") {
                try await jobs.job(name)["state"] == "ended"
            }
        }
        #expect(try await jobs.job("b")["runs"].items.count == 1)
        try await jobs.end(second)
    }

    @Test func aSlotOfTwoHasTwo() async throws {
        let jobs = try JobHome()
        for name in ["a", "b", "c"] { try await add(name, "--slot", "build=2", to: jobs) }
        let engine = try jobs.home.start("daemon")
        try await eventually("two run") { Set(jobs.lines("order")) == ["a", "b"] }
        try await eventually("one waits") { try await reasons(jobs, "c") == ["slot"] }
        try jobs.home.scratch.write("", to: "b.go")
        try await eventually("it has its turn") { jobs.lines("order").last == "c" }
        for name in ["a", "c"] { try jobs.home.scratch.write("", to: name + ".go") }
        try await jobs.end(engine)
        #expect(try await jobs.job("a")["slot"] == "build=2")
    }

    @Test func aBadSlotIsRefused() async throws {
        let jobs = try JobHome()
        for slot in ["", "a=0", "a b"] {
            let result = try await jobs.run(
                "job", "once", "--no-start", "--slot", slot, "--", "true", status: 64)
            #expect(result.errors.contains("--slot"), "\(result.errors)")
        }
    }
}
