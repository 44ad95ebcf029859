internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// Bytes kept of the output of a host: the last ones.
private let launchOutputBytes = 16 << 10

/// Tasks whose progress is kept until the engine takes it; a launch carries one that has any.
private let reportedTasksMaximum = 16

/// Starts hosts for the engine of this process. Its thread comes with the first one.
final class HostLauncher: HostPort {
    let queue: TransferQueue
    private let answers: HostAnswers
    private let state = Mutex(State())

    private struct State {
        var report: (@Sendable (HostReport) -> Void)?
        var watch: HostsWatch?
        /// Sessions of the launches whose answers are read.
        var sessions: [LaunchID: String] = [:]
        /// Reports of progress that the engine has not taken, by task.
        var progress: [LaunchID: [String: ProgressReport]] = [:]
        /// The leaders of their process groups.
        var processes: [LaunchID: Int32] = [:]
        /// Seconds of processor time of jobs that have ended.
        var used: [LaunchID: Double] = [:]
        /// Launches of processes that run by themselves.
        var residents: Set<LaunchID> = []
    }

    init(_ queue: TransferQueue) {
        self.queue = queue
        answers = HostAnswers { (answer, session) throws(LonghaulError) in
            try queue.apply(answer, session: session)
        }
    }

    func listen(_ report: @escaping @Sendable (HostReport) -> Void) {
        state.withLock { $0.report = report }
    }

    func obstacle(_ program: String) -> LaunchObstacle? { Executable.obstacle(program) }

    func isAttached(_ host: String) -> Bool {
        // The kernel notifies the thread when it goes away.
        _ = watch()
        return HostLock.isHeld(host, in: queue.directory)
    }

    func isAlive(_ resident: StoredResident) -> Bool {
        resident.process.isAlive(on: queue.machine)
    }

    func prepare(_ order: LaunchOrder) {
        guard let watch = watch() else {
            return report(.notPrepared(order.id, message: "no thread or descriptor is left"))
        }
        if let resident = order.resident { return prepare(order, for: resident, watch) }
        watch.perform { [self] loop in
            let made = HostHandover(queue: queue, order: order).make(loop)
            if case .prepared(let launch) = made {
                state.withLock {
                    $0.sessions[order.id] = order.session
                    $0.processes[order.id] = launch.process.pid
                }
            }
            report(made)
        }
    }

    private func prepare(
        _ order: LaunchOrder, for resident: StoredResident, _ watch: HostsWatch
    ) {
        state.withLock { _ = $0.residents.insert(order.id) }
        watch.perform { [self] loop in
            let made = HostHandover(queue: queue, order: order).make(for: resident)
            if case .prepared = made,
                !loop.watch(order.id.rawValue, resident.process.identity)
            {
                return report(.nothingToDo(order.id))
            }
            report(made)
        }
    }

    /// The process keeps running.
    private func forgetResident(_ id: LaunchID) -> Bool {
        guard state.withLock({ $0.residents.remove(id) }) != nil else { return false }
        watch()?.perform { $0.forget(id.rawValue) }
        return true
    }

    func begin(_ id: LaunchID) {
        watch()?.perform { $0.begin(id.rawValue) }
    }

    func discard(_ id: LaunchID) {
        if forgetResident(id) { return }
        state.withLock {
            $0.sessions[id] = nil
            $0.processes[id] = nil
        }
        watch()?.perform { $0.discard(id.rawValue) }
    }

    func adopt(_ launch: StoredLaunch) -> Bool {
        if launch.resident != nil { return adoptResident(launch) }
        let log = launch.isOfJob ? log(of: launch) : nil
        guard let identity = identity(of: launch), identity.isAlive, let watch = watch() else {
            if let log, log.end != nil {
                reportEnd(of: launch.id, log)
                return true
            }
            HostsWatch.removeStreams(of: launch.id.rawValue, in: queue.directory)
            return false
        }
        state.withLock {
            $0.sessions[launch.id] = launch.session
            $0.processes[launch.id] = identity.pid
        }
        let marks = HostEnvironment.marks(launch.id, queue.directory)
        watch.perform { [self] loop in
            if loop.adopt(launch.id.rawValue, identity, marks: marks, log: log) { return }
            // Between the look above and this one.
            if let log { return reportEnd(of: launch.id, log) }
            report(.ended(launch.id, .unknown, status: nil, output: ""))
        }
        return true
    }

    private func log(of launch: StoredLaunch) -> JobLog {
        JobLog(of: launch.host, run: launch.id.rawValue, in: queue.directory)
    }

    /// The end of a run that no engine saw, as its log tells it.
    private func reportEnd(of id: LaunchID, _ log: JobLog) {
        receive(
            .ended(
                id.rawValue, log.end?.end ?? .unknown,
                output: log.tail(atMost: launchOutputBytes),
                processorSeconds: log.end?.processorSeconds))
    }

    private func adoptResident(_ launch: StoredLaunch) -> Bool {
        guard let process = launch.process, process.isAlive(on: queue.machine),
            let watch = watch()
        else { return false }
        state.withLock { _ = $0.residents.insert(launch.id) }
        watch.perform { [self] loop in
            if !loop.watch(launch.id.rawValue, process.identity) {
                report(.ended(launch.id, .unknown, status: nil, output: ""))
            }
        }
        return true
    }

    /// `nil`: there was no process, or it was another boot's.
    private func identity(of launch: StoredLaunch) -> ProcessIdentity? {
        guard let process = launch.process, process.bootID == BootID.current?.text else {
            return nil
        }
        return process.identity
    }

    func end(_ id: LaunchID, killing: Bool) {
        if state.withLock({ $0.residents.contains(id) }) {
            guard killing, forgetResident(id) else { return }
            return report(.ended(id, .unknown, status: nil, output: ""))
        }
        watch()?.perform { $0.end(id.rawValue, killing: killing) }
    }

    func processorSeconds(of id: LaunchID) -> Double? {
        if let used = state.withLock({ $0.used.removeValue(forKey: id) }) { return used }
        return state.withLock { $0.processes[id] }.flatMap { ProcessGroup.processorSeconds($0) }
    }

    func recordAnswers(of id: LaunchID) throws(LonghaulError) {
        try answers.recordKept(of: id)
    }

    func takeProgress(of id: LaunchID) -> [String: ProgressReport] {
        state.withLock { $0.progress.removeValue(forKey: id) } ?? [:]
    }

    /// The engine is notified once of all that come before it looks: a program may report without
    /// a pause, and about tasks that do not exist.
    private func receive(_ answer: ProgressAnswer, of id: LaunchID) {
        let isFirst = state.withLock { state in
            var reports = state.progress[id] ?? [:]
            let isFirst = reports.isEmpty
            let known = reports[answer.identifier]
            if known == nil, reports.count == reportedTasksMaximum { return false }
            reports[answer.identifier] = known?.followed(by: answer.report) ?? answer.report
            state.progress[id] = reports
            return isFirst
        }
        if isFirst { report(.progress(id)) }
    }

    func dropAnswers(of id: LaunchID) { answers.drop(of: id) }

    func stop() {
        let watch = state.withLock { state in
            state.report = nil
            defer { state.watch = nil }
            return state.watch
        }
        watch?.stop()
    }

    // MARK: -

    private func report(_ report: HostReport) {
        state.withLock { $0.report }?(report)
    }

    private func watch() -> HostsWatch? {
        state.withLock { state in
            if state.watch == nil, state.report != nil {
                state.watch = try? HostsWatch(
                    directory: queue.directory, keeping: launchOutputBytes
                ) { [weak self] in self?.receive($0) }
            }
            return state.watch
        }
    }

    private func receive(_ notice: HostNotice) {
        switch notice {
        case .attachments: report(.attachments)
        case .line(let number, let line):
            let id = LaunchID(rawValue: number)
            if let answer = TaskAnswer(line) {
                return report(.result(id, task: answer.identifier, answer.result))
            }
            if let answer = ProgressAnswer(line) { return receive(answer, of: id) }
            guard let session = state.withLock({ $0.sessions[id] }),
                let answer = InputAnswer(line)
            else { return }
            let waits = answers.accept(answer, of: id, session: session) {
                report(.answerRefused(id, message: "\(answer.transfer): \($0.message)"))
            }
            if waits { report(.answersWait(id)) }
        case .ended(let number, let end, let output, let used):
            let id = LaunchID(rawValue: number)
            state.withLock {
                $0.sessions[id] = nil
                $0.processes[id] = nil
                $0.residents.remove(id)
                $0.used[id] = used
            }
            switch end {
            case .exited(let status):
                report(.ended(id, .exited, status: Int(status), output: output))
            case .signalled(let signal):
                report(.ended(id, .signalled, status: Int(signal), output: output))
            case .exceededMemory:
                report(.ended(id, .exceededMemory, status: nil, output: output))
            case .unknown: report(.ended(id, .unknown, status: nil, output: output))
            }
        }
    }
}
