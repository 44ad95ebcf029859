import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// A process of a host that runs by itself and takes what the host is handed.
struct SimResident {
    var stored: StoredResident
    /// Then it goes: in order, or it dies.
    let until: Instant
}

/// Resident processes read in the store what they are handed, and write there what they have done,
/// whether an engine looks or not.
extension SimHosts {
    func isAlive(_ resident: StoredResident) -> Bool {
        residents.contains { $0.stored.process == resident.process }
    }

    private func resident(of id: LaunchID) -> SimResident? {
        guard let process = processes[id]?.identity else { return nil }
        return residents.first { $0.stored.process == process }
    }

    func enter(_ host: String, _ seconds: Double) throws {
        guard ledger.hosts[host] != nil else { return }
        try world.clients.hosts.reset(host, now: world.now.wall)
        ledger.hosts[host]?.forgive()
        tasks?.forgive(host)
        nextPID += 1
        let process = LaunchedProcess(
            pid: nextPID, startTicks: now.nanoseconds / 10_000_000, bootID: "boot-\(boot)")
        let stored = try record(process, of: host)
        world.say("hosts: \(host) runs by itself, as \(stored.id.rawValue)")
        tally.residents += 1
        residents.append(SimResident(stored: stored, until: now + seconds))
    }

    private func record(
        _ process: LaunchedProcess, of host: String
    ) throws -> StoredResident {
        defer { world.hintHosts() }
        return try world.clients.residents.enter(host, process) { other in
            residents.contains { $0.stored.process == other }
        }
    }

    // MARK: - As time passes

    func advanceResidents() throws {
        for resident in residents where resident.until <= now {
            if Bool.random(using: &random) { try leave(resident) } else { die(resident) }
        }
        for index in residents.indices { try look(at: index) }
    }

    /// A launch of a resident process counts from the commit on, whether the process reads it or
    /// not.
    func handOver(_ order: LaunchOrder) {
        ledger.unsettled[order.id] = SimHostLedger.Truth(host: order.host, isResident: true)
        tasks?.handOver(order)
    }

    /// The process gives back what it has not ended.
    func leave(_ resident: SimResident) throws {
        world.say("hosts: resident \(resident.stored.id.rawValue) leaves")
        for id in remove(resident) where try world.clients.residents.course(of: id) == .goesOn {
            ledger.givenBack.insert(id)
        }
        try world.clients.residents.leave(resident.stored.id)
        hasHeard = true
        world.hintHosts()
    }

    private func die(_ resident: SimResident) {
        world.say("hosts: resident \(resident.stored.id.rawValue) dies")
        for id in remove(resident) where isWatching(id) {
            reports.append(.ended(id, .unknown, status: nil, output: ""))
        }
    }

    /// - Returns: The launches that it had.
    @discardableResult private func remove(_ resident: SimResident) -> [LaunchID] {
        residents.removeAll { $0.stored.process == resident.stored.process }
        let ids = processes.keys.filter {
            processes[$0]?.identity == resident.stored.process
        }.sorted()
        for id in ids { processes[id] = nil }
        // A launch may be recorded, and not read by the process yet.
        let others = ledger.watched.filter { id, entry in
            entry.order.resident?.process == resident.stored.process && !entry.isOver
                && entry.isPrepared && !ids.contains(id)
        }
        return ids + others.keys.sorted()
    }

    private func look(at index: Int) throws {
        let stored = residents[index].stored
        if let id = processes.keys.sorted().first(where: {
            processes[$0]?.identity == stored.process
        }) {
            switch try world.clients.residents.course(of: id) {
            case .goesOn, .ended: break
            case .expired where processes[id]?.isRequested == false:
                world.say("hosts: resident \(stored.id.rawValue) is to end launch \(id.rawValue)")
                processes[id]?.isRequested = true
                processes[id]?.term(at: now, &random)
            case .expired: break
            }
            return
        }
        if let (launch, tasks) = try world.clients.residents.launch(of: stored.id) {
            return try take(launch, tasks)
        }
        if try !world.clients.residents.isPresent(stored.id), ledger.hosts[stored.host] != nil {
            residents[index].stored = try record(stored.process, of: stored.host)
        }
    }

    /// An engine that adopts the launch comes after the process.
    func adoptResident(_ launch: StoredLaunch) -> Bool {
        guard let index = residents.firstIndex(where: { $0.stored.process == launch.process })
        else { return false }
        do {
            if processes[launch.id] == nil { try look(at: index) }
        } catch {
            world.complain("\(error)")
        }
        if let process = processes[launch.id] {
            ledger.adopt(process, at: now)
            adoptContinued(process)
        } else {
            // The launch has ended, and the process has said so.
            var entry = SimHostLedger.Watched(order: LaunchOrder(launch))
            entry.letGoAt = began(launch)
            entry.adoptedAt = now
            ledger.watched[launch.id] = entry
        }
        // The engine before has told the process, which the next one does not do again.
        if launch.requested != nil { ledger.watched[launch.id]?.askedAt = now }
        tally.adopted += 1
        return true
    }

    private func take(_ launch: StoredLaunch, _ carried: [StoredTask]) throws {
        guard let identity = launch.process else { return }
        var events: [StoredEvent] = []
        var needs: [TransferID] = []
        if let range = launch.events, let session = launch.session {
            let reader = try HandoverReader(
                world.clients, session: session, within: range, limit: most, now: world.now.wall)
            needs = reader.needs.map(\.transfer.id)
            events = try world.clients.events.list(
                session: session, isWaiting: true, limit: 100_000
            ).filter { range.contains($0.seq) }
        }
        var process = SimProcess(
            identity: identity, order: ledger.watched[launch.id]?.order ?? LaunchOrder(launch),
            needs: needs, events: events, tasks: carried, parent: engine, isResident: true)
        process.begunAt = now
        process.letGoAt = ledger.watched[launch.id]?.letGoAt ?? began(launch)
        tally.launches += 1
        tally.residentLaunches += 1
        world.say("hosts: launch \(launch.id.rawValue) is taken by a resident")
        try checkBegin(process)
        try tasks?.begin(process)
        ledger.note(handed: events, &tally)
        let isPoisoned = poisoned.contains(process.order.eventSession)
        process.plan(trouble, isPoisoned: isPoisoned, from: now, &random)
        processes[launch.id] = process
    }

    /// An engine that died recorded it.
    private func began(_ launch: StoredLaunch) -> Instant {
        let seconds = world.now.wall - launch.startedAt
        let ordered = ledger.orderedAt[launch.id] ?? now
        if ledger.hasJumped(since: ordered) { return ordered }
        return max(ordered, now + -max(0, seconds))
    }

    // MARK: - What it says

    func reportResult(_ id: LaunchID, _ task: String, _ result: TaskResult) throws {
        let isTaken = try world.clients.residents.add(
            LaunchReport(launch: id, content: .result(task: task, result)))
        if isTaken { tasks?.noteDurable(id, task, result) }
        hasHeard = true
        world.hintHosts()
    }

    func reportEnd(_ id: LaunchID, _ ending: LaunchEnding, _ status: Int) throws {
        guard ending == .exited else {
            if let resident = resident(of: id) { die(resident) }
            return
        }
        if try world.clients.residents.add(
            LaunchReport(launch: id, content: .ended(status: status)))
        {
            ledger.unsettled[id]?.ending = .exited
            ledger.unsettled[id]?.status = status
        }
        processes[id] = nil
        hasHeard = true
        world.hintHosts()
    }

    /// The end of a launch that the store has is known whatever happens to the engine.
    func engineIsGoneForResidents() throws {
        for id in ledger.unsettled.keys where ledger.unsettled[id]?.isResident == true {
            let row = try world.clients.hosts.launch(id)
            ledger.unsettled[id]?.wasAsked = row?.requested != nil
        }
    }
}
