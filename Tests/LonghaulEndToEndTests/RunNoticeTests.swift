import Foundation
import LonghaulTestSupport
import Testing

/// Notices of tasks and activities that have used up their time, and of jobs, with the built
/// command.
@Suite(.timeLimit(.minutes(60))) struct RunNoticeTests {
    private let noticed: NoticeHome
    private let hosts: HostHome
    private let jobs: JobHome

    init() throws {
        noticed = try NoticeHome()
        hosts = HostHome(noticed.home)
        jobs = JobHome(noticed.home)
    }

    private func begin() throws -> CLIProcess { try noticed.home.start("daemon") }

    private func kill(_ daemon: CLIProcess) async throws {
        daemon.send(SIGKILL)
        _ = try await daemon.wait()
    }

    /// Makes a host with a task that does not end by itself.
    private func addHost(_ options: String...) async throws {
        try hosts.write("exec sleep 600")
        try await hosts.run(
            ["host", "add", HostHome.host, "--permit", "clean", "--event-budget", "1s"] + options
                + ["--", hosts.script])
    }

    private func submit() async throws {
        try await hosts.run(["task", "submit", "clean", "--no-start"])
    }

    private func isExpired() async throws -> Bool {
        let task = try await hosts.run(["task", "show", "clean", "--json"]).rows.first
        return task?["runs"][0]["expiration"] == "time"
    }

    /// The number of ends whose notices are not delivered.
    private func waiting() async throws -> Int {
        try await noticed.home.stored("SELECT id FROM taskRun WHERE notice IS NOT NULL").count
    }

    @Test func aTaskThatHasUsedUpItsTime() async throws {
        try await addHost("--notify")
        #expect(try await hosts.show()["notify"] == true)
        let shown = try await hosts.run(["host", "show", HostHome.host]).output
        #expect(
            shown.contains("notifies   when a task or an activity has used up its time"), "\(shown)"
        )
        try await submit()
        let daemon = try begin()
        try await eventually("the user is notified") { !noticed.notices.isEmpty }
        try await eventually("that is recorded") { try await waiting() == 0 }
        try await jobs.end(daemon)
        let notice = try #require(noticed.notices.first)
        #expect(notice.prefix(3) == ["expired", "clean", "clean"])
        #expect(notice[7] == "ended because its time was over (host \(HostHome.host))")
        #expect(noticed.notices.count == 1)
    }

    /// The notice is recorded with the end: a kill before the delivery only delays it. Nobody asks
    /// for it any more where the host was made anew without.
    @Test(arguments: [false, true]) func itSurvivesAKill(isWithdrawn: Bool) async throws {
        try noticed.hold()
        try await addHost("--notify")
        try await submit()
        var daemon = try begin()
        try await eventually("its notice is being delivered") { noticed.isHeld }
        try await kill(daemon)
        #expect(try await isExpired())
        #expect(try await waiting() == 1 && noticed.notices.isEmpty)
        try noticed.deliver()
        try await hosts.run(["task", "cancel", "clean"])
        if isWithdrawn {
            try await addHost()
            #expect(try await waiting() == 0)
        } else {
            daemon = try begin()
            try await eventually("the user is notified") { noticed.notices.count == 1 }
            try await eventually("that is recorded") { try await waiting() == 0 }
            try await jobs.end(daemon)
            #expect(noticed.notices.map { $0[0] } == ["expired"])
        }
    }

    @Test func withoutAskingThereIsNone() async throws {
        try await addHost()
        #expect(try await hosts.show()["notify"] == false)
        try await submit()
        let daemon = try begin()
        try await eventually("its time is over") { try await isExpired() }
        #expect(try await waiting() == 0)
        try await jobs.end(daemon)
        #expect(noticed.notices.isEmpty)
    }

    /// The program records it before it ends; the engine notifies.
    @Test func anActivityThatHasUsedUpItsTime() async throws {
        let program = try BuiltBinary.named("LonghaulTestSession")
        try await hosts.run([
            "host", "add", "com.example.host", "--notify", "--permit", "active", "--", program,
            noticed.home.scratch("log"), "host",
        ])
        try await hosts.run(["task", "submit", "active", "--kind", "processing", "--no-start"])
        let daemon = try begin()
        try await eventually("the user is notified") { !noticed.notices.isEmpty }
        try await eventually("that is recorded") {
            try await noticed.home.stored("SELECT id FROM expiredActivity").isEmpty
        }
        try await jobs.end(daemon)
        let notice = try #require(noticed.notices.first)
        #expect(notice.prefix(3) == ["expired", "save document", "save document"])
        #expect(notice[7].contains("(host com.example.host)"))
        #expect(noticed.notices.count == 1)
    }

    // MARK: - Jobs

    @Test func aFailedRunSurvivesAKill() async throws {
        try noticed.hold()
        try await jobs.add("backup", "--notify", "--retries", "0", body: "echo lost; exit 3")
        try await jobs.add("quiet", "--retries", "0", body: "exit 4")
        let daemon = try begin()
        try await eventually("its notice is being delivered") { noticed.isHeld }
        try await kill(daemon)
        #expect(try await jobs.lastRun("backup")["result"] == "failure")
        #expect(try await waiting() == 1 && noticed.notices.isEmpty)
        try noticed.deliver()
        try await jobs.run("run")
        let notice = try #require(noticed.notices.first)
        #expect(notice.prefix(3) == ["failed", "backup", "backup"])
        #expect(notice[7] == "exit status 3 lost")
        #expect(try await waiting() == 0 && noticed.notices.count == 1)
        #expect(try await jobs.lastRun("quiet")["result"] == "failure")
    }

    /// One that runs once has a notice when it is done; one that comes again is silent then.
    @Test func aJobThatRunsOnceIsDone() async throws {
        try await jobs.run("job", "once", "--name", "move", "--notify", "--", "true")
        try await jobs.add("nightly", "--notify", "--every", "1d", body: "true")
        try await jobs.run("run")
        #expect(try await jobs.lastRun("nightly")["result"] == "success")
        #expect(noticed.notices.map { $0.prefix(3) } == [["completed", "move", "move"]])
    }
}
