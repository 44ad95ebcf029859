import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What the programs of continued tasks have reported.
struct SimContinued {
    /// Reports that the engine has not taken.
    var reports: [LaunchID: [String: ProgressReport]] = [:]
    /// Launches of resident processes that have reported since the last turn.
    var residents: Set<LaunchID> = []
}

/// Continued tasks: some report their progress until they are done, some fall silent, and people
/// stop some. The budget of such a launch counts from its last report, so the checks of budgets say
/// that none runs on in silence, and that none is ended while it reports.
extension SimHosts {
    /// A line of the program, or a row that a resident process writes.
    func reportProgress(_ id: LaunchID, _ task: String) throws {
        let report = ProgressReport(
            TaskProgress(
                completedUnitCount: Int64.random(in: 0...100, using: &random), totalUnitCount: 100))
        guard processes[id]?.isResident == true else {
            processes[id]?.reports.append((task, report))
            return
        }
        if try world.clients.residents.record(report, of: task, in: id) {
            tally.reports += 1
            continued.residents.insert(id)
            world.hintHosts()
        }
    }

    /// An engine that watches the process reads what it has written.
    func hearProgress(_ id: LaunchID) {
        guard let written = processes[id]?.reports, !written.isEmpty else { return }
        processes[id]?.reports = []
        for (task, report) in written { continued.reports[id, default: [:]][task] = report }
        tally.reports += written.count
        reports.append(.progress(id))
    }

    func takeProgress(of id: LaunchID) -> [String: ProgressReport] {
        guard let taken = continued.reports.removeValue(forKey: id) else { return [:] }
        putOffEnd(of: id)
        return taken
    }

    /// After a turn, which has looked at the rows of resident processes.
    func noteResidentProgress() {
        for id in continued.residents { putOffEnd(of: id) }
        continued.residents = []
    }

    private func putOffEnd(of id: LaunchID) {
        if ledger.watched[id]?.letGoAt != nil { ledger.watched[id]?.letGoAt = now }
        // Reports count by a clock that nobody sets, whichever engine began the launch.
        if ledger.watched[id]?.adoptedAt != nil { ledger.watched[id]?.adoptedAt = now }
    }

    /// Its minute begins with the engine that adopts it.
    func adoptContinued(_ process: SimProcess) {
        guard process.isContinued else { return }
        ledger.watched[process.order.id]?.letGoAt = now
    }
}

extension SimProcess {
    var isContinued: Bool { tasks.contains { $0.kind == .continued } }

    /// Draws how often it reports, when it falls silent, and how it ends. It may outlive its minute
    /// many times.
    mutating func planContinued(
        _ trouble: SimHostTrouble, from now: Instant, _ random: inout SeededGenerator
    ) {
        manners = [.dies, .dies, .ignores, .exits(0), .exits(1)].randomElement(using: &random)!
        let identifier = tasks[0].request.identifier
        let pace: Double = [0.3, 5, 20, 45].randomElement(using: &random)!
        var at = now + Double.random(in: 0...0.3, using: &random)
        for _ in 0..<Int.random(in: 0...10, using: &random) {
            deeds.append((at, .report(identifier)))
            at = at + pace
        }
        if random.happens(trouble.hangs) { at = at + Double.random(in: 30...150, using: &random) }
        if random.happens(trouble.tells) {
            let results: [TaskResult] = [.success, .noData, .failure, .deferred]
            deeds.append((at, .tell(identifier, results.randomElement(using: &random)!)))
        }
        if random.happens(trouble.fails) {
            deeds.append((at, .exit(Int.random(in: 1...127, using: &random))))
        } else if random.happens(trouble.dies) {
            deeds.append((at, .die(signal: [6, 9, 11, 15].randomElement(using: &random)!)))
        } else {
            deeds.append((at, .exit(0)))
        }
    }
}

extension SimTasks {
    /// Clients have cancelled these: the runs of continued tasks are to be ended.
    func noteStopped(where isCancelled: (SimTask) -> Bool) {
        for (number, task) in entries where task.isContinued && isCancelled(task) {
            entries[number]?.isStopped = true
            entries[number]?.isToExpire = true
        }
    }
}

extension SimTask {
    var isContinued: Bool { request.kind == .continued }
}

extension SimWorld {
    /// Work that a person begins.
    func continuedRequest(_ identifier: String, _ host: String) -> TaskRequest {
        var request = TaskRequest(
            identifier: identifier, continued: ContinuedWork(title: "work"), host: host)
        if random.happens(0.2) { request.requirements = ConditionNeeds(power: true) }
        request.expiresWhenRequirementIsLost = random.happens(0.8)
        request.returnsAfterExpiration = random.happens(0.7)
        return request
    }
}

// MARK: - What a launch may take

extension SimTasks {
    /// The longest that anything may take that it carries.
    func budget(of order: LaunchOrder, _ host: SimHostLedger.Host) throws -> Double {
        let kinds = try hosts.world.clients.tasks.waiting(order.tasks).map(\.kind)
        if kinds.contains(.continued) {
            guard kinds.count == 1, order.session == nil else {
                throw hosts.broken("a continued task shares \(order)")
            }
            return Limits.progressSeconds
        }
        let long = host.taskBudget ?? 600
        guard kinds.contains(.processing) else { return host.seconds }
        let isAlone = order.session == nil && kinds.allSatisfy { $0 == .processing }
        return isAlone ? long : max(host.seconds, long)
    }

    /// No delay holds it back: urgent wake-ups, and what a client has asked to be launched.
    func isUrgent(_ order: LaunchOrder) throws -> Bool {
        try hosts.world.clients.tasks.waiting(order.tasks).contains {
            let task = entries[SimTask.number(of: $0)]
            return task?.isUrgent == true || task?.isSimulated == true || $0.kind == .continued
        }
    }
}
