import Foundation
import LonghaulTestSupport
import Testing

/// Runs of jobs that outlive their engine, write much, leave children, or do not want to end.
@Suite(.timeLimit(.minutes(60))) struct JobLifeTests {
    /// Two engines are killed while a job runs: it goes on, as one run with one log.
    @Test func aRunOutlivesTheEnginesThatAreKilled() async throws {
        let jobs = try JobHome()
        try await jobs.add(
            "j", "--retries", "0",
            body: "n=0; while [ ! -e $D/go ]; do n=$((n+1)); echo line $n; sleep 0.02; done; exit 6"
        )
        for round in 1...2 {
            let engine = try jobs.home.start("daemon")
            try await eventually("it runs") { jobs.lines("started").count == 1 }
            try await eventually("the engine has it") {
                try await jobs.job("j")["state"] == "running"
            }
            let before = try await jobs.log("j").count
            try await jobs.end(engine, by: SIGKILL)
            try await eventually("it goes on without an engine, \(round)") {
                try await jobs.log("j").count > before
            }
        }
        let last = try jobs.home.start("daemon")
        try await eventually("the engine has it") {
            try await jobs.run("status", "--json").rows.first?["engine"]["pid"].int != nil
        }
        try jobs.home.scratch.write("", to: "go")
        try await eventually("it has ended") { try await jobs.job("j")["state"] == "ended" }
        let job = try await jobs.job("j")
        #expect(job["runs"].items.count == 1 && job["runs"][0]["exitStatus"] == 6)
        #expect(jobs.lines("started").count == 1)
        let log = try await jobs.log("j")
        #expect(log == (1...log.count).map { "line \($0)" })
        try await jobs.end(last)
    }

    /// A run that ends while no engine runs has the result that it had, not another run.
    @Test func theNextEngineLearnsHowARunEnded() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", body: "while [ ! -e $D/go ]; do sleep 0.02; done; echo done")
        let engine = try jobs.home.start("daemon")
        try await eventually("it runs") { jobs.lines("started").count == 1 }
        try await jobs.end(engine, by: SIGKILL)
        try jobs.home.scratch.write("", to: "go")
        try await eventually("it has ended") { try await jobs.log("j") == ["done"] }
        let pid = try await jobs.run("host", "show", "j", "--json").rows.first?["launches"][0][
            "pid"]
        try await eventually("nothing of it is left") {
            HostHome.isGone(pid_t(pid?.int ?? 0))
        }
        try await jobs.run("run")
        let job = try await jobs.job("j")
        #expect(job["state"] == "ended" && job["runs"].items.count == 1)
        #expect(job["runs"][0]["result"] == "success" && job["runs"][0]["exitStatus"] == 0)
        #expect(jobs.lines("started").count == 1)
    }

    /// 100 MB of output leave a log of about 1 MiB on disk, with its beginning and its end.
    @Test func muchOutputIsBounded() async throws {
        let jobs = try JobHome()
        try await jobs.add(
            "j",
            body:
                "echo first; yes 012345678901234567890123 | head -c 100000000; echo; echo last"
        )
        try await jobs.run("run")
        #expect(try await jobs.lastRun("j")["result"] == "success")
        let used = try await CLIProcess.run(
            "/usr/bin/du", ["-sk", jobs.home.state + "/jobs"],
            environment: jobs.home.environment)
        let size = try #require(used.output.split(separator: "\t").first.flatMap { Int($0) })
        #expect(size < 1_400, "\(size) KiB")
        let log = try await jobs.log("j")
        #expect(log.first == "first" && log.last == "last")
        #expect(log.count > 10_000)
        #expect(try await jobs.run("job", "log", "j").output.contains("were not kept …"))
    }

    /// Ten logs are kept.
    @Test func theLogsOfTheLastRunsAreKept() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", body: "echo $LONGHAUL_RUN")
        for _ in 0..<12 {
            try await jobs.run("run")
            try await jobs.run("job", "run", "j")
        }
        let kept = try jobs.home.scratch.names(in: "state/jobs/j")
        #expect(Set(kept) == Set((3...12).map { "\($0).log" }))
        let old = try await jobs.run("job", "log", "j", "--run", "3")
        #expect(old.output.hasSuffix("  3\n"))
        try await jobs.run("job", "log", "j", "--run", "2", status: 4)
    }

    /// What a command leaves running ends with it, and its log is whole at once.
    @Test func childrenThatAreLeftBehindEnd() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", body: "sleep 600 & echo $! > $D/child; echo begun")
        try await jobs.run("run")
        #expect(try await jobs.lastRun("j")["result"] == "success")
        #expect(try await jobs.log("j") == ["begun"])
        let child = try #require(jobs.lines("child").first.flatMap { pid_t($0) })
        #expect(HostHome.isGone(child))
    }

    /// Over its time: SIGTERM to all of it, SIGKILL after the grace.
    @Test func aRunThatDoesNotEndIsKilled() async throws {
        let jobs = try JobHome()
        try await jobs.add(
            "j", "--max-time", "1s", "--grace", "1s", "--retries", "0",
            body: "trap 'echo asked' TERM; sleep 600 & echo $! > $D/child; while :; do wait; done")
        let told = try await jobs.run("run")
        #expect(told.errors.contains("job j failed: ended because its time was over"))
        let job = try await jobs.job("j")
        #expect(job["runs"][0]["expiration"] == "time" && job["state"] == "ended")
        #expect(try await jobs.log("j").contains("asked"))
        let child = try #require(jobs.lines("child").first.flatMap { pid_t($0) })
        #expect(HostHome.isGone(child))
    }

    /// One that is made anew while it runs goes on, and never runs beside itself.
    @Test func aJobThatIsMadeAnewRunsAfterItself() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", body: "while [ ! -e $D/go ]; do sleep 0.02; done; echo old")
        let engine = try jobs.home.start("daemon")
        try await eventually("it runs") { jobs.lines("started").count == 1 }
        try await jobs.add("j", body: "[ -e $D/go ] && echo new")
        try await jobs.run("job", "list")
        #expect(jobs.lines("started").count == 1)
        try jobs.home.scratch.write("", to: "go")
        try await eventually("the new one has run") { try await jobs.log("j") == ["new"] }
        #expect(jobs.lines("started").count == 2)
        try await jobs.end(engine)
    }

    /// The example of the documents: a backup is stopped in the middle, and done on power.
    @Test(.enabled(if: InstalledProgram.find("restic") != nil, "skipped: there is no restic"))
    func resticIsStoppedAndDoneLater() async throws {
        let restic = try #require(InstalledProgram.find("restic"))
        let jobs = try JobHome()
        let scratch = jobs.home.scratch
        try scratch.write("secret", to: "password")
        _ = try scratch.directory("data")
        let random = try await CLIProcess.run(
            "/bin/dd", ["if=/dev/urandom", "of=\(scratch("data/a"))", "bs=1M", "count=40"],
            environment: [:])
        #expect(random.status == 0)
        let variables = [
            "RESTIC_REPOSITORY": scratch("repository"), "RESTIC_PASSWORD_FILE": scratch("password"),
            "RESTIC_CACHE_DIR": scratch("cache"),
        ]
        let environment = jobs.home.environment.merging(variables) { $1 }
        let made = try await CLIProcess.run(restic, ["init"], environment: environment)
        #expect(made.status == 0, "\(made.errors)")
        try await jobs.run("conditions", "--set", "power=external,battery=80")
        try await jobs.run(
            "job", "add", "backup", "--every", "1d", "--require", "power",
            "--env", "RESTIC_REPOSITORY=\(scratch("repository"))",
            "--env", "RESTIC_PASSWORD_FILE=\(scratch("password"))",
            "--env", "RESTIC_CACHE_DIR=\(scratch("cache"))",
            "--", "restic", "backup", "--limit-upload", "16384", scratch("data"))
        let engine = try jobs.home.start("daemon")
        try await eventually("it is at work") {
            try !scratch.names(in: "repository/locks").isEmpty
        }
        try await jobs.run("conditions", "--set", "power=battery")
        try await eventually("it was stopped") {
            try await jobs.lastRun("backup")["expiration"] == "requirement"
        }
        try await jobs.run("conditions", "--set", "power=external")
        try await eventually("it is done") {
            try await jobs.lastRun("backup")["result"] == "success"
        }
        let job = try await jobs.job("backup")
        #expect(job["state"] == "waiting" && job["failures"] == 0)
        let shown = try await CLIProcess.run(
            restic, ["snapshots", "--json"], environment: environment)
        #expect(shown.output.components(separatedBy: "\"short_id\"").count == 2, "\(shown.output)")
        try await jobs.end(engine)
    }

    @Test func twoHundredJobsAreRun() async throws {
        let jobs = try JobHome()
        for number in 0..<200 {
            try await jobs.run("job", "add", "j\(number)", "--", "true")
        }
        try await jobs.run("run")
        let all = try await jobs.run("job", "list", "--json").rows
        #expect(all.count == 200)
        #expect(all.allSatisfy { $0["runs"].items.map { $0["result"] } == ["success"] })
    }

    /// `job log -f` goes on until the run has ended, and shows each line at once.
    @Test func aLogIsFollowed() async throws {
        let jobs = try JobHome()
        try await jobs.add(
            "j", body: "echo one; while [ ! -e $D/go ]; do sleep 0.02; done; echo two")
        let follower = try jobs.home.start("job", "log", "-f", "j")
        let engine = try jobs.home.start("daemon")
        try await follower.waitForOutput("one")
        try jobs.home.scratch.write("", to: "go")
        let followed = try await follower.wait()
        let lines = followed.output.split(separator: "\n").map { $0.dropFirst(21) }
        #expect(followed.status == 0 && lines == ["one", "two"])
        try await jobs.end(engine)
    }

    /// A run that was asked for is the one that is followed, though no engine has begun it.
    @Test func theRunThatWasAskedForIsFollowed() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", body: "echo run $LONGHAUL_RUN")
        try await jobs.run("run")
        try await jobs.run("job", "run", "j")
        let follower = try jobs.home.start("job", "log", "-f", "j")
        try await jobs.run("run")
        let followed = try await follower.wait()
        #expect(followed.status == 0 && followed.output.hasSuffix("run 2\n"), "\(followed)")
    }
}
