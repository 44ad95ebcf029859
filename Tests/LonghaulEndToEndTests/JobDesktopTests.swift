import Foundation
import LonghaulTestSupport
import Testing

/// Jobs and the services of the desktop: by the built command, against stand-ins on a private bus.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
struct JobDesktopTests {
    @Test func aRunKeepsTheMachineAwake() async throws {
        let bus = try MockBus()
        let logind = try bus.service(.logind)
        defer { withExtendedLifetime(logind) {} }
        let jobs = JobHome(try LonghaulHome().with(["DBUS_SYSTEM_BUS_ADDRESS": bus.address]))
        let body = "while [ ! -e $D/$LONGHAUL_JOB.go ]; do sleep 0.02; done"
        try await jobs.run("conditions", "--set", "power=external,battery=80")
        let engine = try jobs.home.start("daemon")
        try await jobs.add("always", "--inhibit-sleep", "on", body: body)
        try await eventually("it stays awake") { try bus.idleLocks(1) }
        try jobs.home.scratch.write("", to: "always.go")
        try await eventually("it may sleep again") { try bus.idleLocks(0) }
        try await jobs.add("powered", "--inhibit-sleep", "on-power", body: body)
        try await eventually("it stays awake on power") { try bus.idleLocks(1) }
        try await jobs.run("conditions", "--set", "power=battery")
        try await eventually("it may sleep on battery") { try bus.idleLocks(0) }
        try await jobs.run("conditions", "--set", "power=external")
        try await eventually("it stays awake again") { try bus.idleLocks(1) }
        #expect(try await jobs.job("powered")["state"] == "running")
        try jobs.home.scratch.write("", to: "powered.go")
        try await eventually("it may sleep") { try bus.idleLocks(0) }
        try await jobs.end(engine)
    }

    @Test func aFailureIsShown() async throws {
        let bus = try MockBus()
        let desktop = try bus.service(.notifications)
        let jobs = JobHome(try LonghaulHome().with(["DBUS_SESSION_BUS_ADDRESS": bus.address]))
        try await jobs.add("quiet", "--retries", "0", body: "exit 4")
        try await jobs.add(
            "loud", "--notify", "--retries", "0", body: "echo 'no <space>' >&2; exit 3")
        try await jobs.add("fine", "--notify", body: "true")
        // It does not leave before the desktop has it.
        try await jobs.run("run")
        let shown = desktop.output
        #expect(shown.components(separatedBy: " Notify ").count == 2, "\(shown)")
        #expect(shown.contains("loud failed"), "\(shown)")
        #expect(shown.contains("exit status 3"), "\(shown)")
        #expect(shown.contains("no &lt;space&gt;"), "\(shown)")
    }

    /// No bus, or one without a desktop: the run is what it is.
    @Test func withoutADesktopNothingIsDifferent() async throws {
        let bus = try MockBus()
        for address in [bus.address, "unix:path=/nowhere/bus"] {
            let jobs = JobHome(try LonghaulHome().with(["DBUS_SESSION_BUS_ADDRESS": address]))
            try await jobs.add("j", "--notify", "--retries", "0", body: "exit 3")
            let told = try await jobs.run("run")
            #expect(told.errors == "longhaul: job j failed: exit status 3; `longhaul job log j`\n")
        }
    }
}
