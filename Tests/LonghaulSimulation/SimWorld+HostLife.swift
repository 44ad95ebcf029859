import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// A life with hosts: trouble for a while, and in the end every event is told and acknowledged.
extension SimWorld {
    func liveWithHosts(steps: Int = 150) throws {
        try beginWithHosts(withTasks: false)
        for _ in 0..<steps {
            if random.happens(hosts?.trouble.people ?? 0) { try peopleActOnHosts() }
            try stepInTrouble()
        }
        try makePeaceWithHosts()
        try checkHostsAtRest()
        finishTally()
    }

    func beginWithHosts(withTasks: Bool) throws {
        let hosts = SimHosts(self, seed: random.next())
        self.hosts = hosts
        trouble = SimTrouble(&random)
        calmTransfers()
        disk.trouble = trouble
        wire.trouble = trouble
        hosts.trouble = SimHostTrouble(&random)
        if withTasks {
            hosts.tasks = SimTasks(hosts)
            hosts.jobs = SimJobs(hosts)
            if random.happens(0.2) { hostNames = (0..<20).map { "h\($0)" } }
        }
        say("\(trouble) \(hosts.trouble)")
        hosts.most = [Limits.eventsPerLaunch, Limits.eventsPerLaunch, 4]
            .randomElement(using: &random)!
        hosts.page = [200, 2].randomElement(using: &random)!
        policy.limits.running = [2, 5, 16].randomElement(using: &random)!
        setConditions()
        wire.forget()
        disk.kill()
        try startEngine()
        for host in hostNames where random.happens(0.7) { try add(host: host) }
        for session in Self.sessionNames where random.happens(0.7) {
            let host = hosts.ledger.hosts.keys.sorted().randomElement(using: &random)
            try change(session) { $0.host = .some(host) }
        }
        for session in Self.sessionNames where random.happens(0.3) {
            try change(session) { $0.askBeforeStart = true }
        }
        for _ in 0..<Int.random(in: 2...7, using: &random) {
            try enqueue(inSession: Self.sessionNames.randomElement(using: &random)!)
        }
    }

    /// Of the transfers' own troubles those that have little to do with who is told.
    private func calmTransfers() {
        trouble.lie = 0
        trouble.foreign = 0
        trouble.change = 0
        trouble.move = 0
        trouble.stall /= 4
        trouble.cut /= 2
        trouble.removals /= 2
        trouble.directory = 0
        trouble.enqueues = 0
    }

    func makePeaceWithHosts() throws {
        guard let hosts else { return }
        say("PEACE WITH HOSTS")
        trouble = .none
        hosts.trouble = .none
        hosts.poisoned = []
        hosts.obstacles = [:]
        hosts.attached = []
        for resident in hosts.residents { try hosts.leave(resident) }
        hosts.reports.append(.attachments)
        // Those that run leave their events to the next ones, which answer.
        for id in hosts.processes.keys where hosts.processes[id]?.begunAt != nil {
            hosts.processes[id]?.deeds = [(now.monotonic, .exit(1))]
        }
        for host in hostNames { try add(host: host) }
        for session in Self.sessionNames + [TransferRequest.defaultSession] {
            try change(session) { change in
                change.launchEvents = true
                if hosts.ledger.settings[session]?.host == nil { change.host = .some("h0") }
            }
        }
        for id in expected.keys.sorted() { _ = try clients.questions.answerInput(id) }
        try endTrouble()
        try settleFrequentTasks()
        try completeAll()
        try settleHosts()
    }

    private func settleHosts() throws {
        guard let hosts else { return }
        let end = now.monotonic + Self.patienceSeconds
        while true {
            let waiting = hosts.ledger.log.filter {
                $0.value.isWaiting && $0.value.type != .transferRestarted
            }
            if waiting.isEmpty, hosts.processes.isEmpty, !hosts.isBusy, !hasNews { return }
            guard now.monotonic < end else {
                throw SimComplaint("hosts: still waiting: \(waiting)", self)
            }
            pass(max(0.05, min(secondsToNext(), 60)))
            for _ in 0..<8 { disk.step() }
            if isTurnDue { try turn() }
            if isDead { throw SimComplaint("the engine died in peace", self) }
        }
    }

    func checkHostsAtRest() throws {
        guard let hosts else { return }
        try checkAtRest()
        try hosts.look()
        if let open = try clients.hosts.openLaunches().first {
            throw SimComplaint("hosts: \(open) has not ended", self)
        }
        for (seq, fact) in hosts.ledger.log where fact.timesHanded == 0 && !fact.isExplained {
            if fact.type == .transferRestarted { continue }
            throw SimComplaint("hosts: event \(seq) was told nobody", self)
        }
        var last: [String: EventType] = [:]
        for seq in hosts.ledger.log.keys.sorted() {
            guard let fact = hosts.ledger.log[seq] else { continue }
            last[fact.session] = fact.type
            if fact.type == .sessionFinished { hosts.tally.finished += 1 }
        }
        for (session, type) in last
        where session != TransferRequest.defaultSession && type != .sessionFinished {
            throw SimComplaint("hosts: the last word of \(session) is \(type)", self)
        }
    }
}
