import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What processes do as time passes, whether an engine looks or not.
extension SimHosts {
    static let commandsAtOnce = 6

    /// Called whenever the clock has gone on. What goes wrong is said at the end of the turn.
    func advance() {
        do {
            noteClock()
            try advanceResidents()
            jobs?.advance()
            tasks?.names.advance()
            for id in processes.keys.sorted() { try act(id) }
            try follow()
            let isPeace = trouble.people == 0 && trouble.spawn == 0
            let most = isPeace ? 50 : Int.random(in: 0...Self.commandsAtOnce, using: &random)
            for _ in 0..<most where !commands.isEmpty { try step() }
        } catch {
            world.complain("\(error)")
        }
    }

    var isBusy: Bool { !commands.isEmpty || !reports.isEmpty }

    var nextMoment: Instant? {
        let deeds = processes.values.compactMap { $0.begunAt == nil ? nil : $0.deeds.first?.at }
        let ends = [jobs?.nextMoment, tasks?.names.nextMoment].compactMap { $0 }
        return (deeds + attached.map(\.until) + residents.map(\.until) + ends).min()
    }

    private func act(_ id: LaunchID) throws {
        while let process = processes[id], process.begunAt != nil,
            let deed = process.deeds.first, deed.at <= now
        {
            processes[id]?.deeds.removeFirst()
            world.say("hosts: launch \(id.rawValue): \(deed.what)")
            switch deed.what {
            case .acknowledge(let seqs): try acknowledge(seqs, of: process.order.eventSession)
            case .enqueue:
                if let session = process.order.session { try world.enqueue(inSession: session) }
            case .answer(let transfer, let answer) where process.isResident:
                try take(answer, of: transfer, session: process.order.eventSession)
            case .answer(let transfer, let answer):
                processes[id]?.lines.append((transfer, answer))
            case .tell(let task, let result) where process.isResident:
                try reportResult(id, task, result)
            case .tell(let task, let result): processes[id]?.results.append((task, result))
            case .report(let task): try reportProgress(id, task)
            case .attach(let seconds): try attach(process.host, seconds)
            case .exit(let status) where process.isResident: try reportEnd(id, .exited, status)
            case .die(let number) where process.isResident: try reportEnd(id, .signalled, number)
            case .exit(let status): try end(id, .exited, status)
            case .die(let number): try end(id, .signalled, number)
            }
        }
        try hear(id)
    }

    /// What it has written is read by an engine that watches it.
    private func hear(_ id: LaunchID) throws {
        guard let process = processes[id], isWatching(id) else { return }
        for (transfer, answer) in process.lines {
            let session = process.order.eventSession
            if keptAnswers[id] != nil {
                keptAnswers[id]?.append((transfer, answer, session))
            } else if isRefused() {
                keptAnswers[id] = [(transfer, answer, session)]
                reports.append(.answersWait(id))
            } else {
                try take(answer, of: transfer, session: session)
            }
        }
        processes[id]?.lines = []
        hearProgress(id)
        reports += process.results.map { .result(id, task: $0.0, $0.1) }
        processes[id]?.results = []
    }

    /// The store can take no answer now.
    private func isRefused() -> Bool {
        if refusals > 0 {
            refusals -= 1
            return true
        }
        return random.happens(trouble.unwritten)
    }

    func recordAnswers(of id: LaunchID) throws(LonghaulError) {
        if isRefused() {
            tally.refusals += 1
            world.storeFailedAt = now
            throw LonghaulError(.storeUnavailable, "simulated: the disk is full")
        }
        for (transfer, answer, session) in keptAnswers.removeValue(forKey: id) ?? [] {
            do {
                try take(answer, of: transfer, session: session)
            } catch {
                world.complain("\(error)")
            }
        }
    }

    func dropAnswers(of id: LaunchID) {
        keptAnswers[id] = nil
        ledger.unsettled[id]?.hasLostAnswers = true
    }

    func isWatching(_ id: LaunchID) -> Bool {
        isEngineThere && ledger.watched[id] != nil
    }

    private func end(_ id: LaunchID, _ ending: LaunchEnding, _ status: Int) throws {
        try hear(id)
        guard let process = processes.removeValue(forKey: id) else { return }
        guard isWatching(id) else { return }
        let isKnown = process.parent == engine
        reports.append(
            .ended(
                id, isKnown ? ending : .unknown, status: isKnown ? status : nil, output: ""))
    }

    /// As the launcher does.
    private func take(
        _ answer: SimProcess.Answer, of id: TransferID, session: String
    ) throws {
        guard try world.clients.questions.waitsForInput(id, session: session) else { return }
        tally.answers += 1
        hasHeard = true
        switch answer {
        case .goOn: _ = try world.clients.questions.answerInput(id)
        case .cancel: try world.change(id, .cancel(keepBytes: false))
        case .use:
            guard let url = world.expected[id]?.url else { return }
            let other = world.sibling(of: url)
            var change = RequestChange()
            change.url = (other, SimWire.origin(of: other))
            world.expected[id]?.url = other
            world.expected[id]?.isExempt = true
            world.expected[id]?.notBefore = nil
            try world.clients.wants.change(id, change, now: world.now.wall)
        }
        world.hintHosts()
    }

    func acknowledge(_ seqs: [Int64], of session: String) throws {
        guard let last = seqs.last else { return }
        ledger.explain(seqs)
        // Through a number, where that is the same.
        if ledger.waiting(of: session).filter({ $0 <= last }) == seqs {
            _ = try world.clients.events.acknowledge(
                through: last, session: session, now: world.now.wall)
        } else {
            for seq in seqs where ledger.log[seq] != nil {
                try world.clients.events.acknowledge(event: seq, now: world.now.wall)
            }
        }
        tally.acknowledged += seqs.count
        for seq in seqs { ledger.log[seq]?.isAcknowledged = true }
        world.hintHosts()
    }

    // MARK: - Attached ones

    func attach(_ host: String, _ seconds: Double) throws {
        guard ledger.hosts[host] != nil else { return }
        tally.attachments += 1
        world.say("hosts: \(host) attaches itself")
        try world.clients.hosts.reset(host, now: world.now.wall)
        ledger.hosts[host]?.forgive()
        tasks?.forgive(host)
        let isSlow = Bool.random(using: &random)
        attached.append((host, now + seconds, isSlow))
        world.hintHosts()
    }

    /// They get their events live, and acknowledge some.
    private func follow() throws {
        let gone = attached.filter { $0.until <= now }
        attached.removeAll { $0.until <= now }
        for process in gone {
            world.say("hosts: an attached \(process.host) goes away")
            if isEngineThere { reports.append(.attachments) }
        }
        for process in attached {
            for session in ledger.sessions(of: process.host) where random.happens(0.2) {
                let events = try world.clients.events.list(
                    session: session, isWaiting: true, limit: 1000)
                if events.isEmpty { continue }
                // Of an engine or a housekeeper that had no turn since.
                if events.contains(where: { ledger.log[$0.seq] == nil }) {
                    world.look()
                    try look()
                }
                try checkRead(events)
                ledger.note(handed: events, &tally)
                if process.isSlow, Bool.random(using: &random) { continue }
                let count = Int.random(in: 0...events.count, using: &random)
                try acknowledge(events.prefix(count).map(\.seq), of: session)
            }
        }
    }
}
