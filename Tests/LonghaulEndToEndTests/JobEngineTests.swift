import Foundation
import LonghaulTestSupport
import Testing

/// Engines and jobs that last: who waits for whom.
@Suite(.timeLimit(.minutes(60))) struct JobEngineTests {
    private static let untilGo = "while [ ! -e $D/go ]; do sleep 0.2; done"

    /// `run` leaves at the end of its box, or when it is asked to; the run of the job goes on.
    @Test(arguments: [nil, SIGTERM, SIGINT]) func aRunObeysItsBoxBesideALongJob(
        signal: Int32?
    ) async throws {
        let jobs = try JobHome()
        try await jobs.add("long", body: Self.untilGo)
        let box = signal == nil ? "2s" : "10m"
        let engine = try jobs.home.start("run", "--max-time", box)
        try await eventually("it runs") { jobs.lines("started").count == 1 }
        if let signal { engine.send(signal) }
        let end = try await engine.wait()
        #expect(end.status == (signal == SIGINT ? 130 : 0), "\(end.errors)")
        #expect(try await jobs.job("long")["runs"][0]["endedAt"] == .null)
        try jobs.home.scratch.write("", to: "go")
        try await jobs.run("run")
        let job = try await jobs.job("long")
        #expect(job["runs"].items.count == 1 && job["runs"][0]["result"] == "success")
    }

    /// What a user asks for now is not held up by jobs that do not end.
    @Test func endlessJobsHoldUpWhatMayWait() async throws {
        let jobs = try JobHome()
        for index in 1...16 { try await jobs.add("e\(index)", body: Self.untilGo) }
        let engine = try jobs.home.start("daemon")
        try await eventually("all run") { jobs.lines("started").count == 16 }
        try await jobs.add("one", body: ":")
        try await jobs.add("asked", body: "touch $D/asked")
        try await eventually("it says why") {
            try await jobs.job("one")["waitingFor"][0]["reason"] == "concurrency"
        }
        #expect(try await jobs.run("job", "why", "one").output.contains("concurrency"))
        try await jobs.run("job", "run", "asked")
        try await eventually("it was asked for") { jobs.home.scratch.exists("asked") }
        #expect(try await jobs.job("one")["runs"].items.isEmpty)
        try jobs.home.scratch.write("", to: "go")
        try await eventually("a place is free") {
            try await jobs.job("one")["state"] == "ended"
        }
        try await jobs.end(engine)
    }

    /// The variables of the login are those of the engine, else those of who made the job.
    @Test func aJobHasTheVariablesOfALogin() async throws {
        let names = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]
        let made = Dictionary(uniqueKeysWithValues: names.map { ($0, "/made") })
        let none = Dictionary(uniqueKeysWithValues: names.map { ($0, String?.none) })
        let jobs = JobHome(try LonghaulHome().with(made.mapValues { $0 }))
        try await jobs.add("j", body: "echo $XDG_RUNTIME_DIR $DBUS_SESSION_BUS_ADDRESS")
        try await jobs.add(
            "own", "--env", "XDG_RUNTIME_DIR=/own", body: "echo $XDG_RUNTIME_DIR")
        try await JobHome(jobs.home.with(none)).run("run")
        #expect(try await jobs.log("j") == ["/made /made"])
        try await jobs.run("job", "run", "j")
        try await jobs.run("job", "run", "own")
        let other = jobs.home.with(["XDG_RUNTIME_DIR": "/now"])
        try await JobHome(other).run("run")
        #expect(try await jobs.log("j") == ["/now /made"])
        #expect(try await jobs.log("own") == ["/own"])
    }

    /// As process 1, the engine is the parent of what others leave behind.
    @Test func theFirstProcessAwaitsOrphans() async throws {
        let jobs = try JobHome()
        // A session of its own outlives the job, and a shell that is gone does not await it.
        let leave = """
            setsid sh -c 'touch $D/apart; sleep 1; touch $D/left' &
            while [ ! -e $D/apart ]; do sleep 0.02; done
            """
        try await jobs.add("j", body: leave)
        try await jobs.add(
            "look", "--every", "1s",
            body: """
                [ -e $D/left ] || exit 0; sleep 0.2
                cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z 1 ' > $D/found; exit 0
                """)
        let first = jobs.home.through(
            ["/usr/bin/unshare", "-rpf", "--mount-proc", "--kill-child"])
        guard try await first.run("--version").status == 0 else { return }
        let engine = try first.start("daemon")
        try await eventually("nothing is left") { jobs.lines("found") == ["0"] }
        engine.send(SIGKILL)
        try await engine.wait()
    }
}
