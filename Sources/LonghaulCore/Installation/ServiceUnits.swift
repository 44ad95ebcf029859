internal import LonghaulModel

/// The units of a user's service manager that keep an engine ready.
///
/// - `longhaul.service` is the engine. It begins with the user's manager, leaves when there is no
///   more work to do or to wait for, and reports its state.
/// - `longhaul.path` starts it again when there is work: a command that wants an engine touches a
///   file beside the store.
/// - `longhaul-run.timer` and `.service` drain the queue once an hour while no engine runs.
package struct ServiceUnits: Hashable, Sendable {
    package struct File: Hashable, Sendable {
        package var name: String
        package var text: String

        /// True if a package's unit equals this unit for the user with this home. The first line,
        /// which tells where a unit comes from, does not count. A package serves every user: its
        /// units have `%h` for the home.
        package func isEqual(toPackaged unit: String, home: String) -> Bool {
            let local = unit.replacing("%h", with: UnitText.specifiersEscaped(home))
            return File.withoutMark(text).elementsEqual(File.withoutMark(local))
        }

        private static func withoutMark(_ text: String) -> Substring.UTF8View {
            text.utf8.drop { $0 != UInt8(ascii: "\n") }
        }
    }

    /// Absolute.
    var executable: String
    /// Touched to have an engine.
    var activation: String
    var environment: [EnvironmentEntry]
    /// Options of `longhaul run`.
    var runOptions: [String]
    /// The timer is late by at most this many seconds, at a different moment on each machine.
    var spread: Double

    /// `nil` when a path has a line break in it, which no unit file can say.
    package init?(
        executable: String, activation: String, environment: [EnvironmentEntry],
        runOptions: [String], spread: Double = ServiceUnits.usualSpread
    ) {
        let texts = [executable, activation] + environment.map(\.value) + runOptions
        if (texts.contains { $0.utf8.contains { $0 < 0x20 } }) { return nil }
        self.executable = executable
        self.activation = activation
        self.environment = environment
        self.runOptions = runOptions
        self.spread = spread
    }

    /// Seconds that keep the machines of a company from waking at one moment.
    package static var usualSpread: Double { 300 }

    /// The mark of files that `uninstall` may remove.
    package static let mark = "# Written by `longhaul install`; `longhaul uninstall` removes it."

    package static let names = [
        "longhaul.service", "longhaul.path", "longhaul-run.service", "longhaul-run.timer",
    ]
    /// The units that are enabled; the service of the timer is not.
    package static let enabled = ["longhaul.service", "longhaul.path", "longhaul-run.timer"]

    package var files: [File] {
        zip(ServiceUnits.names, [engine, path, run, timer]).map {
            File(name: $0, text: ServiceUnits.mark + "\n\n" + $1)
        }
    }

    /// How long the engine stays with nothing to do or to wait for.
    private static let idle = "5m"
    /// The engine examines the store once a minute in any case: at half of this the watchdog causes
    /// no additional wake-up.
    private static let watchdog = "2min"

    private var engine: String {
        """
        [Unit]
        Description=Longhaul, transfers that carry on

        [Service]
        Type=notify
        ExecStart=\(command(["daemon", "--exit-when-idle", ServiceUnits.idle]))
        ExecReload=/bin/sh -c "kill -USR2 $MAINPID"
        \(snapshot)Restart=on-failure
        RestartSec=5
        # A bad configuration or store does not get better by itself.
        RestartPreventExitStatus=64 73
        # While another engine runs it stands by, as long as that takes.
        TimeoutStartSec=infinity
        TimeoutStopSec=2min
        WatchdogSec=\(ServiceUnits.watchdog)
        \(ServiceUnits.hardening)
        [Install]
        WantedBy=default.target

        """
    }

    private var path: String {
        """
        [Unit]
        Description=Starts Longhaul when something is to be transferred

        [Path]
        PathChanged=\(UnitText.specifiersEscaped(activation))

        [Install]
        WantedBy=default.target

        """
    }

    private var run: String {
        """
        [Unit]
        Description=Longhaul, what can be transferred now

        [Service]
        Type=oneshot
        ExecStart=\(command(["run"] + runOptions))
        \(snapshot)\(ServiceUnits.hardening)
        """
    }

    private var timer: String {
        """
        [Unit]
        Description=Runs Longhaul once an hour, should no engine run

        [Timer]
        OnCalendar=hourly
        RandomizedDelaySec=\(Int(spread))
        FixedRandomDelay=true
        Persistent=true

        [Install]
        WantedBy=timers.target

        """
    }

    private func command(_ arguments: [String]) -> String {
        ([executable] + arguments).map(UnitText.argument).joined(separator: " ")
    }

    private var snapshot: String {
        environment.map { "Environment=\(UnitText.assignment($0.name, $0.value))\n" }.joined()
    }

    /// Permissions that a transfer manager can do without. It writes wherever its user may, so the
    /// file system stays unrestricted; launched hosts inherit all restrictions. A user's manager
    /// may impose all of them without privileges.
    private static let hardening = """
        Slice=background.slice
        # Launched hosts have budgets of their own; the next engine takes charge of them.
        KillMode=process
        NoNewPrivileges=yes
        LockPersonality=yes
        RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        SystemCallFilter=@system-service
        SystemCallErrorNumber=EPERM

        """
}

/// Text for unit files (systemd.syntax(7), systemd.service(5) "Command lines").
enum UnitText {
    /// `%` begins a specifier everywhere.
    static func specifiersEscaped(_ text: String) -> String {
        text.replacing(UInt8(ascii: "%"), with: "%%")
    }

    /// A word of a command line, where `$` begins a variable.
    static func argument(_ text: String) -> String {
        quoted(specifiersEscaped(text).replacing(UInt8(ascii: "$"), with: "$$"))
    }

    /// `NAME=value` for Environment=, where `$` has no meaning.
    static func assignment(_ name: String, _ value: String) -> String {
        quoted("\(name)=\(specifiersEscaped(value))")
    }

    private static func quoted(_ text: String) -> String {
        let needsQuotes = text.isEmpty || text.utf8.contains { special.contains($0) }
        guard needsQuotes else { return text }
        let escaped = text.replacing(UInt8(ascii: "\\"), with: #"\\"#)
            .replacing(UInt8(ascii: "\""), with: #"\""#)
        return "\"\(escaped)\""
    }

    private static let special = Set(" \t\"'\\;".utf8)
}
