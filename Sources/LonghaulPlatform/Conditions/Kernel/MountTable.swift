internal import Glibc
internal import LonghaulModel

/// Mounts of this process (proc(5), /proc/self/mountinfo). The kernel notifies of changes: poll(2)
/// reports POLLERR and POLLPRI for the open file.
final class MountTable {
    private let file: Descriptor
    /// A number for each mount: of its id, device and place, since ids are used again.
    private(set) var mounts: Set<Int64> = []

    /// `nil` = /proc cannot be read.
    init?(_ path: String) {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        file = Descriptor(owning: number)
        refresh()
    }

    var descriptor: Int32 { file.number }

    /// Reads the table anew. Returns whether it has changed.
    @discardableResult
    func refresh() -> Bool {
        guard lseek(file.number, 0, SEEK_SET) == 0 else { return false }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = uninterrupted { Glibc.read(file.number, &buffer, buffer.count) }
            if count <= 0 { break }
            text += buffer[..<count]
        }
        let found = Set(text.split(separator: UInt8(ascii: "\n")).map { MountTable.number($0) })
        defer { mounts = found }
        return found != mounts
    }

    /// The id, the parent's id, the device, the root and the mount point come first.
    private static func number(_ line: ArraySlice<UInt8>) -> Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for field in line.split(separator: UInt8(ascii: " ")).prefix(5) {
            for byte in field { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0x20) &* 0x100_0000_01b3
        }
        return Int64(bitPattern: hash)
    }
}

/// Changes that triggers wait for besides conditions: mounts, and that the machine has slept.
struct MachineChanges {
    private var mounts: MountTable?
    private var clock = SleepClock()
    /// When the clocks are compared next.
    private(set) var due: Instant?

    var descriptor: Int32? { mounts?.descriptor }

    /// - Parameter path: `nil` = mounts are not of interest.
    /// - Returns: What is mounted, when it is read for the first time.
    mutating func follow(mountTable path: String?) -> Set<Int64>? {
        guard let path else {
            mounts = nil
            return nil
        }
        if mounts != nil { return nil }
        mounts = MountTable(path)
        return mounts?.mounts
    }

    /// The descriptor says that something has changed. Returns what is mounted, if it did.
    mutating func receive() -> Set<Int64>? {
        guard let mounts, mounts.refresh() else { return nil }
        return mounts.mounts
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
