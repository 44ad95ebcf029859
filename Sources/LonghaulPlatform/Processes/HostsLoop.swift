internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// A host that writes more than this is read slowly.
private let hostFreeBytes: Int64 = 1 << 20
/// The pause between two reads of such a host.
private let hostBreathNanoseconds: Int64 = 5_000_000

/// The thread of ``HostsWatch``; all members are called on it.
package final class HostsLoop {
    private let commands: HostCommands
    /// The state directory.
    package let home: DirectoryHandle
    private let keeping: Int
    private let notice: @Sendable (HostNotice) -> Void
    private var launches: [Int64: Launch] = [:]
    private let attachments: Descriptor?

    private struct Launch {
        let process: HostProcess
        var output: HostOutput
        /// A process with much output is read slowly, so that it does not delay other processes.
        var readsAgainAt: Int64 = 0
        var marks: [String]
        /// The log of a job, which tells how its command ended; `nil` = a host.
        var log: JobLog?
        var isEnded = false
        var hasExceededMemory = false
    }

    init(
        _ commands: HostCommands, home: DirectoryHandle, keeping: Int,
        notice: @escaping @Sendable (HostNotice) -> Void
    ) {
        self.commands = commands
        self.home = home
        self.keeping = keeping
        self.notice = notice
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        attachments = number < 0 ? nil : Descriptor(owning: number)
        if number >= 0 { _ = inotify_add_watch(number, home.path, UInt32(IN_CLOSE_WRITE)) }
    }

    // MARK: Requests

    /// Makes the process of a launch; it waits for ``begin(_:)``.
    ///
    /// - Parameter marks: variables of its environment that identify its child processes.
    package func make(
        _ id: Int64, _ program: HostExecutable, input: HostInput, marks: [String]
    ) throws(SystemFailure) -> ProcessIdentity {
        let process = try HostProcess.make(program, id: id, input: input, in: home)
        launches[id] = Launch(
            process: process, output: HostOutput(keeping: keeping), marks: marks,
            log: program.job.map { JobLog(of: $0.name, run: id, in: home.path) })
        return process.identity
    }

    package func begin(_ id: Int64) {
        launches[id]?.process.begin()
    }

    /// Ends a process that has not begun; no end is reported.
    package func discard(_ id: Int64) {
        guard let launch = launches.removeValue(forKey: id) else { return }
        launch.process.abandon()
        var polled = pollfd(fd: launch.process.end.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&polled, 1, 1_000)
        _ = launch.process.reap()
    }

    /// Watches the process of an earlier engine. `false`: it has ended.
    ///
    /// - Parameter log: That of a job; `nil` = a host.
    package func adopt(
        _ id: Int64, _ identity: ProcessIdentity, marks: [String], log: JobLog?
    ) -> Bool {
        guard let process = HostProcess.adopt(identity, id: id, in: home) else { return false }
        launches[id] = Launch(
            process: process, output: HostOutput(keeping: keeping), marks: marks, log: log)
        return true
    }

    /// Watches a process that runs by itself; it is sent no signal. `false`: it has ended.
    package func watch(_ id: Int64, _ identity: ProcessIdentity) -> Bool {
        guard let process = HostProcess.watch(identity, in: home) else { return false }
        launches[id] = Launch(process: process, output: HostOutput(keeping: 0), marks: [])
        return true
    }

    /// Stops watching the process, which continues.
    package func forget(_ id: Int64) { launches[id] = nil }

    /// Sends SIGTERM to the process, or kills it.
    package func end(_ id: Int64, killing: Bool) {
        guard var launch = launches[id] else { return }
        launch.isEnded = true
        launches[id] = launch
        if killing { launch.process.kill(marks: launch.marks) } else { launch.process.terminate() }
    }

    // MARK: - The loop

    func run() {
        while true {
            guard let bodies = commands.removeFirst() else { return }
            for body in bodies { body(self) }
            wait()
        }
    }

    private func wait() {
        let now = lh_clock_boottime()
        let ids = launches.keys.sorted()
        var polled = [
            pollfd(fd: commands.wake.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: attachments?.number ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        var pause: Int64 = -1
        for id in ids {
            guard let launch = launches[id] else { continue }
            let mayRead = launch.readsAgainAt <= now
            if !mayRead {
                let left = (launch.readsAgainAt - now + 999_999) / 1_000_000
                pause = pause < 0 ? left : min(pause, left)
            }
            let process = launch.process
            let streams = mayRead ? [process.output, process.errors] : [nil, nil]
            for descriptor in [process.end] + streams + [process.memory?.changes] {
                polled.append(
                    pollfd(fd: descriptor?.number ?? -1, events: Int16(POLLIN), revents: 0))
            }
        }
        if poll(&polled, nfds_t(polled.count), Int32(pause)) < 0 {
            if Glibc.errno != EINTR { usleep(100_000) }
            return
        }
        if polled[1].revents != 0 { noteAttachments() }
        for (index, id) in ids.enumerated() {
            let at = 2 + index * 4
            if polled[at + 1].revents != 0 { read(id, isOutput: true, polled[at + 1].revents) }
            if polled[at + 2].revents != 0 { read(id, isOutput: false, polled[at + 2].revents) }
            if polled[at + 3].revents != 0 { checkMemory(of: id) }
            if polled[at].revents != 0 { finish(id) }
        }
    }

    /// Ends a launch whose processes have exceeded their memory: the kernel has killed one of them.
    private func checkMemory(of id: Int64) {
        guard var launch = launches[id], !launch.hasExceededMemory,
            launch.process.memory?.hasExceeded ?? false
        else { return }
        launch.hasExceededMemory = true
        launch.isEnded = true
        launches[id] = launch
        // The supervisor of a job ends the command and records how it ended.
        if launch.log != nil {
            launch.process.terminate()
        } else {
            launch.process.kill(marks: launch.marks)
        }
    }

    private func read(_ id: Int64, isOutput: Bool, _ revents: Int16) {
        guard var launch = launches[id] else { return }
        let more = drain(&launch, isOutput: isOutput, id)
        if !more, Int32(revents) & (POLLHUP | POLLERR) != 0 {
            // The process has closed its end, as programs that detach themselves do.
            if isOutput { launch.process.closeOutput() } else { launch.process.closeErrors() }
        }
        if launch.output.total > hostFreeBytes {
            launch.readsAgainAt = lh_clock_boottime() + hostBreathNanoseconds
        }
        launches[id] = launch
    }

    /// Reads a piece. Returns whether there was any.
    private func drain(_ launch: inout Launch, isOutput: Bool, _ id: Int64) -> Bool {
        let stream = isOutput ? launch.process.output : launch.process.errors
        guard let stream else { return false }
        var lines: [[UInt8]] = []
        let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            let count = uninterrupted {
                Glibc.read(stream.number, buffer.baseAddress, buffer.count)
            }
            if count > 0 {
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                launch.output.append(bytes)
                if isOutput { lines = launch.output.lines(of: bytes) }
            }
            return count
        }
        for line in lines { notice(.line(id, line)) }
        return count > 0
    }

    private func finish(_ id: Int64) {
        checkMemory(of: id)
        guard var launch = launches.removeValue(forKey: id) else { return }
        // Output that the process wrote before its end; later output of its children is not
        // awaited.
        for isOutput in [true, false] {
            for _ in 0..<4 where drain(&launch, isOutput: isOutput, id) {}
        }
        if let line = launch.output.lastLine() { notice(.line(id, line)) }
        // The process's number cannot be reused until it is reaped, so no other group is signalled.
        // An adopted process is reaped by its parent: its number is free as soon as it has ended.
        if launch.isEnded { launch.process.kill(marks: launch.marks) }
        let reaped = launch.process.reap()
        // An adopted process leaves its status to its parent, and to its log.
        let end = launch.log?.end
        let ending = launch.hasExceededMemory ? .exceededMemory : end?.end ?? reaped
        notice(
            .ended(
                id, ending, output: launch.log?.tail(atMost: keeping) ?? launch.output.text,
                processorSeconds: end?.processorSeconds))
    }

    private func noteAttachments() {
        guard let attachments else { return }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var isOne = false
        while true {
            let count = Glibc.read(attachments.number, &buffer, buffer.count)
            if count <= 0 { break }
            // The event contains the name of the file; see inotify(7).
            isOne = isOne || buffer[..<count].contains(HostLock.prefix)
        }
        if isOne { notice(.attachments) }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func contains(_ text: String) -> Bool {
        let wanted = Array(text.utf8)
        guard count >= wanted.count else { return false }
        return (startIndex...(endIndex - wanted.count)).contains {
            self[$0...].starts(with: wanted)
        }
    }
}
