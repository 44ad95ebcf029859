import Foundation
import LonghaulTestSupport
import Testing

/// Standing requests and the world around a running engine: each change launches the host once,
/// with its name in the task's line.
@Suite(.timeLimit(.minutes(60))) struct TaskTriggerTests {
    private static let body = """
        jq -r --unbuffered 'select(.type == "task") | .trigger.event' >> "$D/fired"
        exit 0
        """

    /// - Parameters:
    ///   - known: What the engine has to have seen before the change, in its record of the world.
    private func fires(
        _ trigger: String, on home: LonghaulHome, knowing known: String,
        _ change: () async throws -> Void
    ) async throws {
        let hosts = HostHome(home)
        try await hosts.add("--permit", "sync", body: Self.body)
        try await hosts.run(["task", "submit", "sync", "--on", trigger, "--no-start"])
        let engine = try home.start("daemon")
        try await eventually("the world is known") {
            let world = try await home.stored("SELECT value FROM setting WHERE key = 'world'")
            return world.first?["value"].string?.contains(known) ?? false
        }
        #expect(hosts.lines("fired").isEmpty)
        try await change()
        try await eventually("the host is launched") { hosts.lines("fired") == [trigger] }
        try await eventually("the request waits for the next time") {
            let task = try await hosts.run(["task", "show", "sync", "--json"]).rows.first
            return task?["state"] == "waiting" && task?["runs"][0]["result"] == "success"
        }
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    struct Desktop: CustomTestStringConvertible, Sendable {
        var trigger: String
        var service: MockBus.Service
        var parameters: String
        var known: String
        /// A call of the stand-in.
        var change: String

        var testDescription: String { trigger }
    }

    private static let desktops = [
        Desktop(
            trigger: "battery", service: .upower, parameters: #"{"OnBattery": false}"#,
            known: #""external""#,
            change: "UpdateProperties('org.freedesktop.UPower', {'OnBattery': True})"),
        Desktop(
            trigger: "power", service: .upower, parameters: #"{"OnBattery": true}"#,
            known: #""battery""#,
            change: "UpdateProperties('org.freedesktop.UPower', {'OnBattery': False})"),
        Desktop(
            trigger: "online", service: .networkManager,
            parameters: #"{"State": 20, "Connectivity": 4}"#, known: "offline",
            change: "SetGlobalConnectionState(dbus.UInt32(70))"),
        Desktop(
            trigger: "resume", service: .logind, parameters: "{}", known: "bootID",
            change: """
                EmitSignal('org.freedesktop.login1.Manager', 'PrepareForSleep', 'b', [False])
                """),
    ]

    @Test(
        .enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"),
        arguments: desktops)
    func theDesktopSaysSo(_ row: Desktop) async throws {
        let bus = try MockBus()
        let service = try bus.service(row.service, row.parameters)
        let home = try LonghaulHome().with(["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        try await fires(row.trigger, on: home, knowing: row.known) {
            if row.service == .logind {
                // The engine follows the signal once the service has answered.
                try await Task.sleep(for: .seconds(1))
            }
            try bus.tell(row.service, row.change)
        }
        withExtendedLifetime(service) {}
    }

    @Test(
        .enabled(if: OwnMachine.isPossible, "skipped: needs root, ip and network namespaces"),
        arguments: ["online", "network-change"])
    func theCableIsPluggedIn(_ trigger: String) async throws {
        let machine = try OwnMachine()
        let far = try OwnMachine()
        try machine.cable("192.0.2.5/24", to: far, "192.0.2.1/24")
        try machine.ip("link", "set", "eth0", "down")
        let home = try LonghaulHome()
        let alone = home.with(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(home.scratch("no-bus"))"])
            .through(machine.launcher())
        try await fires(trigger, on: alone, knowing: "offline") {
            try machine.ip("link", "set", "eth0", "up")
        }
    }

    /// Overrides say what the network is like, and not which it is; each change of one of them is
    /// read by the engine at once.
    @Test(arguments: ["network=unmetered", ""])
    func anOverrideIsNoOtherNetwork(environment: String) async throws {
        let home = try LonghaulHome().with(["LONGHAUL_CONDITIONS": environment])
        let hosts = HostHome(home)
        try await hosts.add("--permit", "sync", body: Self.body)
        try await hosts.run([
            "task", "submit", "sync", "--on", "network-change,battery", "--no-start",
        ])
        try await hosts.run(["conditions", "--set", "network=metered,power=external"])
        let engine = try home.start("daemon")
        func waitForPower(_ power: String) async throws {
            try await eventually("the world is known") {
                let world = try await home.stored("SELECT value FROM setting WHERE key = 'world'")
                return world.first?["value"].string?.contains("\"\(power)\"") ?? false
            }
        }
        try await waitForPower("external")
        for change in ["network=offline", "network=unmetered", "network=unmetered"] {
            try await hosts.run(["conditions", "--set", change])
        }
        try await hosts.run(["conditions", "--clear"])
        try await hosts.run(["conditions", "--set", "power=battery"])
        try await waitForPower("battery")
        let fired = try await home.stored("SELECT trigger FROM task")
        #expect(fired.map { $0["trigger"] } == ["battery"])
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: mounting needs root"))
    func aDiskIsMounted() async throws {
        let home = try LonghaulHome()
        var disk: OwnDisk?
        try await fires("mount", on: home, knowing: #""mounts":["#) {
            disk = try OwnDisk(memory: "1m", at: home.scratch("disk"))
        }
        withExtendedLifetime(disk) {}
    }
}
