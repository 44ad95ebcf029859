import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What holds after every turn.
extension SimHosts {
    /// Reads what the store says now of events and launches.
    func look() throws {
        noteClock()
        var gone = Set(ledger.log.keys)
        for event in try world.clients.events.list(limit: 100_000) {
            gone.remove(event.seq)
            try note(event)
        }
        // An acknowledged one goes with its transfer, or after a week.
        for seq in gone.sorted() {
            if ledger.log[seq]?.isWaiting == true { throw broken("event \(seq) is lost") }
            ledger.log[seq] = nil
        }
        try settleLaunches()
        try tasks?.look()
        try jobs?.look()
        for seq in ledger.log.keys.sorted() {
            guard let fact = ledger.log[seq], fact.isAcknowledged, !fact.isExplained else {
                continue
            }
            throw broken("event \(seq) is acknowledged, and nobody did it")
        }
        try checkFinished()
    }

    private func note(_ event: StoredEvent) throws {
        let isAcknowledged = event.acknowledgedAt != nil
        guard var fact = ledger.log[event.seq] else {
            ledger.log[event.seq] = SimHostLedger.Fact(
                session: event.session, type: event.type, transfer: event.transfer,
                wall: event.at, seenAt: now, isAcknowledged: isAcknowledged)
            if ledger.log[event.seq]?.endsTransfer == true {
                ledger.ends[event.session, default: 0] += 1
            } else if event.type == .sessionFinished {
                if ledger.ends[event.session, default: 0] == 0 {
                    throw broken("\(event.session) is finished twice")
                }
                ledger.ends[event.session] = 0
            }
            return
        }
        if fact.isAcknowledged, !isAcknowledged {
            throw broken("the acknowledgement of event \(event.seq) is lost")
        }
        if isAcknowledged, !fact.isAcknowledged {
            world.say("hosts: event \(event.seq) is acknowledged")
        }
        fact.isAcknowledged = isAcknowledged
        ledger.log[event.seq] = fact
    }

    /// How launches ended is recorded as it was, and a success acknowledges all.
    private func settleLaunches() throws {
        for id in ledger.unsettled.keys.sorted() {
            guard let truth = ledger.unsettled[id], let row = try world.clients.hosts.launch(id),
                row.endedAt != nil
            else { continue }
            ledger.unsettled[id] = nil
            var ending = truth.ending ?? .unknown
            var status = truth.status
            // What it answered is not known: it is told, and asked, once more.
            if truth.hasLostAnswers, status == 0 { (ending, status) = (.unknown, nil) }
            let isSuccess = ending == .exited && status == 0
            if isSuccess, keptAnswers[id] != nil {
                throw broken("launch \(id.rawValue) succeeded, and its answers are not recorded")
            }
            // A process that runs by itself is asked by its row, which may not have been written.
            let isRequested = truth.wasAsked && (!truth.isResident || row.requested != nil)
            if isRequested, !isSuccess { ending = .expired }
            guard row.outcome?.ending == ending, row.outcome?.status == status else {
                throw broken("launch \(id.rawValue) is recorded as \(row), and was \(truth)")
            }
            if isSuccess {
                tally.succeeded += 1
                ledger.explain(truth.events)
                ledger.hosts[truth.host]?.forgive()
                let left = truth.events.filter { ledger.log[$0]?.isWaiting == true }
                if !left.isEmpty {
                    throw broken("launch \(id.rawValue) succeeded, and \(left) wait on")
                }
            } else if ending == .unknown {
                tally.unknown += 1
                // Its own engine saw it end: what it leaves behind counts.
                let isBlamed =
                    status == nil && truth.status != nil
                    && truth.events.contains { ledger.log[$0]?.isWaiting == true }
                if isBlamed { noteFailure(of: truth.host) }
            } else {
                tally.failed += 1
                // Asked to end for a reason that is not its own.
                let expiration = row.outcome?.expiration
                if expiration != .requirement, expiration != .cancelled {
                    noteFailure(of: truth.host)
                }
            }
        }
    }

    private func noteFailure(of host: String) {
        ledger.hosts[host]?.failures += 1
        ledger.hosts[host]?.failedAt = (world.now.wall, now)
    }

    /// The end of a session is told once, after all its ends.
    private func checkFinished() throws {
        for (session, count) in ledger.ends where count > 0 {
            if session == TransferRequest.defaultSession { continue }
            if isDrained(session) { throw broken("nobody says that \(session) is finished") }
        }
    }

    func isDrained(_ session: String) -> Bool {
        !world.shown.values.contains { transfer in
            let name = ledger.sessionOf[transfer.id] ?? TransferRequest.defaultSession
            return name == session && (!transfer.state.hasEnded || transfer.finishedAt == nil)
        }
    }

    // MARK: - After a turn

    func checkTurn(_ outcome: TurnOutcome) throws {
        noteClock()
        noteResidentProgress()
        let ordered = ledger.ordered
        ledger.ordered = []
        // The store could not be written just now: what follows from it comes a second later.
        tasks?.noteHolds()
        let isUnsure =
            world.isStoreFailing || now - world.storeFailedAt < 1.1 || !keptAnswers.isEmpty
        if isUnsure {
            try jobs?.checkTurn(isUnsure: true, hasDecided: false)
            return
        }
        // What was answered is looked at first, at once.
        let comesBack = outcome.wakeAt.map { $0 <= now + 0.01 } ?? false
        let hasDecided = !world.isLeaving && !(hasHeard && comesBack)
        if ledger.isJumpNews {
            // What was left counts from the turn that has noticed it and decides.
            ledger.jumped = (now, world.now.wall)
            ledger.isJumpNews = !hasDecided
        }
        for order in ordered { try checkOrder(order) }
        try checkBudgets(outcome)
        hasHeard = false
        try tasks?.checkTurn(outcome, hasDecided: hasDecided)
        try jobs?.checkTurn(isUnsure: false, hasDecided: hasDecided)
        guard hasDecided else { return }
        for host in ledger.hosts.keys.sorted() { try checkDelay(host, outcome) }
    }

    /// It was time, and nothing held it back.
    private func checkOrder(_ order: LaunchOrder) throws {
        let name = "launch \(order.id.rawValue) of \(order.host)"
        guard let host = ledger.hosts[order.host] else { throw broken("\(name): nobody's") }
        let budget = try tasks?.budget(of: order, host) ?? host.seconds
        guard order.program.argv == host.argv, order.budget == budget else {
            throw broken("\(name) is \(order), not as \(host) says")
        }
        if order.resident == nil, obstacles[order.program.argv[0]] != nil {
            throw broken("\(name) cannot be run")
        }
        if order.session != nil, isAttached(order.host) {
            throw broken("\(name), which is attached")
        }
        let settings = order.session.flatMap { ledger.settings[$0] }
        if order.session != nil, settings?.host != order.host || settings?.launchEvents != true {
            throw broken("\(name) for \(order.eventSession), which is not to be told so")
        }
        let same = ledger.watched.filter { $0.value.order.host == order.host && !$0.value.isOver }
        if same.count > 1 { throw broken("\(name) beside \(same.keys.sorted())") }
        if let failed = host.failedAt, host.failures > 0, !ledger.hasJumped(since: failed.instant),
            now - failed.instant < backOff(host) - Self.slack, try tasks?.isUrgent(order) != true
        {
            throw broken(
                "\(name) comes \(now - failed.instant) s after \(host.failures) failures")
        }
        try tasks?.check(order)
        if order.session == nil, !order.tasks.isEmpty { return }
        guard let first = firstWaiting(order.eventSession) else {
            throw broken("\(name) for nothing")
        }
        if order.reason == .inputNeeded, !needsInput(order.eventSession) {
            throw broken("\(name): nobody needs an answer")
        }
        // An event of the future was written before the clock was set back.
        let waited = world.now.wall - first.wall
        if waited >= 0, waited < delay(order.eventSession), !isDrained(order.eventSession),
            !needsInput(order.eventSession)
        {
            throw broken("\(name) comes \(waited) s after the first event")
        }
        noteOthers(order)
    }

    /// Sessions of the same host that are due as well: they are passed over once this one begins.
    private func noteOthers(_ order: LaunchOrder) {
        // Somebody who needs an answer comes first.
        if order.reason == .inputNeeded, ledger.hosts[order.host]?.failures == 0 { return }
        let others = ledger.sessions(of: order.host).filter { session in
            guard session != order.eventSession, ledger.settings[session]?.launchEvents == true,
                let due = due(session)
            else { return false }
            return due <= world.now.wall
        }
        ledger.watched[order.id]?.passesOver = others
    }

    /// No session waits while others of the same host are told again and again.
    func checkFairness(_ order: LaunchOrder) throws {
        ledger.passedOver[order.eventSession] = 0
        // One that has another host since is not passed over by this one.
        let sessions = ledger.sessions(of: order.host)
        for session in ledger.watched[order.id]?.passesOver ?? [] where sessions.contains(session) {
            let count = ledger.passedOver[session, default: 0] + 1
            ledger.passedOver[session] = count
            // All sessions, since some may have had this host when it was passed over before.
            if count > ledger.settings.count + 1 {
                throw broken("\(session) is passed over \(count) times by \(order.eventSession)")
            }
        }
    }

    // MARK: - When it is time

    private func firstWaiting(_ session: String) -> SimHostLedger.Fact? {
        ledger.waiting(of: session).lazy.compactMap { self.ledger.log[$0] }
            .first { $0.type != .transferRestarted }
    }

    private func delay(_ session: String) -> Double {
        ledger.settings[session]?.launchDelay ?? 5
    }

    func backOff(_ host: SimHostLedger.Host) -> Double {
        var delay = 60.0
        for _ in 1..<max(1, host.failures) { delay = min(3600, delay * 2) }
        return delay
    }

    private func needsInput(_ session: String) -> Bool {
        ledger.waiting(of: session).contains { seq in
            guard let fact = ledger.log[seq], fact.type == .transferNeedsInput,
                let id = fact.transfer, let transfer = world.shown[id]
            else { return false }
            return transfer.state == .waiting
                && transfer.waitingFor.contains { $0.reason == .input }
        }
    }

    /// When the host is started for a session at the latest, if nothing holds it back.
    private func due(_ session: String) -> Timestamp? {
        guard let first = firstWaiting(session) else { return nil }
        if isDrained(session) || needsInput(session) { return first.wall }
        guard let jumped = ledger.jumped, jumped.instant >= first.seenAt else {
            return first.wall + delay(session)
        }
        return max(first.wall, jumped.wall) + delay(session)
    }

    /// Started as soon as it is due, and the engine will wake for it.
    private func checkDelay(_ name: String, _ outcome: TurnOutcome) throws {
        guard let host = ledger.hosts[name], !ledger.isBusy(name), !isAttached(name),
            obstacles[host.argv[0]] == nil
        else { return }
        let sessions = ledger.sessions(of: name).filter {
            ledger.settings[$0]?.launchEvents == true
        }
        guard var due = sessions.compactMap({ self.due($0) }).min() else { return }
        tally.waits += 1
        if host.failures > 0, let failed = host.failedAt {
            var until = failed.wall + backOff(host)
            if let jumped = ledger.jumped, jumped.instant >= failed.instant {
                until = max(until, jumped.wall + 3600)
            }
            due = max(due, until)
        }
        var wait = due - world.now.wall
        // Looked at now and then.
        if let mended = host.mendedAt { wait = max(wait, mended + 30 - now) }
        let wake = outcome.wakeAt.map { max(0, $0 - now) } ?? .infinity
        if wait < -Self.slack { throw broken("\(name) is due since \(-wait) s, and not started") }
        if wake > max(0, wait) + Self.slack {
            throw broken("nobody will wake to start \(name) in \(wait) s, but in \(wake)")
        }
    }

    /// Asked to end when the budget is over, made to 5 s later.
    private func checkBudgets(_ outcome: TurnOutcome) throws {
        for (id, entry) in ledger.watched.sorted(by: { $0.key < $1.key }) where !entry.isOver {
            guard let begun = entry.letGoAt else { continue }
            // The wall clock is all that a successor can go by.
            let isAdopted = entry.adoptedAt != nil && ledger.hasJumped(since: begun)
            let since = isAdopted ? entry.adoptedAt ?? begun : begun
            var end = max(since + entry.order.budget, entry.adoptedAt ?? since)
            if let asked = entry.askedAt { end = asked + Limits.launchGraceSeconds }
            if entry.killedAt != nil { continue }
            if now - end > Self.slack {
                throw broken("launch \(id.rawValue) runs \(now - end) s longer than it may")
            }
            let wake = outcome.wakeAt.map { $0 - now } ?? .infinity
            if wake > max(0, end - now) + Self.slack {
                throw broken("nobody will wake to end launch \(id.rawValue), but in \(wake) s")
            }
        }
    }
}
