import Foundation
import LonghaulTestSupport
import Testing

/// When jobs begin: by the zone of who made them, and not while a condition comes and goes.
@Suite(.timeLimit(.minutes(60))) struct JobScheduleTests {
    private func zone(_ zone: String?) throws -> JobHome {
        JobHome(try LonghaulHome().with(["TZ": zone]))
    }

    /// 08:00 of the caller, whatever the zone of the engine; half hours and rules, too.
    @Test(arguments: [
        ("America/New_York", ["12:00", "13:00"]), ("Asia/Kolkata", ["02:30"]),
        (":/usr/share/zoneinfo/Asia/Kolkata", ["02:30"]), ("<+0545>-5:45", ["02:15"]),
        ("EST5EDT,M3.2.0,M11.1.0", ["12:00", "13:00"]), ("", ["08:00"]),
    ])
    func timesAreThoseOfTheCaller(words: String, times: [String]) async throws {
        let jobs = try zone(words)
        try await jobs.add("j", "--no-start", "--at", "08:00", "--window", "08:00-09:00", body: ":")
        let engine = JobHome(jobs.home.with(["TZ": "Asia/Tokyo"]))
        try await engine.run("run")
        let job = try await engine.job("j")
        #expect(job["timeZone"] == .string(words) && job["runs"].items.isEmpty)
        let wait = try #require(
            job["waitingFor"].items.first { $0["reason"] == "earliestBegin" })
        let begins = try #require(wait["required"].string)
        #expect(times.contains { begins.contains("T\($0):") }, "\(begins)")
        try await jobs.run(
            "enqueue", "http://127.0.0.1:9/f", "--no-start", "--window", "08:00-09:00")
        let transfer = try #require(try await engine.run("list", "--json").rows.first)
        #expect(transfer["timeZone"] == .string(words))
        // A printed transfer is a request with the same windows.
        let printed = try await engine.run("show", "1", "--json").output
        let again = try await engine.home.run("enqueue", "-i", "-", "--no-start", input: printed)
        #expect(again.status == 0, "\(again.errors)")
    }

    @Test func anUnknownZoneIsRefused() async throws {
        let jobs = try zone("Mars/Phobos")
        let words = ["--at", "08:00", "--no-start", "--", "true"]
        #expect(try await jobs.home.start(["job", "add", "j"] + words).wait().status == 64)
        let windows = ["--window", "08:00-09:00", "--no-start"]
        let transfer = ["enqueue", "http://127.0.0.1:9/f"] + windows
        #expect(try await jobs.home.start(transfer).wait().status == 64)
        // Who says no time of day needs none.
        try await jobs.run("job", "add", "j", "--every", "1d", "--no-start", "--", "true")
    }

    /// The moment is worked out from the words, under a running engine, too.
    @Test func aZoneThatChangesMovesTheRun() async throws {
        let home = try LonghaulHome()
        let file = home.scratch("zone")
        try FileManager.default.copyItem(atPath: "/usr/share/zoneinfo/Etc/UTC", toPath: file)
        let jobs = JobHome(home.with(["TZ": file]))
        try await jobs.add("j", "--at", "08:00", body: ":")
        let engine = try jobs.home.start("daemon")
        try await eventually("it is known") {
            try await jobs.job("j")["forecast"]["startsAt"].string?.contains("T08:00:") == true
        }
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.copyItem(atPath: "/usr/share/zoneinfo/Asia/Kolkata", toPath: file)
        try await eventually("it has moved") {
            // Whatever makes the engine look.
            try await jobs.run("conditions", "--set", "idle=yes")
            try await jobs.run("conditions", "--set", "idle=no")
            return try await jobs.job("j")["forecast"]["startsAt"].string?.contains("T02:30:")
                == true
        }
        try await jobs.end(engine)
    }

    @Test func severalTimesAndADirectoryThatIsThere() async throws {
        let jobs = try JobHome()
        try await jobs.run(
            "job", "add", "j", "--no-start", "--at", "14:30", "--at", "02:30,09:00", "--days",
            "Mon-Fri", "--directory", "/", "--", "true")
        let job = try await jobs.job("j")
        #expect(job["at"] == "02:30,09:00,14:30" && job["days"] == "Mon-Fri")
        for bad in [
            ["--at", "02:30,"], ["--directory", "/nowhere"], ["--directory", "/etc/passwd"],
        ] {
            try await jobs.run(
                "job", "add", "k", "--no-start", bad[0], bad[1], "--", "true", status: 64)
            try await jobs.run(
                "job", "once", "--no-start", bad[0], bad[1], "--", "true", status: 64)
        }
    }

    /// The zone among the words counts, else that of the caller.
    @Test func aCalendarSaysTheMoments() async throws {
        let jobs = try zone("Asia/Tokyo")
        try await jobs.add("j", "--no-start", "--calendar", "Mon *-*-01..07 03:00", body: ":")
        try await jobs.add("k", "--no-start", "--calendar", "2100-01-01 UTC", body: ":")
        let job = try await jobs.job("j")
        #expect(job["calendar"] == "Mon *-*-01..07 03:00" && job["timeZone"] == "Asia/Tokyo")
        let wait = try #require(
            job["waitingFor"].items.first { $0["reason"] == "earliestBegin" })
        #expect(wait["required"].string?.contains("T18:00:") == true)
        #expect(
            try await jobs.job("k")["waitingFor"][0]["required"] == "2100-01-01T00:00:00.000Z")
        for bad in ["Mon Tue 10:00 x", "10:00 Mars/Phobos", "2020-01-01", "*-02-30", "*:61"] {
            try await jobs.run(
                "job", "add", "l", "--no-start", "--calendar", bad, "--", "true", status: 64)
        }
        let both = ["job", "add", "l", "--calendar", "daily", "--every", "1d", "--", "true"]
        #expect(try await jobs.home.start(both).wait().status == 64)
    }

    /// A run that was stopped comes again when power has been there for five seconds.
    @Test func powerThatComesAndGoesStartsNothing() async throws {
        let jobs = try JobHome()
        try await jobs.run("conditions", "--set", "power=external,battery=80")
        try await jobs.add("j", "--require", "power", body: "sleep 600")
        let engine = try jobs.home.start("daemon")
        try await eventually("it runs") { jobs.lines("started").count == 1 }
        try await jobs.run("conditions", "--set", "power=battery")
        try await eventually("it was stopped") {
            try await jobs.lastRun("j")["expiration"] == "requirement"
        }
        for _ in 1...2 {
            try await jobs.run("conditions", "--set", "power=external")
            try await jobs.run("conditions", "--set", "power=battery")
        }
        let last = Date()
        try await jobs.run("conditions", "--set", "power=external")
        try await eventually("it runs again") {
            try await jobs.job("j")["state"] == "running"
        }
        let text = try #require(try await jobs.lastRun("j")["startedAt"].string)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let begun = try Date(text, strategy: style)
        #expect(begun.timeIntervalSince(last) > 4.9)
        try await jobs.run("job", "cancel", "j")
        try await jobs.end(engine)
    }
}
