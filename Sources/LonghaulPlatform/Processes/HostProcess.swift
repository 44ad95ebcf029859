internal import CLonghaul
internal import Glibc

/// What a host's process is made of.
package struct HostProgram: Sendable {
    /// The program by absolute path, and its arguments.
    package var argv: [String]
    /// All of it.
    package var environment: [String: String]

    package init(argv: [String], environment: [String: String]) {
        self.argv = argv
        self.environment = environment
    }
}

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// It was another process's child, and its status is gone with it.
    case unknown
}

/// The process of a launch: of its own session and group, so that no terminal's signals reach it
/// and all of it can be ended; its output comes through named pipes that it holds open itself, so
/// that it can go on writing when the engine dies, and the next engine reads on.
final class HostProcess {
    let identity: ProcessIdentity
    let end: Descriptor
    private(set) var output: Descriptor?
    private(set) var errors: Descriptor?
    /// Until it has begun.
    private var go: Descriptor?
    private let names: [String]
    private let home: DirectoryHandle

    private init(
        _ identity: ProcessIdentity, end: Descriptor, streams: [Descriptor?], go: Descriptor?,
        names: [String], home: DirectoryHandle
    ) {
        self.identity = identity
        self.end = end
        output = streams[0]
        errors = streams[1]
        self.go = go
        self.names = names
        self.home = home
    }

    private static func names(_ id: Int64) -> [String] { ["launch-\(id).out", "launch-\(id).err"] }

    /// Of a launch that nothing is read of any more. Who still has them open is not disturbed.
    static func removeStreams(id: Int64, in home: DirectoryHandle) {
        for name in names(id) { try? home.remove(name) }
    }

    /// Makes the process; it becomes the program at ``begin()``, or ends with this object.
    ///
    /// - Parameter input: what it reads; the whole file from its beginning.
    static func make(
        _ program: HostProgram, id: Int64, input: HostInput, in home: DirectoryHandle
    ) throws(SystemFailure) -> HostProcess {
        do throws(SystemFailure) {
            return try create(program, id: id, input: input, in: home)
        } catch {
            removeStreams(id: id, in: home)
            throw error
        }
    }

    private static func create(
        _ program: HostProgram, id: Int64, input: HostInput, in home: DirectoryHandle
    ) throws(SystemFailure) -> HostProcess {
        let names = names(id)
        var reading: [Descriptor] = []
        var writing: [Descriptor] = []
        for name in names {
            try check(lh_fifo(home.descriptor, name), "mkfifo", home.path(of: name))
            reading.append(try open(name, in: home, O_RDONLY))
            // For reading, too: with a reader of its own it never finds the pipe broken.
            writing.append(try open(name, in: home, O_RDWR))
        }
        let stdin = try input.reopened()
        var ends: [Int32] = [-1, -1]
        try check(lh_pipe(&ends), "pipe", "")
        let waiting = Descriptor(owning: ends[0])
        var go: Descriptor? = Descriptor(owning: ends[1])
        // The shim's pipe does not block; this one is waited on.
        let flags = fcntl(waiting.number, F_GETFL)
        _ = fcntl(waiting.number, F_SETFL, flags & ~O_NONBLOCK)
        for stream in writing {
            _ = fcntl(stream.number, F_SETFL, fcntl(stream.number, F_GETFL) & ~O_NONBLOCK)
        }
        let argv = CStrings(program.argv)
        let envp = CStrings(environment: program.environment)
        let streams = [stdin.number, writing[0].number, writing[1].number]
        let pid = try check(
            lh_host_fork(program.argv[0], argv.pointer, envp.pointer, waiting.number, streams),
            "fork", program.argv[0])
        do throws(SystemFailure) {
            let end = Descriptor(
                owning: try check(lh_pidfd_open(pid), "pidfd_open", program.argv[0]))
            guard let identity = ProcessIdentity.of(pid: pid) else {
                throw .answered(-ESRCH, "read", "/proc/\(pid)/stat")
            }
            return HostProcess(
                identity, end: end, streams: reading, go: go, names: names, home: home)
        } catch {
            // That ends it, and nobody else takes note.
            go = nil
            var status: Int32 = 0
            _ = uninterrupted { waitpid(pid, &status, 0) }
            throw error
        }
    }

    /// The process of an earlier engine's launch, if it is still the same; `nil` when it has ended.
    static func adopt(
        _ identity: ProcessIdentity, id: Int64, in home: DirectoryHandle
    ) -> HostProcess? {
        let names = names(id)
        let end = lh_pidfd_open(identity.pid)
        let owner = end < 0 ? nil : Descriptor(owning: end)
        // Looked at while the descriptor is open: the number cannot be another's by now.
        guard let owner, identity.isAlive else {
            removeStreams(id: id, in: home)
            return nil
        }
        let streams = names.map { try? open($0, in: home, O_RDONLY) }
        return HostProcess(
            identity, end: owner, streams: streams, go: nil, names: names, home: home)
    }

    private static func open(
        _ name: String, in home: DirectoryHandle, _ mode: Int32
    ) throws(SystemFailure) -> Descriptor {
        try openName(
            name, in: home.descriptor, flags: mode | O_NONBLOCK, path: home.path(of: name))
    }

    /// Lets it run.
    func begin() {
        guard let go else { return }
        var byte: UInt8 = 1
        _ = write(go.number, &byte, 1)
        self.go = nil
    }

    /// Nobody writes there any more.
    func closeOutput() { output = nil }
    func closeErrors() { errors = nil }

    func terminate() { _ = lh_pidfd_signal(end.number, SIGTERM) }

    /// It ends without having begun.
    func abandon() { go = nil }

    /// Ends all of its group, and what has left that and still has the launch in its environment.
    func kill(marks: [String]) {
        _ = lh_group_signal(identity.pid, SIGKILL)
        for pid in ProcessMarks.processes(with: marks) { _ = Glibc.kill(pid, SIGKILL) }
    }

    /// To be called once it has ended.
    func reap() -> ProcessEnd {
        var status: Int32 = 0
        for name in names { try? home.remove(name) }
        switch lh_reap(identity.pid, &status) {
        case 1: return .exited(status)
        case 2: return .signalled(status)
        default: return .unknown
        }
    }
}

/// Processes by what stands in their environment.
enum ProcessMarks {
    /// The kernel gives a program no more than that of arguments and variables together, and a mark
    /// may be the last of them.
    private static let environmentBytesMax = 6 << 20

    /// Of this user, those that were started with all of these variables (`NAME=value`).
    static func processes(with marks: [String]) -> [Int32] {
        // No mark is a mark of every process there is.
        precondition(!marks.isEmpty, "processes are looked for by what marks them")
        let wanted = Set(marks)
        return (directoryNames("/proc") ?? []).compactMap { name in
            guard let pid = Int32(name), pid > 1, pid != getpid(),
                let text = try? smallFile(
                    "/proc/\(pid)/environ", atMost: environmentBytesMax),
                wanted.isSubset(of: text.split(separator: "\0").map(String.init))
            else { return nil }
            return pid
        }
    }
}
