internal import FoundationEssentials
internal import Longhaul
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// The programs of a simulated world: each launch is a Swift task of this process.
final class SimulatedHosts: HostPort {
    typealias Program = @Sendable () async throws -> Void

    private struct Running {
        let launch: SimulatedLaunch
        /// The launch's place among the records.
        let place: Int
        let program: Program
        var task: Task<Void, Never>?
    }

    private struct State {
        var programs: [String: Program] = [:]
        var orders: [LaunchOrder] = []
        var running: [LaunchID: Running] = [:]
        var records: [SimulatedWorld.Launch] = []
        /// Reports of progress that the engine has not taken, by task.
        var progress: [LaunchID: [String: ProgressReport]] = [:]
        var reports: [HostReport] = []
    }

    private let queue: TransferQueue
    private let clock: VirtualClock
    private let sleepers: Sleepers
    private let state = Mutex(State())

    init(_ queue: TransferQueue, _ clock: VirtualClock, _ sleepers: Sleepers) {
        self.queue = queue
        self.clock = clock
        self.sleepers = sleepers
    }

    // MARK: - For the world

    func setProgram(of host: String, _ program: @escaping Program) {
        state.withLock { $0.programs[host] = program }
    }

    var records: [SimulatedWorld.Launch] { state.withLock { $0.records } }

    /// True if a part of it proceeds without the world.
    var areComputing: Bool {
        state.withLock { state in
            state.running.values.contains { $0.task != nil && $0.launch.waits.areComputing }
        }
    }

    func takeReports() -> [HostReport] {
        state.withLock { state in
            defer { state.reports = [] }
            return state.reports
        }
    }

    /// Carries out the orders.
    func carryOut() {
        let orders = state.withLock { state in
            defer { state.orders = [] }
            return state.orders
        }
        for order in orders {
            let report = make(order)
            state.withLock { $0.reports.append(report) }
        }
    }

    /// The engine was killed. Running launches continue; orders not begun are lost.
    func crash() {
        state.withLock { state in
            state.orders = []
            state.reports = []
            state.running = state.running.filter { $0.value.task != nil }
        }
    }

    /// The machine stops, with all running hosts.
    func end() {
        let tasks = state.withLock { state in
            defer { state.running = [:] }
            return state.running.values.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
    }

    // MARK: - Launches

    private func make(_ order: LaunchOrder) -> HostReport {
        let known: Program? =
            if let resident = order.resident {
                SimulatedResidents.program(of: resident.id, in: queue.directory)
            } else {
                state.withLock { $0.programs[order.host] }
            }
        guard let program = known else {
            // The program has left meanwhile.
            if order.resident != nil { return .nothingToDo(order.id) }
            return .notPrepared(
                order.id, message: "the simulated world has no program of \(order.host)")
        }
        var input: [UInt8] = []
        do {
            let gathered = try HostHandover(queue: queue, order: order).gather {
                input += $0
            }
            guard let gathered,
                let launch = SimulatedLaunch(
                    environment: gathered.environment, input: Data(input),
                    sleep: { [sleepers, clock] in
                        try await sleepers.sleep(until: clock.now.monotonic + $0)
                    },
                    result: { [weak self] in self?.record($1, of: $0, order.id) },
                    progress: { [weak self] in self?.record($1, of: $0, order) })
            else { return .nothingToDo(order.id) }
            add(launch, order, program)
            return .prepared(
                PreparedLaunch(
                    id: order.id, handover: gathered.handover,
                    process: order.resident?.process
                        ?? LaunchedProcess(
                            pid: 1, startTicks: 0, bootID: queue.machine.bootID ?? "")))
        } catch {
            return .notPrepared(order.id, message: "\(error)")
        }
    }

    private func add(_ launch: SimulatedLaunch, _ order: LaunchOrder, _ program: @escaping Program)
    {
        let record = SimulatedWorld.Launch(
            host: order.host, reason: launch.launch.reason, session: launch.launch.session,
            tasks: launch.launch.tasks.map(\.identifier), date: Date(clock.now.wall))
        state.withLock { state in
            state.running[order.id] = Running(
                launch: launch, place: state.records.count, program: program)
            state.records.append(record)
        }
    }

    private func record(_ result: TaskResult, of task: String, _ id: LaunchID) {
        state.withLock { state in
            // A launch that was killed says nothing more.
            guard let running = state.running[id] else { return }
            state.records[running.place].results[task] = result
            state.reports.append(.result(id, task: task, result))
        }
    }

    private func record(_ report: ProgressReport, of task: String, _ order: LaunchOrder) {
        let id = order.id
        if order.resident != nil {
            _ = try? queue.store.residents.record(report, of: task, in: id)
        }
        state.withLock { state in
            guard state.running[id] != nil else { return }
            let known = state.progress[id]?[task]
            state.progress[id, default: [:]][task] = known?.followed(by: report) ?? report
            state.reports.append(.progress(id))
        }
    }

    private func hasEnded(_ id: LaunchID, _ ending: LaunchEnding, status: Int?) {
        let now = Date(clock.now.wall)
        state.withLock { state in
            guard let running = state.running.removeValue(forKey: id) else { return }
            state.records[running.place].end = now
            state.records[running.place].exitStatus = ending == .exited ? status : nil
            state.reports.append(.ended(id, ending, status: status, output: ""))
        }
    }

    // MARK: - For the engine

    func listen(_ report: @escaping @Sendable (HostReport) -> Void) {}

    func obstacle(_ program: String) -> LaunchObstacle? { nil }

    func isAttached(_ host: String) -> Bool {
        HostLock.isHeld(host, in: queue.directory)
    }

    func isAlive(_ resident: StoredResident) -> Bool {
        SimulatedResidents.program(of: resident.id, in: queue.directory) != nil
    }

    func prepare(_ order: LaunchOrder) { state.withLock { $0.orders.append(order) } }

    func begin(_ id: LaunchID) {
        state.withLock { state in
            guard let running = state.running[id] else { return }
            let (launch, program) = (running.launch, running.program)
            state.running[id]?.task = Task.detached { [weak self] in
                let status = await launch.run(program)
                self?.hasEnded(id, .exited, status: status)
            }
        }
    }

    func discard(_ id: LaunchID) {
        state.withLock { state in
            guard let running = state.running.removeValue(forKey: id) else { return }
            running.task?.cancel()
            state.records[running.place].end = Date(clock.now.wall)
        }
    }

    func adopt(_ launch: StoredLaunch) -> Bool {
        state.withLock { $0.running[launch.id]?.task != nil }
    }

    func end(_ id: LaunchID, killing: Bool) {
        guard let running = state.withLock({ $0.running[id] }) else { return }
        state.withLock { $0.records[running.place].wasAskedToEnd = true }
        if !killing, running.launch.terminate() { return }
        running.task?.cancel()
        hasEnded(id, .signalled, status: killing ? 9 : 15)
    }

    func processorSeconds(of id: LaunchID) -> Double? { nil }

    func takeProgress(of id: LaunchID) -> [String: ProgressReport] {
        state.withLock { $0.progress.removeValue(forKey: id) } ?? [:]
    }

    func recordAnswers(of id: LaunchID) {}

    func dropAnswers(of id: LaunchID) {}

    func stop() {}
}
