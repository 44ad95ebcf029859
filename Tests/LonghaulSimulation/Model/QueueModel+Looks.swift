/// A promise of the documents that was broken.
struct ModelComplaint: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) { description = text }
}

/// One transfer as `show` has it.
struct ModelSight: Sendable {
    var state: String
    var path: String
    /// Seconds of the wall clock.
    var earliest: Double?
    var deadline: Double?
    var runsNow = false
    var reasons: Set<String> = []
    var error: String?
    var policy = ModelPolicy.fail
    var power = false
    var unmetered = false
    var after: Set<QueueModel.ID> = []
}

/// What is seen of the real queue, compared with what may be seen.
extension QueueModel {
    /// The log has a further event.
    mutating func see(
        _ seq: ID, _ event: Event, session: String, at sight: ModelSight?
    ) throws {
        if seq <= lastSeq { throw ModelComplaint("event \(seq) comes after event \(lastSeq)") }
        lastSeq = seq
        log[seq] = event
        if event.type == "sessionFinished" { return try seeEnd(of: session) }
        guard let id = event.transfer, let transfer = transfers[id],
            let end = ModelState.allCases.first(where: { $0.event == event.type })
        else { return }
        let edges = ModelEdge.all.filter { $0.to == end && isReachable($0.from, id) }
        guard edges.contains(where: { holds($0.when, from: $0.from, transfer) }) else {
            throw ModelComplaint(
                "\(event.type) of \(id), which is \(transfer.state)"
                    + (sight?.error.map { ", with the error \($0)" } ?? ""))
        }
        if let sight { transfers[id]?.path = sight.path }
        transfers[id]?.state = end
        hasEnds.insert(transfer.request.session)
        if end == .completed, sight?.error == nil, !transfer.request.isUpload {
            files[sight?.path ?? transfer.path] = .own
        }
        announce(end, of: id)
        note()
    }

    /// An engine may have led it there since the last look, without an event.
    private func isReachable(_ state: ModelState, _ id: ID) -> Bool {
        guard let known = transfers[id]?.state else { return false }
        if known == state { return true }
        switch (known, state) {
        case (.waiting, .running): return mayRun(id)
        case (.running, .waiting): return true
        default: return false
        }
    }

    private func holds(_ when: ModelGuard, from: ModelState, _ transfer: Transfer) -> Bool {
        switch when {
        case .isFree, .always, .isApplied: true
        case .isWhole:
            (served.contains(transfer.request.url)
                || transfer.formerURL.map(served.contains) ?? false)
                && (from == .running || transfer.hasRun)
        case .isRefused: isRefused(transfer)
        case .isNameTaken: isNameTaken(transfer)
        case .isFailing: transfer.hasRun && (isRefused(transfer) || isNameTaken(transfer))
        case .isLate: isLate(transfer)
        case .isMissed: transfer.hasMissed || transfer.mayHaveMissed && !transfer.request.afterAny
        }
    }

    private func isRefused(_ transfer: Transfer) -> Bool {
        period.answers[transfer.request.url]?.contains(.missing) ?? false
    }

    private func isNameTaken(_ transfer: Transfer) -> Bool {
        transfer.request.policy == .fail && period.names.contains(transfer.path)
    }

    /// Those that wait for its end.
    private mutating func announce(_ end: ModelState, of id: ID) {
        for (other, transfer) in transfers where transfer.awaits.contains(id) {
            if end == .completed {
                transfers[other]?.awaits.remove(id)
            } else if transfer.request.afterAny {
                transfers[other]?.mayBePast.insert(id)
            } else {
                transfers[other]?.hasMissed = true
            }
        }
    }

    /// It comes with the last end of the session.
    private mutating func seeEnd(of session: String) throws {
        let live = live(in: session)
        guard live.isEmpty else {
            throw ModelComplaint("sessionFinished of \(session), of which \(live) have not ended")
        }
        guard hasEnds.remove(session) != nil else {
            throw ModelComplaint("sessionFinished of \(session) twice")
        }
    }

    private func live(in session: String) -> [ID] {
        transfers.filter { $0.value.request.session == session && $0.value.state.isLive }
            .keys.sorted()
    }

    // MARK: - States

    /// Compares each transfer with its state.
    mutating func see(_ sights: [ID: ModelSight]) throws {
        note()
        for id in transfers.keys.sorted() {
            guard let sight = sights[id] else { throw ModelComplaint("transfer \(id) is lost") }
            try see(id, sight)
        }
    }

    /// The engine has looked: what was possible before does not explain what follows.
    mutating func startMoment() {
        for id in transfers.keys { transfers[id]?.wasFree = false }
        note()
    }

    private mutating func see(_ id: ID, _ sight: ModelSight) throws {
        guard var transfer = transfers[id] else { return }
        let next = ModelState(rawValue: sight.state) ?? transfer.state
        let isPending = transfer.state == .cancelling && next == .cancelled
        guard isPending || isReachable(next, id) else {
            throw ModelComplaint(
                "transfer \(id) is shown as \(sight.state), and is \(transfer.state)"
                    + (holds(transfer).isEmpty ? "" : ", held by \(holds(transfer))"))
        }
        if !isPending { transfer.state = next }
        if sight.path != transfer.path, transfer.request.policy != .rename {
            throw ModelComplaint("transfer \(id) has moved to \(sight.path)")
        }
        transfer.path = sight.path
        transfer.hasRun = transfer.hasRun || next == .running
        if next == .running { transfer.mayBePending = nil }
        if sight.runsNow, !transfer.runsNow {
            throw ModelComplaint("transfer \(id) runs now, and nobody has asked for it")
        }
        transfer.runsNow = sight.runsNow
        transfer.deadline = sight.deadline
        if transfer.isRestated { restate(&transfer, as: sight) }
        if let earliest = transfer.earliest, abs((sight.earliest ?? 0) - earliest) > 0.01 {
            throw ModelComplaint("transfer \(id) may begin at \(sight.earliest ?? 0)")
        }
        if sight.power != transfer.request.power || sight.unmetered != transfer.request.unmetered {
            throw ModelComplaint("transfer \(id) has other requirements than were given")
        }
        transfers[id] = transfer
    }

    private func restate(_ transfer: inout Transfer, as sight: ModelSight) {
        transfer.isRestated = false
        transfer.request.policy = sight.policy
        transfer.request.power = sight.power
        transfer.request.unmetered = sight.unmetered
        transfer.earliest = sight.earliest
        if sight.after != Set(transfer.request.after.compactMap { ids[$0] }) {
            transfer.awaits = sight.after.filter { transfers[$0]?.state.isLive == true }
        }
        transfer.request.after = ids.filter { sight.after.contains($0.value) }.keys.sorted()
    }

    // MARK: - Rest

    /// Why a transfer is not at rest; `nil` = without a command nothing changes about it.
    func unrest(_ id: ID, _ sight: ModelSight) -> String? {
        guard let transfer = transfers[id] else { return nil }
        switch transfer.state {
        case .completed, .failed, .cancelled: return nil
        case .cancelling: return "its cancel is not applied"
        case .paused: return isLate(transfer) ? "its deadline is over" : nil
        case .waiting, .running: break
        }
        if isLate(transfer) { return "its deadline is over" }
        let awaitsLive = transfer.awaits.contains { transfers[$0]?.state.isLive == true }
        let isDoubtful =
            transfer.hasMissed || transfer.mayHaveMissed || !transfer.mayBePast.isEmpty
        if isDoubtful, awaitsLive, sight.reasons.contains("transfers") { return nil }
        if transfer.hasMissed { return "it can never begin, and does not fail" }
        let holds = holds(transfer)
        if !holds.isEmpty {
            if transfer.state == .running { return "it runs, held by \(words(of: holds))" }
            let told = Set(sight.reasons.compactMap(ModelHold.init(rawValue:)))
            return told == holds
                ? nil : "it waits for \(sight.reasons.sorted()), held by \(words(of: holds))"
        }
        if answer(transfer.request.url) == .busy { return nil }
        return "nothing holds it; it waits for \(sight.reasons.sorted())"
    }

    private func words(of holds: Set<ModelHold>) -> [String] { holds.map(\.rawValue).sorted() }

    /// What holds for the whole queue when nothing changes any more.
    func checkAtRest(
        events: [(seq: ID, isAcknowledged: Bool)], exists: (String) -> Bool
    ) throws {
        let real = events.map { "\($0.seq)\($0.isAcknowledged ? " acknowledged" : "")" }
        let expected = log.keys.sorted().map {
            "\($0)\(log[$0]?.isAcknowledged == true ? " acknowledged" : "")"
        }
        if real != expected {
            throw ModelComplaint("the log has the events \(real), and is to have \(expected)")
        }
        for session in ModelNames.sessions
        where session != "default" && hasEnds.contains(session) && live(in: session).isEmpty {
            throw ModelComplaint("the end of session \(session) has no event")
        }
        let paths = Set(transfers.values.filter { !$0.request.isUpload }.map(\.path))
            .union(files.keys)
        for path in paths.sorted() where exists(path) != (files[path] != nil) {
            throw ModelComplaint(
                exists(path) ? "\(path) is there, and nobody completed it" : "\(path) is gone")
        }
    }
}
