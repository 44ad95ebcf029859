internal import Glibc
internal import LonghaulModel

/// Changes that triggers wait for besides conditions: mounts, files, and that the machine has
/// slept.
struct MachineChanges {
    /// The files that triggers wait for.
    var paths: PathWatches?
    private var mounts: MountTable?
    private var named: NamedMounts
    /// The file systems that requests name, as they were last found.
    private(set) var fileSystems: MountedFileSystems?
    private var clock = SleepClock()
    /// When the clocks are compared next.
    private(set) var due: Instant?

    init(dev: String) {
        named = NamedMounts(dev: dev)
    }

    var descriptor: Int32? { mounts?.descriptor }

    /// - Parameters:
    ///   - path: `nil` = mounts are not of interest.
    ///   - names: Looked for among the mounts.
    /// - Returns: What is mounted, when it is read for the first time.
    mutating func follow(mountTable path: String?, names: Set<String>) -> Set<Int64>? {
        guard let path else {
            (mounts, fileSystems) = (nil, nil)
            return nil
        }
        let isNew = mounts == nil
        if isNew { mounts = MountTable(path) }
        if isNew || fileSystems?.looked != names { find(names) }
        return isNew ? mounts?.numbers : nil
    }

    /// The descriptor says that something has changed. Returns what is mounted, if it did.
    mutating func receive() -> Set<Int64>? {
        guard let mounts, mounts.refresh() else { return nil }
        find(fileSystems?.looked ?? [])
        return mounts.numbers
    }

    private mutating func find(_ names: Set<String>) {
        fileSystems = mounts.map { table in
            MountedFileSystems(named.find(names, among: table.mounts), among: names)
        }
    }

    /// - Parameter pause: `nil` = they are not compared.
    /// - Returns: Whether the machine has slept since the last time.
    mutating func compareClocks(every pause: Double?, now: Instant) -> Bool {
        guard let pause else {
            due = nil
            return false
        }
        if due == nil { clock = SleepClock() }
        if let due, due > now { return false }
        due = now + pause
        return clock.hasSlept()
    }
}

/// Notices that the machine has slept, where no service tells: the clock that runs on while it
/// sleeps gets ahead of the one that does not (clock_gettime(2), CLOCK_BOOTTIME and
/// CLOCK_MONOTONIC).
struct SleepClock {
    private var asleep = SleepClock.asleep

    private static var asleep: Int64 {
        var running = timespec()
        var all = timespec()
        clock_gettime(CLOCK_MONOTONIC, &running)
        clock_gettime(CLOCK_BOOTTIME, &all)
        return Int64(all.tv_sec - running.tv_sec) * 1_000_000_000
            + Int64(all.tv_nsec - running.tv_nsec)
    }

    /// The machine has slept since the last call.
    mutating func hasSlept() -> Bool {
        let now = SleepClock.asleep
        defer { asleep = now }
        return now - asleep > 500_000_000
    }
}
