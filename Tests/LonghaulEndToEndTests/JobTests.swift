import Foundation
import LonghaulTestSupport
import Testing

/// Jobs that are made, run and shown by the built command.
@Suite(.timeLimit(.minutes(60))) struct JobTests {
    @Test func aJobRunsAsTheCommandThatMadeItWould() async throws {
        let jobs = try JobHome()
        let home = JobHome(jobs.home.with(["LC_TIME": "C.UTF-8", "SECRET": "s"]))
        try await home.add("env", "--env", "MINE=a b", body: "env; pwd; nice; cat; echo bad >&2")
        try await home.run("run")
        let job = try await home.job("env")
        #expect(job["state"] == "ended" && job["runs"][0]["result"] == "success")
        #expect(job["runs"][0]["exitStatus"] == 0 && job["runs"][0]["reason"] == "due")
        #expect(job["runs"][0]["cpuSeconds"].double != nil)
        let log = try await home.log("env")
        for line in [
            "PATH=/usr/bin:/bin", "HOME=\(home.home.scratch.path)", "LANG=C.UTF-8", "TZ=UTC",
            "LC_TIME=C.UTF-8", "MINE=a b", "LONGHAUL_JOB=env", "LONGHAUL_RUN=1",
            "LONGHAUL_REASON=due", home.home.scratch("files"), "10", "bad",
        ] {
            #expect(log.contains(line), "\(line)")
        }
        #expect(!log.contains { $0.hasPrefix("SECRET") || $0.hasPrefix("LONGHAUL_AUTOSTART") })
        let errors = try await home.run("job", "log", "env", "--json").rows.filter {
            $0["stream"] == "errors"
        }
        #expect(errors.map { $0["text"] } == ["bad"])
        // It is shown as what it is: a host with a request.
        let host = try #require(try await home.run("host", "show", "env", "--json").rows.first)
        #expect(host["kind"] == "job" && host["launches"][0]["status"] == 0)
        #expect(try await home.run("job", "list").output.contains("env  ended"))
        // One that has ended runs once more when asked.
        try await home.run("job", "run", "env")
        try await home.run("run")
        #expect(try await home.lastRun("env")["reason"] == "asked")
        #expect(try await home.job("env")["runs"].items.count == 2)
        try await home.run("job", "remove", "env")
        #expect(try await home.run("job", "list", "--json").rows.isEmpty)
        #expect(try home.home.scratch.names(in: "state/jobs").isEmpty)
    }

    /// What each exit status means, and how `run` tells of it, which cron mails.
    @Test func theExitStatusIsTheResult() async throws {
        let jobs = try JobHome()
        try await jobs.add("fails", "--retries", "1", body: "echo it broke >&2; exit 3")
        try await jobs.add("killed", "--retries", "0", body: "kill -9 $$")
        let told = try await jobs.run("run", "--max-time", "30s")
        #expect(told.errors.contains("job fails failed: exit status 3; it said: it broke;"))
        #expect(told.errors.contains("`longhaul job log fails`"))
        #expect(told.errors.contains("job killed failed: ended by signal 9"))
        let failed = try await jobs.job("fails")
        #expect(failed["failures"] == 1 && failed["waitingFor"][0]["reason"] == "backoff")
        #expect(failed["runs"][0]["exitStatus"] == 3 && failed["runs"][0]["result"] == "failure")
        let killed = try await jobs.job("killed")
        #expect(killed["state"] == "ended" && killed["runs"][0]["signal"] == 9)
        #expect(killed["runs"][0]["exitStatus"] == .null)
        // Its host has not failed: nothing else waits for that.
        let host = try #require(try await jobs.run("host", "show", "fails", "--json").rows.first)
        #expect(host["failures"] == 0)
    }

    /// A failed job is one, and no host, in all that tells of it.
    @Test func aFailedJobIsNoHost() async throws {
        let jobs = try JobHome(LonghaulHome().with(["LONGHAUL_LOG": "info"]))
        try await jobs.add("j", "--retries", "0", body: "exit 3")
        let told = try await jobs.run("run", "--fail-on-jobs", status: 1)
        #expect(told.output.contains("0 failed, 0 left, 1 failure of jobs;"), "\(told.output)")
        #expect(!told.output.contains("hosts") && !told.errors.contains("host="), "\(told)")
        #expect(told.errors.contains("a run of a job ended"), "\(told.errors)")
        try await jobs.run("job", "run", "j")
        let again = try #require(try await jobs.run("run", "--json").rows.last)
        #expect(again["jobsFailed"] == 1 && again["hostsFailed"] == 1)
        #expect(try await jobs.run("status", "--json").rows.first?["jobsFailed"] == 1)
        let doctor = try await jobs.home.run("doctor", "--json").rows
        #expect(!doctor.contains { $0["check"] == "hosts" })
        let finding = try #require(doctor.first { $0["check"] == "jobs" })
        #expect(finding["ok"] == false && finding["fix"].string?.contains("job log j") == true)
    }

    /// 75 is EX_TEMPFAIL: no failure, and again within seconds.
    @Test func aRunThatIsPutOffComesAgain() async throws {
        let jobs = try JobHome()
        try await jobs.add(
            "later", body: "[ $(wc -l < $D/started) -gt 2 ] || exit 75; echo \"$LONGHAUL_REASON\"")
        let told = try await jobs.run("run")
        #expect(told.errors == "")
        let job = try await jobs.job("later")
        #expect(job["runs"].items.map { $0["result"] } == ["success", "deferred", "deferred"])
        #expect(job["runs"].items.map { $0["reason"] } == ["again", "again", "due"])
        #expect(job["failures"] == 0 && job["state"] == "ended")
        #expect(try await jobs.log("later") == ["again"])
    }

    @Test func aCommandThatIsMissingFails() async throws {
        let jobs = try JobHome()
        let none = try await jobs.run("job", "once", "--", "no-such-command", status: 64)
        #expect(none.errors.contains("there is no command no-such-command"))
        try jobs.home.scratch.write("#!/bin/sh\n", to: "files/tool")
        let tool = jobs.home.file("tool")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tool)
        let made = try await jobs.run("job", "once", "--retries", "0", "--", "./tool")
        #expect(made.output == "job-1\n")
        try FileManager.default.removeItem(atPath: tool)
        let told = try await jobs.run("run")
        #expect(told.errors.contains("job job-1 failed: exit status 127"))
        #expect(
            try await jobs.log("job-1") == [
                "longhaul: this program cannot be run: \(tool): it is not there"
            ])
        #expect(try await jobs.job("job-1")["state"] == "ended")
    }

    /// SIGTERM when power is lost, and again when it is back; no failure.
    @Test func aRequirementIsWaitedForAndLost() async throws {
        let jobs = try JobHome()
        try await jobs.run("conditions", "--set", "power=external,battery=80")
        try await jobs.add(
            "backup", "--require", "power",
            body: """
                trap 'echo cleaning up; exit 4' TERM; touch $D/ready
                [ -e $D/go ] || while :; do sleep 0.02; done; echo whole
                """)
        let engine = try jobs.home.start("daemon")
        try await eventually("it runs") { jobs.home.scratch.exists("ready") }
        try await jobs.run("conditions", "--set", "power=battery")
        try await eventually("it was stopped") {
            try await jobs.lastRun("backup")["expiration"] == "requirement"
        }
        let stopped = try await jobs.job("backup")
        #expect(stopped["state"] == "waiting" && stopped["failures"] == 0)
        #expect(stopped["waitingFor"].items.contains { $0["reason"] == "power" })
        // The shell may tell first that its own child was terminated.
        #expect(try await jobs.log("backup").contains("cleaning up"))
        try jobs.home.scratch.write("", to: "go")
        try await jobs.run("conditions", "--set", "power=external")
        try await eventually("it is done") { try await jobs.job("backup")["state"] == "ended" }
        #expect(jobs.lines("started").count == 2)
        #expect(try await jobs.lastRun("backup")["reason"] == "again")
        try await jobs.end(engine)
    }

    /// What is told by `job why`, and what pauses, resumes and asks for runs.
    @Test func aJobIsPausedAskedForAndCancelled() async throws {
        let jobs = try JobHome()
        try await jobs.run("conditions", "--set", "power=battery,battery=80")
        try await jobs.add("j", "--every", "1d", "--require", "power", body: "sleep 600")
        let why = try await jobs.run("job", "why", "j").output
        #expect(why.contains("waits for  external power"))
        try await jobs.run("job", "pause", "j")
        #expect(try await jobs.job("j")["state"] == "paused")
        try await jobs.run("conditions", "--set", "power=external")
        try await jobs.run("run")
        #expect(jobs.lines("started").isEmpty)
        let engine = try jobs.home.start("daemon")
        try await jobs.run("job", "run", "j")
        try await eventually("it runs, though it is paused") { jobs.lines("started").count == 1 }
        try await eventually("it is seen to run") {
            try await jobs.job("j")["state"] == "running"
        }
        try await jobs.run("job", "run", "j", status: 5)
        try await jobs.run("job", "remove", "j", status: 5)
        try await jobs.run("job", "cancel", "j")
        try await eventually("it was cancelled") {
            try await jobs.lastRun("j")["expiration"] == "cancelled"
        }
        let cancelled = try await jobs.job("j")
        #expect(cancelled["state"] == "paused" && cancelled["failures"] == 0)
        try await jobs.run("job", "cancel", "j", status: 5)
        try await jobs.run("job", "resume", "j")
        #expect(try await jobs.job("j")["state"] == "waiting")
        try await jobs.end(engine)
    }

    /// One that has waited until its deadline has ended without a run, which is a failure.
    @Test func aDeadlineEndsAJobThatWaits() async throws {
        let jobs = try JobHome()
        try await jobs.run("conditions", "--set", "power=battery,battery=80")
        let engine = try jobs.home.start("daemon")
        try await jobs.run(
            "job", "once", "--name", "j", "--require", "power", "--deadline", "1s", "--", "true")
        try await eventually("it has ended") { try await jobs.job("j")["state"] == "ended" }
        let run = try await jobs.lastRun("j")
        #expect(run["run"] == .null && run["result"] == "failure" && run["expiration"] == "time")
        #expect(try await jobs.run("status", "--json").rows.first?["hostsFailed"] == 1)
        let status = try await jobs.run("status").output
        #expect(status.contains("Failing:    job j (`longhaul job log j`)"), "\(status)")
        try await jobs.end(engine)
    }

    /// Discretionary work waits while the machine is told to save power, and says so.
    @Test func discretionaryWorkWaitsForTheEndOfPowerSaving() async throws {
        let jobs = try JobHome()
        let good = "power=external,network=unmetered,idle=yes"
        try await jobs.run("conditions", "--set", good + ",saver=on")
        try await jobs.add("j", "--discretionary", body: "true")
        let engine = try jobs.home.start("daemon")
        try await eventually("it waits") {
            try await jobs.job("j")["waitingFor"].items.map { $0["reason"] } == ["saver"]
        }
        #expect(try await jobs.run("job", "why", "j").output.contains("no power saving"))
        #expect(jobs.lines("started").isEmpty)
        try await jobs.run("conditions", "--set", "saver=off")
        try await eventually("it runs") { try await jobs.job("j")["state"] == "ended" }
        try await jobs.end(engine)
    }

    @Test func aHostAndAJobAreNotMixedUp() async throws {
        let jobs = try JobHome()
        try await jobs.run("host", "add", "h", "--permit", "t", "--", "/bin/true")
        try await jobs.run("job", "add", "h", "--", "true", status: 5)
        try await jobs.run("job", "add", "j", "--at", "02:30", "--", "true")
        try await jobs.run("host", "add", "j", "--", "/bin/true", status: 5)
        try await jobs.run("host", "remove", "j", status: 5)
        try await jobs.run("task", "submit", "j", status: 5)
        try await jobs.run("wake", "j", status: 5)
        try await jobs.run("session", "set", "s", "--host", "j", status: 5)
        try await jobs.run("job", "remove", "h", status: 4)
        try await jobs.run("job", "show", "none", status: 4)
        try await jobs.run("job", "once", "--name", "j", "--", "true", status: 5)
        try await jobs.run(
            "job", "add", "k", "--every", "1h", "--at", "02:30", "--", "true", status: 64)
        try await jobs.run("job", "add", "k", "--at", "25:00", "--", "true", status: 64)
        try await jobs.run(
            "job", "add", "k", "--at", "02:30", "--days", "x", "--", "true", status: 64)
        try await jobs.run("job", "add", "k", status: 64)
    }

    /// The output of the command and its exit status, as if it had been run here.
    @Test func runWaitsAndEndsAsTheCommandDoes() async throws {
        let jobs = try JobHome()
        try await jobs.add("j", "--at", "02:30", body: "echo out; echo err >&2; exit 9")
        let engine = try jobs.home.start("daemon")
        let ran = try await jobs.run("job", "run", "--wait", "j", status: 9)
        #expect(ran.output == "out\n" && ran.errors == "err\n")
        try await jobs.end(engine)
    }
}
