/// Where the conditions are read from; tests put their own places here.
package struct ConditionContext: Sendable {
    /// Of the system bus, as D-Bus writes addresses; `nil` = there is none.
    package var busAddress: String?
    package var sysfs = "/sys"
    package var proc = "/proc"
    package var dev = "/dev"
    /// The records of who is logged in (utmp(5)).
    package var logins = "/run/utmp"
    /// Whether the kernel's links, addresses and routes count.
    package var readsNetwork = true

    /// Where nobody keeps track of users: how often to look while something runs that is to end
    /// when the machine is used, and while it is idle but nothing does. While it is in use the
    /// moment is known at which it can be idle at the earliest.
    package var idleSampleSeconds: (running: Double, standing: Double) = (1, 60)
    /// The least time between two looks for the load, which may stay about the mark.
    package var loadSampleSeconds: Double = 10
    /// Whether the kernel's word that a power supply has changed reaches this process: a user
    /// namespace of its own hears nothing.
    package var hearsDevices = true
    /// How often the supplies are read where it does not, while somebody waits for external power
    /// or runs on it, there is a battery, and UPower is not there.
    package var powerSampleSeconds: Double = 1
    /// How often the charge is read without UPower while somebody waits for it: few drivers tell of
    /// every percent.
    package var batterySampleSeconds: Double = 60
    /// Until a bus that is not there is looked for again, for the first time and at most; four
    /// times as long after each failure.
    package var busRetrySeconds: (first: Double, most: Double) = (5, 300)

    package init(busAddress: String?) {
        self.busAddress = busAddress
    }

    /// This machine. The address is found as every D-Bus program finds it.
    package static func machine(environment: [String: String]) -> ConditionContext {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"].flatMap { $0.isEmpty ? nil : $0 }
        var machine = ConditionContext(
            busAddress: address ?? "unix:path=/run/dbus/system_bus_socket")
        machine.hearsDevices = hearsKernel("/proc/self/uid_map")
        return machine
    }

    /// Since Linux 4.18 the kernel tells of devices only where all of its users are: a map of one
    /// line that leaves nobody out (user_namespaces(7)).
    private static func hearsKernel(_ map: String) -> Bool {
        guard let text = try? smallFile(map) else { return true }
        return text.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
    }
}
