/// The places from which the conditions are read; tests put their own here.
package struct ConditionContext: Sendable {
    /// The address of the system bus in D-Bus syntax; `nil` = there is none.
    package var busAddress: String?
    package var sysfs = "/sys"
    package var proc = "/proc"
    package var dev = "/dev"
    /// The records of logged-in users (utmp(5)).
    package var logins = "/run/utmp"
    /// File of the mounts (proc(5)); the kernel must notify of its changes.
    package var mountTable = "/proc/self/mountinfo"
    /// How often the clocks are compared to notice a sleep, without logind, while a trigger waits
    /// for that.
    package var sleepSampleSeconds: Double = 60
    /// The kernel's links, addresses and routes are read.
    package var readsNetwork = true

    /// Poll intervals for idleness where no service tracks users: `running` while a transfer runs
    /// that is to stop when the machine is used, `standing` while the machine is idle and no such
    /// transfer runs. While the machine is in use, the earliest moment at which it can be idle is
    /// known.
    package var idleSampleSeconds: (running: Double, standing: Double) = (1, 60)
    /// The least time between two reads of the load, which may stay about the threshold.
    package var loadSampleSeconds: Double = 10
    /// The kernel's events of power supplies reach this process: a user namespace of its own
    /// receives none.
    package var hearsDevices = true
    /// Poll interval of the supplies without these events, while a transfer waits for external
    /// power or runs on it, there is a battery, and UPower is not running.
    package var powerSampleSeconds: Double = 1
    /// Poll interval of the charge without UPower, while a transfer waits for it: few drivers send
    /// an event for every percent.
    package var batterySampleSeconds: Double = 60
    /// Seconds until the next try to connect to a missing bus: the first value, four times as long
    /// after each failure, and the most.
    package var busRetrySeconds: (first: Double, most: Double) = (5, 300)

    package init(busAddress: String?) {
        self.busAddress = busAddress
    }

    /// This machine. The address is found as in every D-Bus program.
    package static func machine(environment: [String: String]) -> ConditionContext {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"].flatMap { $0.isEmpty ? nil : $0 }
        var machine = ConditionContext(
            busAddress: address ?? "unix:path=/run/dbus/system_bus_socket")
        machine.hearsDevices = hearsKernel("/proc/self/uid_map")
        return machine
    }

    /// The kernel sends device events, since Linux 4.18, only to the user namespace that maps all
    /// users: one line that covers every ID (user_namespaces(7)).
    private static func hearsKernel(_ map: String) -> Bool {
        guard let text = try? smallFile(map) else { return true }
        return text.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
    }
}
