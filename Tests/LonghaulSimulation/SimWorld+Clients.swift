import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// Other processes: they write what they want into the store, and may or may not get a hint
/// through.
extension SimWorld {
    func clientsAct() throws {
        if random.happens(trouble.enqueues), expected.count < 12 {
            if uploads.isEmpty { try enqueue() } else { try enqueueUpload() }
        }
        guard let id = expected.keys.sorted().randomElement(using: &random) else { return }
        if random.happens(trouble.wants) { try want(id) }
        if random.happens(trouble.changes) { try set(id) }
        if random.happens(trouble.removals) { try remove(id) }
        if hasOddServers, random.happens(0.02) { try read(id) }
    }

    /// The datagram beside the store; it may be lost.
    private func hint() {
        tally.clientActs += 1
        if !random.happens(trouble.hint) { inputs.append(.wake) }
    }

    /// As `TransferQueue.enqueue` does.
    func record(_ new: NewTransfer) throws -> EnqueueOutcome? {
        try clients.settings.follow(ClockMark(boot: Self.boot, at: now), now: now.wall)
        return try clients.wants.enqueue([new], now: now.wall).first
    }

    func enqueue() throws {
        let url = makeContent()
        let destination = "/d/f\(nextURL)"
        var request = TransferRequest(url: url, destination: .file(destination))
        request.options.connections = [.automatic, .exactly(1), .exactly(3)]
            .randomElement(using: &random)!
        request.options.ifExists = [.fail, .rename, .overwrite].randomElement(using: &random)!
        drawCircumstances(&request)
        request.options.failOnFullDisk = random.happens(0.1)
        if random.happens(0.15), let content = wire.contents[url] {
            let isRight = random.happens(0.8)
            request.options.checksum = SimDisk.checksum(
                of: isRight ? content.current : SimBytes(label: 0, count: 1))
        }
        if random.happens(0.1) { request.options.mirrors = [sibling(of: url)] }
        try drawDependencies(&request)
        let new = NewTransfer(
            request: request, origin: SimWire.origin(of: url), destination: destination)
        guard case .recorded(let id, _)? = try record(new) else { return }
        expect(
            id,
            SimTransfer(
                url: url, destination: destination, policy: request.options.ifExists,
                checksums: request.options.checksum.map { [$0] } ?? [],
                hasMirrors: !request.options.mirrors.isEmpty,
                isExempt: !request.options.mirrors.isEmpty), request)
    }

    func expect(_ id: TransferID, _ transfer: SimTransfer, _ request: TransferRequest) {
        expected[id] = transfer
        expected[id]?.after = request.options.after
        expected[id]?.afterAny = request.options.afterAny
        if request.deadline == .after(seconds: Deadline.defaultSeconds) {
            expected[id]?.mayTakeDaysSince = now.monotonic
        }
        say("enqueued \(id): \(request)")
        hint()
    }

    /// When it may go, and how long one tries.
    func drawCircumstances(_ request: inout TransferRequest) {
        request.options.stallTimeout = [5, 20, 60].randomElement(using: &random)!
        request.options.retries = random.happens(0.2) ? Int.random(in: 0...3, using: &random) : nil
        request.priority = Priority.allCases.randomElement(using: &random)!
        request.isDiscretionary = random.happens(0.2)
        if random.happens(0.2) { request.schedule.requires = needs() }
        if random.happens(0.1) { request.schedule.windows = windows() }
        if random.happens(0.15) {
            request.earliestBegin = now.wall + Double.random(in: 1...600, using: &random)
        }
        if random.happens(0.15) {
            request.deadline = .after(seconds: Double.random(in: 20...900, using: &random))
        }
    }

    private func needs() -> ConditionNeeds {
        ConditionNeeds(
            power: random.happens(0.4), unmetered: random.happens(0.4),
            idle: random.happens(0.2), battery: random.happens(0.2) ? 40 : nil)
    }

    private func windows() -> TimeWindows? {
        TimeWindows(
            parsing: ["15:00-16:30", "14:13-15:20", "22:00-06:30", "00:00-23:30;Sun", "Mon-Fri"]
                .randomElement(using: &random)!)
    }

    private func want(_ id: TransferID) throws {
        let changes: [WantedChange] = [
            .pause, .resume, .resume, .cancel(keepBytes: true), .cancel(keepBytes: false), .retry,
            .retry, .runNow,
        ]
        try change(id, changes.randomElement(using: &random)!)
    }

    /// What a client wants of a transfer, and what may follow from it.
    func change(_ id: TransferID, _ change: WantedChange) throws {
        guard let before = try clients.transfers.find(id, now: now.wall) else { return }
        let result = try clients.wants.change(.ids([id]), to: change).first?.result
        say("\(id), \(before.state): \(change): \(result.map { "\($0)" } ?? "gone")")
        if result == .answerLost { expected[id]?.isAnswerLost = true }
        forgetPause(of: id)
        hint()
        try follow(change, of: id, result)
        guard result == .changed else { return }
        switch change {
        case .resume, .retry, .runNow:
            if case .runNow = change { expected[id]?.after = [] }
            expected[id]?.givesUpBytes = false
            // A cancel that is taken back may be on its way out already.
            if before.state.hasEnded { expected[id]?.rearms += 1 }
        case .cancel(let keepBytes):
            // By right it begins anew.
            if !keepBytes { expected[id]?.isExempt = true }
            expected[id]?.givesUpBytes = !keepBytes
        case .pause: break
        }
    }

    /// The state after it, by the rules of the reference model.
    private func follow(
        _ change: WantedChange, of id: TransferID, _ result: WantOutcome.Result?
    ) throws {
        guard isFollowed, let known = expected[id]?.state else { return }
        let rule = ModelRules.documented[change.verb, known]
        switch (result, rule) {
        case (.changed, .becomes(let state)), (.unchanged, .becomes(let state)):
            // No engine has seen the command that is taken back.
            let shown = try clients.transfers.find(id, now: now.wall)?.state
            expected[id]?.state = shown == .running && state == .waiting ? .running : state
        case (.changed, _), (.unchanged, _), (.hasEnded, .becomes):
            complain("\(change) of \(id), which is \(known): \(result.map { "\($0)" } ?? "")")
        default: break
        }
    }

    /// Whoever asks for it anew, or for the same, may be served at once.
    func forgetPause(of id: TransferID) {
        guard let url = expected[id]?.url else { return }
        for (other, known) in expected where known.url == url { expected[other]?.notBefore = nil }
    }

    private func set(_ id: TransferID) throws {
        guard let transfer = try clients.transfers.find(id, now: now.wall),
            transfer.state != .completed
        else { return }
        var change = RequestChange()
        let isUpload = expected[id]?.isUpload == true
        // An upload goes over one connection.
        switch Int.random(in: 0..<(isUpload ? 6 : 7), using: &random) {
        case 0 where isUpload:
            let url = moveUpload(from: transfer.url)
            change.url = (url, SimWire.origin(of: url))
            expected[id]?.url = url
        case 0:
            let url = sibling(of: transfer.url)
            change.url = (url, SimWire.origin(of: url))
            expected[id]?.url = url
            expected[id]?.isExempt = true
        case 1: change.priority = Priority.allCases.randomElement(using: &random)
        case 2:
            change.earliestBegin =
                random.happens(0.5)
                ? .some(nil) : now.wall + Double.random(in: 0...300, using: &random)
        case 3: change.requires = random.happens(0.5) ? ConditionNeeds() : needs()
        case 4: change.windows = random.happens(0.6) ? .some(nil) : windows()
        case 5: change.isDiscretionary = Bool.random(using: &random)
        default:
            let count = Int.random(in: 1...4, using: &random)
            change.editOptions = { $0.connections = .exactly(count) }
        }
        say("set \(id): \(change)")
        if transfer.state == .running, transfer.isDiscretionary, change.isDiscretionary == false {
            expected[id]?.beganDiscretionary = true
        }
        forgetPause(of: id)
        do {
            try clients.wants.change(id, change, now: now.wall)
        } catch {
            // Completed just now.
            guard error.code == .conflict else { throw error }
        }
        hint()
    }

    /// A process begins to read the bytes of a transfer as they come, from any place on, or leaves.
    private func read(_ id: TransferID) throws {
        if let reader = readers.removeValue(forKey: id) {
            say("\(id) is read no more")
            try clients.readers.leave(reader, of: id)
        } else if let known = expected[id], known.after.isEmpty {
            let size = wire.contents[known.url]?.current.count ?? 0
            let start = Int64.random(in: 0...size, using: &random)
            say("\(id) is read from \(start) on")
            let process = LaunchedProcess(pid: 3, startTicks: 1, bootID: Self.boot)
            readers[id] = try clients.readers.enter(id, from: start, process)
            tally.readers += 1
            forgetPause(of: id)
        }
        hint()
    }

    private func remove(_ id: TransferID) throws {
        guard let outcome = try clients.wants.remove([id], now: now.wall).first else { return }
        switch outcome {
        case .refused: return
        case .removed(let parts):
            say("removed \(id)")
            for part in parts { disk.unlink(part) }
            try clients.wants.forget(parts)
            expected[id] = nil
            shown[id] = nil
        }
        hint()
    }
}

extension WantedChange {
    /// The command that wants it.
    fileprivate var verb: ModelVerb {
        switch self {
        case .pause: .pause
        case .resume: .resume
        case .cancel: .cancel
        case .retry: .retry
        case .runNow: .now
        }
    }
}
