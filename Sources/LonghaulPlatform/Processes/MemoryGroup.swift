internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Bounds the answer of systemd, and then the move of the process into its group.
private let scopeSeconds: Double = 5
/// The pause between two looks at the group of the process.
private let scopeLookMicroseconds: UInt32 = 5_000

/// The control group of a launch, which bounds the memory of its processes together: a scope of
/// the user's systemd manager (systemd.scope(5)) with `MemoryMax=` (systemd.resource-control(5)).
/// It ends with the last of its processes.
final class MemoryGroup {
    /// Readable when the events of the group have changed.
    let changes: Descriptor
    private let events: String

    /// Moves a process that waits, and has no children, into a group of its own.
    ///
    /// - Returns: `nil` if the user has no systemd manager, the manager does not answer, or it has
    ///   no memory controller.
    static func make(of pid: Int32, bytes: Int64) -> MemoryGroup? {
        let environment = Environment.all()
        guard let runtime = environment["XDG_RUNTIME_DIR"],
            access(PathParts.join(runtime, "systemd/private"), F_OK) == 0,
            let busctl = ProgramRun.find("busctl", environment: environment),
            let run = try? ProgramRun.run(
                busctl, call(pid, bytes), environment: environment, limit: scopeSeconds),
            run.status == 0
        else { return nil }
        let end = SystemClock.now().monotonic + scopeSeconds
        while SystemClock.now().monotonic < end {
            switch place(of: pid) {
            case .bounded(let path): return MemoryGroup(path)
            case .unbounded: return nil
            case nil: usleep(scopeLookMicroseconds)
            }
        }
        return nil
    }

    /// The group that an earlier engine has made; `nil` if there is none.
    static func find(of pid: Int32) -> MemoryGroup? {
        if case .bounded(let path) = place(of: pid) { MemoryGroup(path) } else { nil }
    }

    /// The kernel has killed a process of the group because the group exceeded its memory. Reads
    /// what has made ``changes`` readable.
    var hasExceeded: Bool {
        var notices = [UInt8](repeating: 0, count: 4096)
        while Glibc.read(changes.number, &notices, notices.count) > 0 {}
        guard let text = try? smallFile(events) else { return false }
        return Self.kills(in: text) > 0
    }

    /// The processes killed, by `memory.events` of the kernel's documentation of cgroup v2.
    static func kills(in events: String) -> Int {
        for line in events.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == "oom_kill" { return Int(words[1]) ?? 0 }
        }
        return 0
    }

    /// The arguments of busctl(1) that call `StartTransientUnit` of org.freedesktop.systemd1(5).
    /// Without swap the limit is one of memory.
    static func call(_ pid: Int32, _ bytes: Int64) -> [String] {
        let manager = "org.freedesktop.systemd1"
        let properties = [
            ["PIDs", "au", "1", "\(pid)"], ["MemoryMax", "t", "\(bytes)"],
            ["MemorySwapMax", "t", "0"],
        ]
        return [
            "--user", "call", manager, "/org/freedesktop/systemd1", manager + ".Manager",
            "StartTransientUnit", "ssa(sv)a(sa(sv))", "\(LH_MEMORY_GROUP)\(pid).scope", "fail",
            "\(properties.count)",
        ] + properties.flatMap { $0 } + ["0"]
    }

    // MARK: -

    private enum Place {
        case bounded(String)
        /// The manager cannot bound memory.
        case unbounded
    }

    /// `nil` = the process is in no group of a launch.
    private static func place(of pid: Int32) -> Place? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let answer = lh_memory_group(pid, &path, Int32(path.count))
        if answer < 0 { return nil }
        let bytes = path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return answer == 1 ? .bounded(String(decoding: bytes, as: UTF8.self)) : .unbounded
    }

    private init?(_ path: String) {
        events = PathParts.join(path, "memory.events")
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        if number < 0 { return nil }
        changes = Descriptor(owning: number)
        if inotify_add_watch(number, events, UInt32(IN_MODIFY)) < 0 { return nil }
    }
}
