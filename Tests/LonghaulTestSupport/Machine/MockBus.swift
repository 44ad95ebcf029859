import Glibc

/// A message bus for one test, with mock services of the desktop on it (python3-dbusmock).
package final class MockBus {
    package static let isPossible =
        access(daemon, X_OK) == 0 && access(python, X_OK) == 0
        && access("/usr/lib/python3/dist-packages/dbusmock", R_OK) == 0

    package var address: String { "unix:path=\(scratch("bus"))" }

    private static let daemon = "/usr/bin/dbus-daemon"
    private static let python = "/usr/bin/python3"
    private let scratch: Scratch
    private var bus: CLIProcess?

    package init() throws {
        scratch = try Scratch("bus")
        try scratch.write(
            Fixture.text("servers/dbus.conf", ["ADDRESS": address]), to: "bus.conf")
        try start()
    }

    package func start() throws {
        bus = try CLIProcess(
            Self.daemon, ["--nofork", "--nopidfile", "--config-file=\(scratch("bus.conf"))"])
        try untilTrue("the bus listens") { scratch.exists("bus") }
    }

    package func stop() {
        bus = nil
        unlink(scratch("bus"))
    }

    /// Pauses the bus: it accepts connections and answers nothing.
    package func hang() { bus?.send(SIGSTOP) }

    /// Starts a mock service and waits until it is on the bus.
    package func service(_ service: Service, _ parameters: String = "{}") throws -> CLIProcess {
        let process = try CLIProcess(
            Self.python, ["-m", "dbusmock", "--template", service.template, "-p", parameters],
            environment: environment)
        try untilTrue("\(service.template) is on the bus") {
            try run("bus.get_name_owner('\(service.name)')")
        }
        // NetworkManager has it since 1.0.6; the mock is older.
        if service == .networkManager {
            try tell(service, "AddProperty('\(service.name)', 'Metered', dbus.UInt32(4))")
        }
        return process
    }

    package enum Service: Sendable {
        case upower, networkManager, logind, powerProfiles, notifications

        var template: String {
            switch self {
            case .upower: "upower"
            case .networkManager: "networkmanager"
            case .logind: "logind"
            case .powerProfiles: "power_profiles_daemon"
            case .notifications: "notification_daemon"
            }
        }

        var name: String {
            switch self {
            case .upower: "org.freedesktop.UPower"
            case .networkManager: "org.freedesktop.NetworkManager"
            case .logind: "org.freedesktop.login1"
            case .powerProfiles: "net.hadess.PowerProfiles"
            case .notifications: "org.freedesktop.Notifications"
            }
        }

        var path: String { "/" + name.replacing(".", with: "/") }
    }

    /// Changes a property; the mock service signals the change.
    ///
    /// - Parameter value: in Python, with the types of dbus-python.
    package func set(
        _ service: Service, _ property: String, _ value: String, interface: String? = nil,
        path: String? = nil
    ) throws {
        let interface = interface ?? service.interface
        let object = "bus.get_object('\(service.name)', '\(path ?? service.path)')"
        try must(
            """
            \(object).Set('\(interface)', '\(property)', \(value),
                dbus_interface='org.freedesktop.DBus.Properties')
            """)
    }

    /// Calls a method of a mock service.
    package func tell(_ service: Service, _ call: String, path: String? = nil) throws {
        let object = "bus.get_object('\(service.name)', '\(path ?? service.path)')"
        try must("dbus.Interface(\(object), 'org.freedesktop.DBus.Mock').\(call)")
    }

    /// Whether logind's mock has so many locks of this project, and all for this reason where one
    /// is given.
    package func locks(_ count: Int, reason: String? = nil) throws -> Bool {
        try run(
            """
            locks = bus.get_object('org.freedesktop.login1', '/org/freedesktop/login1') \
                .ListInhibitors(dbus_interface='org.freedesktop.login1.Manager')
            ours = [x for x in locks if x[:2] == ('sleep:shutdown', 'Longhaul') \
                and x[3] == 'delay']
            assert len(ours) == \(count)
            assert all(x[2] == \(reason.map { "'\($0)'" } ?? "x[2]") for x in ours)
            """)
    }

    /// Whether logind's mock keeps the machine awake for so many readers of transfers and engines
    /// with jobs.
    package func idleLocks(_ count: Int) throws -> Bool {
        try run(
            """
            locks = bus.get_object('org.freedesktop.login1', '/org/freedesktop/login1') \
                .ListInhibitors(dbus_interface='org.freedesktop.login1.Manager')
            ours = [x for x in locks if x[:2] == ('idle', 'Longhaul') and x[3] == 'block']
            assert len(ours) == \(count)
            """)
    }

    /// As logind announces sleep or shutdown, and its end.
    ///
    /// - Parameter signal: `PrepareForSleep` or `PrepareForShutdown`.
    package func announce(_ signal: String, _ isComing: Bool) throws {
        try tell(
            .logind,
            """
            EmitSignal('org.freedesktop.login1.Manager', '\(signal)', 'b', \
            [\(isComing ? "True" : "False")])
            """)
    }

    private func must(_ program: String) throws {
        guard try run(program) else { throw FixtureFailed(description: program) }
    }

    /// `false` = an exception.
    private func run(_ program: String) throws -> Bool {
        try CLIProcess(
            Self.python,
            ["-c", "import dbus\nbus = dbus.bus.BusConnection('\(address)')\n" + program],
            environment: environment
        ).reap() == .exited(0)
    }

    private var environment: [String: String] {
        ["DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address]
    }
}

extension MockBus.Service {
    fileprivate var interface: String {
        switch self {
        case .upower, .networkManager, .powerProfiles, .notifications: name
        case .logind: "org.freedesktop.login1.Manager"
        }
    }
}
