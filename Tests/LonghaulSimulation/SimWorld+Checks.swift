import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// The promises, checked after every turn and when the world has come to rest.
extension SimWorld {
    /// Reads what the store says now.
    func look() {
        guard let transfers = try? store.transfers.find(expected.keys.sorted(), now: now.wall)
        else { return complain("the store cannot be read") }
        let found = Dictionary(uniqueKeysWithValues: transfers.map { ($0.id, $0) })
        for id in expected.keys.sorted() where found[id] == nil && mayBeForgotten(id) {
            say("\(id) is forgotten")
            expected[id] = nil
        }
        shown = found
        noteShown()
        for id in found.keys.sorted() { checkStep(id) }
    }

    /// The state follows from the one before by steps of the reference model, and by commands.
    private func checkStep(_ id: TransferID) {
        guard isFollowed, let known = expected[id]?.state,
            let transfer = shown[id], let state = ModelState(rawValue: transfer.state.rawValue)
        else { return }
        if known == .cancelling, state == .cancelled {
            if transfer.finishedAt != nil { expected[id]?.state = .cancelled }
            return
        }
        expected[id]?.state = state
        if !known.leads(to: state) { complain("\(id) was \(known), and is \(state)") }
    }

    /// Ended 90 days ago by the wall clock, and not asked for again: such a transfer leaves the
    /// list. What it held goes before, three days after that was announced. No life takes so long,
    /// but its clock is set.
    private func mayBeForgotten(_ id: TransferID) -> Bool {
        guard let transfer = shown[id], let known = expected[id], transfer.state.hasEnded,
            known.terminalEvents > known.rearms, let end = transfer.finishedAt
        else { return false }
        let isAnnounced =
            known.expiryToldAt.map { $0 >= end && $0 <= now.wall + -3 * 86_400 } ?? false
        return isForgettable(end) && (transfer.held == nil || isAnnounced)
    }

    /// So long ago, by the wall clock, that the store need not know it any more.
    private func isForgettable(_ moment: Timestamp) -> Bool { moment < now.wall + -90 * 86_400 }

    private func noteShown() {
        for transfer in shown.values.sorted(by: { $0.id < $1.id }) {
            if transfer.state == .completed { completed.insert(transfer.id) }
            if transfer.state != .running { expected[transfer.id]?.beganDiscretionary = false }
            guard let held = transfer.held else { continue }
            expected[transfer.id]?.lastFetch = held.fetch
            var known =
                ledger.held[held.fetch]
                ?? SimLedger.Held(
                    transfer: transfer.id, generation: held.generation, durable: ByteRanges())
            // Whoever leads it by now.
            if !held.isAnothers { known.transfer = transfer.id }
            if known.generation != held.generation { known.history = [] }
            if known.durable != held.durable || known.history.isEmpty {
                known.history.append((now.monotonic, held.durable.count))
            }
            known.generation = held.generation
            known.durable = held.durable
            ledger.held[held.fetch] = known
        }
    }

    func checkTurn(_ outcome: TurnOutcome) throws {
        if hasCommitted {
            hasCommitted = false
            look()
            try checkEvents()
            try hosts?.look()
            for id in expected.keys.sorted() { try checkProgress(id) }
        }
        // It is tried again after a second.
        if !isStoreFailing, now.monotonic - storeFailedAt > 1 {
            try checkRequirements()
            if !isLeaving {
                try checkWaits(outcome)
                try checkCheckpoints()
            }
        }
        try hosts?.checkTurn(outcome)
        if let text = wire.servers.complaints.first { complain(text) }
        if let complaint { throw complaint }
    }

    /// What the store says is held is on the disk, and would be after a power cut; what was
    /// received is never forgotten.
    private func checkProgress(_ id: TransferID) throws {
        guard let transfer = shown[id], let known = expected[id] else {
            throw SimComplaint("an acknowledged enqueue is lost: \(id)", self)
        }
        if known.isUpload {
            try checkUpload(transfer)
        } else if transfer.state == .completed {
            try checkPublished(transfer)
        }
        if transfer.bytesFetched < known.bytesFetched, tally.powerCuts == 0 {
            throw SimComplaint("\(id): bytesFetched went down from \(known.bytesFetched)", self)
        }
        expected[id]?.bytesFetched = transfer.bytesFetched
        try checkEnds(transfer, known)
        try checkDependencies(transfer)
        guard let held = transfer.held, transfer.state != .completed, !known.isUpload,
            let last = held.durable.ranges.last
        else { return }
        try checkClaim(transfer, held, through: last.upperBound)
    }

    /// One file holds the bytes of all that share a fetch.
    private func checkClaim(
        _ transfer: Transfer, _ held: HeldBytes, through end: Int64
    ) throws {
        let id = transfer.id
        let subscribers = shown.values.filter { $0.held?.fetch == held.fetch }
        let leader = subscribers.first { $0.held?.isAnothers == false } ?? transfer
        // Published, and not recorded yet; where its name was taken, under one with a number.
        let published = [leader.path] + (1...9).map { "\(leader.path) (\($0))" }
        let names = [held.partPath] + published
        let path = names.first { name in
            disk.names[name].flatMap { disk.files[$0] }.map { !$0.isForeign } ?? false
        }
        // A file that was whole before a checkpoint fell due gets its name with the batch that
        // publishes it, and no other before: a power cut may leave none, or the file that had the
        // name of the part before it.
        let isSmallAndWhole = end <= 2 * Limits.checkpointBytes && end == transfer.bytesTotal
        let found = path.flatMap { disk.names[$0] }.flatMap { disk.files[$0] }
        if isSmallAndWhole, tally.powerCuts > 0, (found?.durable.count ?? 0) < end { return }
        guard let path, let inode = disk.names[path], let file = found else {
            if ledger.setAside.contains(held.fetch) { return }
            throw SimComplaint("\(id): \(end) bytes are claimed of a file that is not there", self)
        }
        if end > file.durable.count {
            throw SimComplaint(
                "\(id): \(end) bytes are claimed, \(file.durable.count) durable", self)
        }
        let isNamed = names.contains { disk.durableNames[$0] == inode }
        // Brought back from where it was set aside: by either name the next one finds it.
        let hasOldName = ledger.setAside.contains(held.fetch)
        if !isNamed, !isSmallAndWhole, !hasOldName {
            throw SimComplaint("\(id): \(end) bytes are claimed, their name is not durable", self)
        }
    }

    /// Whole, of one version, and still so after a power cut.
    private func checkPublished(_ transfer: Transfer) throws {
        guard let known = expected[transfer.id], !known.isVerified, !transfer.isSkipped,
            let content = wire.contents[known.url]
        else { return }
        guard let inode = disk.durableNames[transfer.path], let file = disk.files[inode],
            !file.isForeign
        else { throw SimComplaint("\(transfer.id) is completed, its name not durable", self) }
        let isFormer = known.formerURLs.contains {
            wire.contents[$0]?.isVersion(file.durable) ?? false
        }
        guard isFormer || content.isVersion(file.durable) else {
            throw SimComplaint(
                "\(transfer.id): \(file.durable) is no version of \(content.versions)", self)
        }
        let digest = SimDisk.checksum(of: file.durable)
        if !known.checksums.isEmpty, !known.checksums.contains(digest) {
            throw SimComplaint("\(transfer.id) is completed with another digest", self)
        }
        expected[transfer.id]?.isVerified = true
        guard !known.isExempt, content.isSteady else { return }
        // Of those that share a fetch each may have gone on with what another had.
        let fetch = known.lastFetch.flatMap { ledger.flow[$0] }
        let flow = transfer.sharedFetch == nil ? known.flow : fetch ?? SimFlow()
        if flow.received > file.durable.count + flow.allowance, !flow.isExempt {
            throw SimComplaint(
                "\(transfer.id): \(flow.received) bytes came for \(file.durable.count),"
                    + " \(flow.allowance) of them excused", self)
        }
    }

    // MARK: - Events

    /// New ones, in order, none twice.
    private func checkEvents() throws {
        for event in try store.events.list(after: ledger.lastSeq, limit: 10_000) {
            guard event.seq > ledger.lastSeq else {
                throw SimComplaint("event \(event.seq) after \(ledger.lastSeq)", self)
            }
            ledger.lastSeq = event.seq
            ledger.lastEventAt = event.at
            guard let id = event.transfer, expected[id] != nil else { continue }
            say("event \(event.type.rawValue) of \(id) \(event.detail ?? "")")
            switch event.type {
            case .transferCompleted: tally.completed += 1
            case .transferFailed:
                tally.failures += 1
                try checkFailure(id, event)
            case .transferCancelled: tally.cancelled += 1
            case .transferNeedsInput: continue
            case .transferBytesExpire:
                // The bytes are given up after this, and fetched again where that is asked for.
                expected[id]?.isExempt = true
                if let fetch = expected[id]?.lastFetch { ledger.flow[fetch]?.isExempt = true }
                expected[id]?.expiryToldAt = event.at
                continue
            default:
                tally.restarts += 1
                try checkRestart(id, event)
                continue
            }
            expected[id]?.terminalEvents += 1
            expected[id]?.lastTerminal = event.type.rawValue
        }
    }

    /// A right file is not called wrong, nor one late that is not.
    private func checkFailure(_ id: TransferID, _ event: StoredEvent) throws {
        if event.detail?.contains("deadline") == true,
            let since = expected[id]?.mayTakeDaysSince, now.monotonic - since < 6 * 86_400
        {
            throw SimComplaint("\(id) is late by a clock that was set", self)
        }
        guard event.detail?.contains("checksumMismatch") == true, let known = expected[id] else {
            return
        }
        tally.mismatches += 1
        if let fetch = known.lastFetch { ledger.setAside.remove(fetch) }
        // What was held is gone by right.
        expected[id]?.isExempt = true
        guard let content = wire.contents[known.url], content.isSteady, !known.isExempt,
            known.checksums.allSatisfy({ $0 == SimDisk.checksum(of: content.current) })
        else { return }
        throw SimComplaint("\(id) is called wrong and is right", self)
    }

    /// Held bytes are given up only where a server gives reason to.
    private func checkRestart(_ id: TransferID, _ event: StoredEvent) throws {
        guard let known = expected[id] else { return }
        if known.isUpload { return try checkUploadRestart(id, known, event) }
        // None has its name then, or the file that had it before.
        let isOfNoName = [RestartReason.partFileMissing, .partFileReplaced].contains {
            event.detail?.contains($0.description) ?? false
        }
        let lost = shown[id]?.bytesFetched ?? 0
        if isOfNoName, tally.powerCuts > 0, lost <= Limits.checkpointBytes {
            // Small, and never published: its name had not reached the disk. Those that share the
            // fetch lose it too, whatever is excused of this transfer alone.
            excuse(lost, of: id)
            return
        }
        guard !known.isExempt, wire.contents[known.url]?.isSteady == true else { return }
        // It was moved aside, the engine died before it could say so, and the next one looks anew.
        if isOfNoName, let fetch = known.lastFetch, ledger.setAside.remove(fetch) != nil {
            excuse(lost, of: id)
            return
        }
        throw SimComplaint("\(id) gave up its bytes: \(event.detail ?? "")", self)
    }

    /// One terminal event for each end, and none while it goes on.
    private func checkEnds(_ transfer: Transfer, _ known: SimTransfer) throws {
        let events = known.terminalEvents
        var isRight = events <= known.rearms
        if let phase = endedPhase(transfer) {
            isRight = events >= 1 && events <= known.rearms + 1 && known.lastTerminal == phase
        }
        guard isRight else {
            throw SimComplaint(
                "\(transfer.id) is \(transfer.state), with \(events) terminal events, the last"
                    + " \(known.lastTerminal ?? "none"), taken up again \(known.rearms) times", self
            )
        }
    }

    /// A cancel that no engine has seen yet shows as cancelled, and has not ended.
    private func endedPhase(_ transfer: Transfer) -> String? {
        if transfer.state == .cancelled, transfer.finishedAt == nil { return nil }
        return ModelState(rawValue: transfer.state.rawValue)?.event
    }

    // MARK: - Crashes

    func noteCrash() {
        look()
        ledger.heldAtCrash = [:]
        for (fetch, held) in ledger.held where shown[held.transfer]?.held?.fetch == fetch {
            ledger.heldAtCrash[held.transfer] = written(fetch)
        }
        for id in expected.keys { expected[id]?.notBefore = nil }
    }

    /// What the store remembers after the power came back: at most one checkpoint is missing.
    func checkAfterCrash(power: Bool, hasForgotten: Bool) throws {
        ledger.diedByPower = power
        let before = ledger.held
        let lastSeq = ledger.lastSeq
        ledger.held = [:]
        if hasForgotten { look() } else { noteShown() }
        // Told and forgotten with its transfer.
        // The events of a bundle's transfers go with them.
        let isForgotten =
            hosts.map { $0.ledger.log[lastSeq] == nil }
            ?? (bundles != nil || isForgettable(ledger.lastEventAt))
        if lastSeq > 0, !isForgotten, !ledger.removed.contains(lastSeq),
            try store.events.list(after: lastSeq - 1, limit: 1).first?.seq != lastSeq
        {
            throw SimComplaint("event \(lastSeq) is lost", self)
        }
        tally.forgotten += before.keys.count {
            ledger.held[$0] == nil && shown[before[$0]!.transfer]?.state.hasEnded == false
        }
        for (fetch, held) in before {
            // What a server has is not forgotten with what it has said.
            if expected[held.transfer]?.isUpload == true { continue }
            guard let now = ledger.held[fetch], now.generation == held.generation else { continue }
            let settled = held.history.last {
                $0.at + Limits.checkpointSeconds <= self.now.monotonic
            }
            let least = min(settled?.count ?? 0, held.durable.count - Limits.checkpointBytes)
            if now.durable.count < least {
                throw SimComplaint(
                    "\(held.transfer): \(held.durable.count) bytes were recorded as durable, after"
                        + " the power cut it is \(now.durable.count)", self)
            }
        }
    }

    /// What the new engine goes on from.
    func checkRecovery() throws {
        look()
        for (id, count) in ledger.heldAtCrash {
            guard let transfer = shown[id], transfer.state != .completed,
                expected[id]?.isUpload == false
            else { continue }
            let lost = max(0, count - (transfer.held?.durable.count ?? 0))
            excuse(lost, of: id)
            if lost > 0 { say("\(id) lost \(lost) of \(count) bytes") }
            // A small body whose version is not recorded yet, or a disk that failed just then.
            let isSetAside = expected[id]?.lastFetch.map(ledger.setAside.contains) ?? false
            let isGivenUp = transfer.state == .cancelled && expected[id]?.givesUpBytes == true
            let isExcused =
                lost <= Limits.holdThresholdBytes || disk.isReadOnly || isSetAside || isGivenUp
            let isSound = trouble.sync == 0 && trouble.open == 0 && trouble.directory == 0
            if !ledger.diedByPower, !isExcused, isSound {
                throw SimComplaint("\(id): \(lost) bytes are lost by a kill", self)
            }
        }
    }
}
