import Glibc
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulSystem

/// A message bus of a test's own, with stand-ins for the desktop's services on it
/// (python3-dbusmock).
final class MockBus {
    static let isPossible =
        access(daemon, X_OK) == 0 && access(python, X_OK) == 0
        && access("/usr/lib/python3/dist-packages/dbusmock", R_OK) == 0

    var address: String { "unix:path=\(scratch.path("bus"))" }

    private static let daemon = "/usr/bin/dbus-daemon"
    private static let python = "/usr/bin/python3"
    private let scratch: Scratch
    private var bus: ChildProcess?

    init() throws {
        scratch = try Scratch()
        try scratch.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>system</type>
              <listen>\(address)</listen>
              <policy context="default">
                <allow user="*"/> <allow own="*"/>
                <allow send_destination="*"/> <allow receive_sender="*"/>
              </policy>
            </busconfig>
            """, to: "bus.conf")
        try start()
    }

    func start() throws {
        bus = try ChildProcess(
            Self.daemon, ["--nofork", "--nopidfile", "--config-file=\(scratch.path("bus.conf"))"])
        eventually("the bus listens") { scratch.exists("bus") }
    }

    func stop() {
        bus = nil
        unlink(scratch.path("bus"))
    }

    /// Pauses the bus: it takes connections and answers nothing.
    func hang() { bus?.kill(SIGSTOP) }

    /// Starts a stand-in and waits until it is on the bus.
    func service(_ service: Service, _ parameters: String = "{}") throws -> ChildProcess {
        let process = try ChildProcess(
            Self.python, ["-m", "dbusmock", "--template", service.template, "-p", parameters],
            environment: environment)
        try eventually("\(service.template) is on the bus") {
            try run("bus.get_name_owner('\(service.name)')")
        }
        return process
    }

    enum Service {
        case upower, networkManager, logind

        var template: String {
            switch self {
            case .upower: "upower"
            case .networkManager: "networkmanager"
            case .logind: "logind"
            }
        }

        var name: String {
            switch self {
            case .upower: "org.freedesktop.UPower"
            case .networkManager: "org.freedesktop.NetworkManager"
            case .logind: "org.freedesktop.login1"
            }
        }

        var path: String { "/" + name.replacing(".", with: "/") }
    }

    /// Changes a property, and the stand-in says so.
    ///
    /// - Parameter value: in Python, with the types of dbus-python.
    func set(
        _ service: Service, _ property: String, _ value: String, interface: String? = nil,
        path: String? = nil
    ) throws {
        let interface = interface ?? service.interface
        let object = "bus.get_object('\(service.name)', '\(path ?? service.path)')"
        try #require(
            try run(
                """
                \(object).Set('\(interface)', '\(property)', \(value),
                    dbus_interface='org.freedesktop.DBus.Properties')
                """))
    }

    /// Has a stand-in do something of its own.
    func tell(_ service: Service, _ call: String, path: String? = nil) throws {
        let object = "bus.get_object('\(service.name)', '\(path ?? service.path)')"
        try #require(
            try run("dbus.Interface(\(object), 'org.freedesktop.DBus.Mock').\(call)"))
    }

    /// Whether logind's stand-in has so many locks of ours.
    func locks(_ count: Int) throws -> Bool {
        try run(
            """
            locks = bus.get_object('org.freedesktop.login1', '/org/freedesktop/login1') \
                .ListInhibitors(dbus_interface='org.freedesktop.login1.Manager')
            assert len([x for x in locks if x[:2] == ('sleep:shutdown', 'Longhaul') \
                and x[3] == 'delay']) == \(count)
            """)
    }

    /// `false` = an exception.
    private func run(_ program: String) throws -> Bool {
        try ChildProcess(
            Self.python,
            ["-c", "import dbus\nbus = dbus.bus.BusConnection('\(address)')\n" + program],
            environment: environment
        ).reap() == 0
    }

    private var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }
}

extension MockBus.Service {
    fileprivate var interface: String {
        switch self {
        case .upower, .networkManager: name
        case .logind: "org.freedesktop.login1.Manager"
        }
    }
}

/// A watch over a test's own surroundings, and all that it told.
final class Watched {
    let watch: ConditionsWatch
    private let told: Told

    private final class Told: Sendable {
        let changes = Mutex<[Conditions]>([])
        let events = Mutex<[MachineEvent]>([])
    }

    init(
        _ surroundings: ConditionSurroundings, _ interest: ConditionInterest,
        overrides: ConditionOverrides = ConditionOverrides()
    ) throws {
        let told = Told()
        self.told = told
        watch = try ConditionsWatch.start(
            surroundings, interest: interest, overrides: overrides,
            onChange: { new in told.changes.withLock { $0.append(new) } },
            onEvent: { new in told.events.withLock { $0.append(new) } })
    }

    deinit {
        watch.stop()
    }

    /// All that was told, oldest first.
    var changes: [Conditions] { told.changes.withLock { $0 } }

    func takeEvents() -> [MachineEvent] {
        told.events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Waits until the watch has told that a reading is so.
    func becomes<Value>(
        _ reading: KeyPath<Conditions, Reading<Value>>, _ value: Value?, _ source: String,
        within seconds: Double = 2, at location: SourceLocation = #_sourceLocation
    ) {
        eventually(
            within: seconds, "\(value.map { "\($0)" } ?? "unknown") from \(source)", at: location
        ) {
            let now = watch.current[keyPath: reading]
            return now.value == value && now.source == source
        }
    }
}

extension ConditionSurroundings {
    /// Nothing but what the test puts there; no waiting where none is needed.
    static func empty(bus: String? = nil, in scratch: Scratch? = nil) -> ConditionSurroundings {
        var surroundings = ConditionSurroundings(busAddress: bus)
        let root = scratch?.path ?? "/nonexistent"
        surroundings.sysfs = "\(root)/sys"
        surroundings.proc = "\(root)/proc"
        surroundings.dev = "\(root)/dev"
        surroundings.logins = "\(root)/utmp"
        surroundings.readsNetwork = false
        surroundings.busRetrySeconds = (0.05, 0.2)
        return surroundings
    }
}
