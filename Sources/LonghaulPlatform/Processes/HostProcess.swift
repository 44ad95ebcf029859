internal import CLonghaul
internal import Glibc
internal import LonghaulModel
private import Synchronization

/// The kernel's limit for the arguments and variables of a program together; a mark may be the
/// last variable.
private let environmentBytes = 6 << 20

/// The program and environment of a host's process.
package struct HostExecutable: Sendable {
    /// The program by absolute path, and its arguments.
    package var argv: [String]
    /// The whole environment of the process.
    package var environment: [String: String]
    /// `nil` = the program of a host, whose output the engine reads.
    package var job: JobProgram?
    /// Bytes of memory that its processes may have; `nil` = without a limit.
    package var maxMemory: Int64?

    package init(
        argv: [String], environment: [String: String], job: JobProgram? = nil,
        maxMemory: Int64? = nil
    ) {
        self.argv = argv
        self.environment = environment
        self.job = job
        self.maxMemory = maxMemory
    }
}

/// The options for running a job's command.
package struct JobProgram: Sendable {
    /// The name of the job, also of its logs.
    package var name: String
    /// The working directory of the command.
    package var directory: String
    /// 0 = the usual priority of processor and disk; more = a lower one, and the idle class.
    package var nice: Int
    /// Seconds from SIGTERM to SIGKILL.
    package var grace: Double
    /// The program between command and log, see ``JobSupervisor``.
    package var supervisor: String

    package init(
        name: String, directory: String, nice: Int, grace: Double, supervisor: String
    ) {
        self.supervisor = supervisor
        self.name = name
        self.directory = directory
        self.nice = nice
        self.grace = grace
    }
}

extension JobProgram {
    /// The arguments of the process between command and log (`lh_job_run`).
    fileprivate func arguments(for command: [String], maxMemory: Int64?) -> [String] {
        let milliseconds = Int(min(grace, 1e9) * 1000)
        let limits = "\(nice)" + (maxMemory.map { ",\($0)" } ?? "")
        return [supervisor, LH_JOB_ARGUMENT, "\(milliseconds)", limits, directory] + command
    }
}

/// The program between the command of a job and its log: one of this project's own, which has
/// `serveIfAsked` at the beginning of its `main`.
package enum JobSupervisor {
    /// True if this program calls `serveIfAsked`.
    private static let isOwn = Mutex(false)
    private static let command = "longhaul"

    /// Becomes the supervisor of a job if this process was executed as one. A program that embeds
    /// the library does not call it, and executes `longhaul` in its place.
    package static func serveIfAsked() {
        isOwn.withLock { $0 = true }
        var count: Int32 = 0
        guard let arguments = lh_arguments(&count), count > 1, let first = arguments[1],
            strcmp(first, LH_JOB_ARGUMENT) == 0
        else { return }
        lh_job_run(count, arguments)
    }

    /// The program to execute: this one, else `longhaul` beside it or in the `PATH` of the job or
    /// of this process. `nil` = it is not installed.
    package static func program(environment: [String: String]) -> String? {
        if isOwn.withLock({ $0 }) { return "/proc/self/exe" }
        let beside = BackgroundEngine.programBeside(command)
        if access(beside, X_OK) == 0 { return beside }
        return ProgramRun.find(command, environment: environment)
            ?? ProgramRun.find(command, environment: Environment.all())
    }
}

/// The end of a process.
package enum ProcessEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// The processes of the launch together exceeded their memory.
    case exceededMemory
    /// The process was a child of another process, and its exit status is lost.
    case unknown
}

/// The process of a launch. It has its own session and group, so that no terminal's signals reach
/// it and the whole group can be ended. Its output goes through named pipes that it holds open
/// itself: it can still write if the engine dies, and the next engine continues to read.
final class HostProcess {
    let identity: ProcessIdentity
    let end: Descriptor
    private(set) var output: Descriptor?
    private(set) var errors: Descriptor?
    /// Present until the process has begun.
    private var go: Descriptor?
    private let names: [String]
    private let home: DirectoryHandle
    /// The process was not made for the launch, and its exit status is for its parent.
    private let isResident: Bool
    /// Bounds the memory of its processes together; `nil` = there is no such limit.
    let memory: MemoryGroup?

    private init(
        _ identity: ProcessIdentity, end: Descriptor, streams: [Descriptor?], go: Descriptor?,
        names: [String], home: DirectoryHandle, isResident: Bool = false,
        memory: MemoryGroup? = nil
    ) {
        self.isResident = isResident
        self.memory = memory
        self.identity = identity
        self.end = end
        output = streams[0]
        errors = streams[1]
        self.go = go
        self.names = names
        self.home = home
    }

    private static func names(_ id: Int64) -> [String] { ["launch-\(id).out", "launch-\(id).err"] }

    /// Removes the pipes of a launch whose output is not read any more. Processes that have them
    /// open are not affected.
    static func removeStreams(id: Int64, in home: DirectoryHandle) {
        for name in names(id) { try? home.remove(name) }
    }

    /// Makes the process. It executes the program at ``begin()``, or exits when this object is
    /// released.
    ///
    /// - Parameter input: its standard input, read from the beginning.
    static func make(
        _ program: HostExecutable, id: Int64, input: HostInput, in home: DirectoryHandle
    ) throws(SystemFailure) -> HostProcess {
        do throws(SystemFailure) {
            return try create(program, id: id, input: input, in: home)
        } catch {
            removeStreams(id: id, in: home)
            throw error
        }
    }

    private static func create(
        _ program: HostExecutable, id: Int64, input: HostInput, in home: DirectoryHandle
    ) throws(SystemFailure) -> HostProcess {
        var names: [String] = []
        var reading: [Descriptor?] = [nil, nil]
        var writing: [Descriptor] = []
        if let job = program.job {
            let log = try JobLog.make(of: job.name, run: id, in: home)
            writing = [log, log]
        } else {
            names = self.names(id)
            for (index, name) in names.enumerated() {
                try check(lh_fifo(home.descriptor, name), "mkfifo", home.path(of: name))
                reading[index] = try open(name, in: home, O_RDONLY)
                // Open for reading, too: being a reader itself, the process never gets SIGPIPE.
                writing.append(try open(name, in: home, O_RDWR))
            }
        }
        let stdin = try input.reopened()
        var ends: [Int32] = [-1, -1]
        try check(lh_pipe(&ends), "pipe", "")
        let waiting = Descriptor(owning: ends[0])
        var go: Descriptor? = Descriptor(owning: ends[1])
        // The shim's pipe does not block, but the child must block on its end.
        let flags = fcntl(waiting.number, F_GETFL)
        _ = fcntl(waiting.number, F_SETFL, flags & ~O_NONBLOCK)
        for stream in writing {
            _ = fcntl(stream.number, F_SETFL, fcntl(stream.number, F_GETFL) & ~O_NONBLOCK)
        }
        let words =
            program.job?.arguments(for: program.argv, maxMemory: program.maxMemory) ?? program.argv
        let argv = CStrings(words)
        let envp = CStrings(environment: program.environment)
        let streams = [stdin.number, writing[0].number, writing[1].number]
        let pid = try check(
            lh_host_fork(words[0], argv.pointer, envp.pointer, waiting.number, streams),
            "fork", program.argv[0])
        do throws(SystemFailure) {
            let end = Descriptor(
                owning: try check(lh_pidfd_open(pid), "pidfd_open", program.argv[0]))
            guard let identity = ProcessIdentity.of(pid: pid) else {
                throw .answered(-ESRCH, "read", "/proc/\(pid)/stat")
            }
            let memory = try limitMemory(of: pid, program)
            return HostProcess(
                identity, end: end, streams: reading, go: go, names: names, home: home,
                memory: memory)
        } catch {
            // Closing `go` ends the process; it has to be reaped here.
            go = nil
            var status: Int32 = 0
            _ = uninterrupted { waitpid(pid, &status, 0) }
            throw error
        }
    }

    /// Limits the memory of a process that waits. Without a control group each process of a host
    /// has the limit; the supervisor of a job limits its command, not itself.
    private static func limitMemory(
        of pid: Int32, _ program: HostExecutable
    ) throws(SystemFailure) -> MemoryGroup? {
        guard let bytes = program.maxMemory else { return nil }
        if let group = MemoryGroup.make(of: pid, bytes: bytes) { return group }
        if program.job == nil { try check(lh_limit_data(pid, bytes), "prlimit", program.argv[0]) }
        return nil
    }

    /// The process of an earlier engine's launch, if it still runs; `nil` if it has ended.
    static func adopt(
        _ identity: ProcessIdentity, id: Int64, in home: DirectoryHandle
    ) -> HostProcess? {
        let names = names(id)
        let end = lh_pidfd_open(identity.pid)
        let owner = end < 0 ? nil : Descriptor(owning: end)
        // Checked while the pidfd is open: the number cannot belong to another process then.
        guard let owner, identity.isAlive else {
            removeStreams(id: id, in: home)
            return nil
        }
        let streams = names.map { try? open($0, in: home, O_RDONLY) }
        return HostProcess(
            identity, end: owner, streams: streams, go: nil, names: names, home: home,
            memory: MemoryGroup.find(of: identity.pid))
    }

    /// Watches for the end of a process that runs by itself; `nil` if it has ended.
    static func watch(_ identity: ProcessIdentity, in home: DirectoryHandle) -> HostProcess? {
        let end = lh_pidfd_open(identity.pid)
        let owner = end < 0 ? nil : Descriptor(owning: end)
        guard let owner, identity.isAlive else { return nil }
        return HostProcess(
            identity, end: owner, streams: [nil, nil], go: nil, names: [], home: home,
            isResident: true)
    }

    private static func open(
        _ name: String, in home: DirectoryHandle, _ mode: Int32
    ) throws(SystemFailure) -> Descriptor {
        try openName(
            name, in: home.descriptor, flags: mode | O_NONBLOCK, path: home.path(of: name))
    }

    /// Lets the process execute its program.
    func begin() {
        guard let go else { return }
        var byte: UInt8 = 1
        _ = write(go.number, &byte, 1)
        self.go = nil
    }

    /// The process has closed its end of the pipe.
    func closeOutput() { output = nil }
    func closeErrors() { errors = nil }

    func terminate() { _ = lh_pidfd_signal(end.number, SIGTERM) }

    /// The process ends without having begun.
    func abandon() { go = nil }

    /// Ends its process group, and processes outside of the group whose environment has the marks.
    func kill(marks: [String]) {
        _ = lh_group_signal(identity.pid, SIGKILL)
        for pid in ProcessMarks.processes(with: marks) { _ = Glibc.kill(pid, SIGKILL) }
    }

    /// To be called once the process has ended.
    func reap() -> ProcessEnd {
        var status: Int32 = 0
        for name in names { try? home.remove(name) }
        if isResident { return .unknown }
        switch lh_reap(identity.pid, &status) {
        case 1: return .exited(status)
        case 2: return .signalled(status)
        default: return .unknown
        }
    }
}

/// Finds processes by variables of their environment.
enum ProcessMarks {
    /// The processes of this user that were started with all of these variables (`NAME=value`).
    static func processes(with marks: [String]) -> [Int32] {
        // An empty set of marks would match every process.
        precondition(!marks.isEmpty, "processes are looked for by what marks them")
        let wanted = Set(marks)
        return (directoryNames("/proc") ?? []).compactMap { name in
            guard let pid = Int32(name), pid > 1, pid != getpid(),
                let text = try? smallFile(
                    "/proc/\(pid)/environ", atMost: environmentBytes),
                wanted.isSubset(of: text.split(separator: "\0").map(String.init))
            else { return nil }
            return pid
        }
    }
}
