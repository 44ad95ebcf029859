import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// The commands of clients, as the command line gives them to the store.
extension ModelRun {
    /// Carries a command out. One whose process was killed leaves everything as it was.
    ///
    /// - Returns: `nil` where the client was killed.
    private func carryOut<Value>(_ step: ModelStep, _ body: () throws -> Value) throws -> Value? {
        defer { world.inputs.append(.wake) }
        world.tally.clientActs += 1
        if !step.isKilled { return try body() }
        _ = try? body()
        return nil
    }

    func enqueue(_ request: ModelRequest, _ step: ModelStep) throws {
        let url = ModelNames.url(request.url)
        let new = newTransfer(request, url)
        let outcomes = model.outcomes(of: request)
        let outcome: EnqueueOutcome?
        do {
            outcome = try carryOut(step) { try world.record(new) } ?? nil
        } catch let error as LonghaulError {
            outcome = .refused(error)
        }
        switch outcome {
        case .recorded(let id, let place):
            try expect(.recorded, of: request, outcomes)
            model.record(request, as: id.rawValue, at: place)
            world.expected[id] = SimTransfer(
                url: url, destination: place, policy: .fail, isExempt: true)
            world.expected[id]?.isUpload = request.isUpload
            if request.isUpload { uploads.append(request) }
            world.expected[id]?.after = request.after.compactMap { label in
                model.ids[label].map(TransferID.init(rawValue:))
            }
            world.expected[id]?.afterAny = request.afterAny
        case .existing(let id, _):
            try expect(.existing(id.rawValue), of: request, outcomes)
            if model.transfers[id.rawValue]?.state == .failed { world.expected[id]?.rearms += 1 }
            model.repeatRequest(request, of: id.rawValue)
            let transfer = try world.store.transfers.find(id, now: world.now.wall)
            world.expected[id]?.after = transfer?.options.after ?? []
            if transfer?.startedAt != nil { world.expected[id]?.hasBegun = true }
        case .refused: try expect(.refused, of: request, outcomes)
        case .skipped: throw ModelComplaint("a request was skipped")
        case nil: return
        }
    }

    private func expect(
        _ real: QueueModel.EnqueueOutcome, of request: ModelRequest,
        _ outcomes: Set<QueueModel.EnqueueOutcome>
    ) throws {
        if !outcomes.contains(real) {
            throw ModelComplaint(
                "\(request.text): \(real), and is to be \(outcomes.map { "\($0)" }.sorted())")
        }
    }

    private func newTransfer(_ request: ModelRequest, _ url: String) -> NewTransfer {
        let (path, origin) = (request.path, SimWire.origin(of: url))
        var result = transferRequest(request, url)
        guard request.isUpload else {
            return NewTransfer(request: result, origin: origin, destination: path)
        }
        let file = world.disk.sources.file(at: path)
        var upload = UploadOptions()
        upload.uploadProtocol = .put
        upload.method = .put
        upload.source = file?.version
        result.options.upload = upload
        result.expectedBytes = file?.bytes.count
        return NewTransfer(
            request: result, origin: origin, source: path,
            reservation: Reservation("\n\(request.session)\n\(path)\n\(url)"))
    }

    private func transferRequest(_ request: ModelRequest, _ url: String) -> TransferRequest {
        var result = TransferRequest(url: url, destination: .file(request.path))
        result.session = request.session
        result.priority = Priority(rawValue: request.priority) ?? .normal
        result.earliestBegin = request.earliest.map { world.now.wall + Double($0) }
        if let deadline = request.deadline { result.deadline = .after(seconds: Double(deadline)) }
        result.schedule.requires = ConditionNeeds(
            power: request.power, unmetered: request.unmetered)
        result.options.connections = .exactly(1)
        result.options.ifExists =
            switch request.policy {
            case .fail: .fail
            case .skip: .skip
            case .overwrite: .overwrite
            case .rename: .rename
            }
        result.options.after = request.after.map { label in
            TransferID(rawValue: model.ids[label] ?? 1_000_000)
        }
        result.options.afterAny = request.afterAny
        return result
    }

    // MARK: - Wants

    func want(
        _ verb: ModelVerb, _ selection: ModelSelection, _ keepBytes: Bool, _ step: ModelStep
    ) throws {
        let ids = concerned(by: verb, selection)
        if ids.isEmpty { return }
        let rules = ids.map { (id: $0, rules: model.rule(verb, $0)) }
        let change = wanted(verb, keepBytes)
        let isLost =
            fault == .losesPause && verb == .pause || fault == .losesCancel && verb == .cancel
        let real: Selection =
            switch selection {
            case .one: .ids(ids.map(TransferID.init(rawValue:)))
            case .session(let name): .session(name)
            case .all: .all
            }
        let ended = Set(ids.filter { model.transfers[$0]?.state.hasEnded == true })
        let outcomes = try carryOut(step) {
            if isLost {
                return rules.map { WantOutcome(id: TransferID(rawValue: $0.id), result: .changed) }
            }
            return try world.clients.wants.change(real, to: change, now: world.now.wall)
        }
        guard let outcomes else { return }
        let accepted = Set(outcomes.filter { isAccepted($0.result) }.map(\.id.rawValue))
        let isNamed = if case .one = selection { true } else { false }
        for (id, rules) in rules {
            let isChanged = accepted.contains(id)
            // Of a selection only changed ones are told; two with one destination are one.
            let rule = rules.first { ($0 == .refused) != isChanged }
            guard let rule = rule ?? (isNamed ? nil : .refused) else {
                throw ModelComplaint(
                    "\(verb.rawValue) of \(id), which is \(model.transfers[id]?.state ?? .waiting):"
                        + " \(outcomes.filter { $0.id.rawValue == id }.map { "\($0.result)" })")
            }
            guard isChanged else { continue }
            model.apply(verb, id, rule)
            note(verb, TransferID(rawValue: id), wasEnded: ended.contains(id), keepBytes)
        }
    }

    private func concerned(by verb: ModelVerb, _ selection: ModelSelection) -> [QueueModel.ID] {
        switch selection {
        case .one(let label):
            return model.ids[label].flatMap { model.transfers[$0] == nil ? nil : [$0] } ?? []
        case .session(let name): return concerned(by: verb) { $0.request.session == name }
        case .all: return concerned(by: verb) { _ in true }
        }
    }

    private func concerned(
        by verb: ModelVerb, _ isMeant: (QueueModel.Transfer) -> Bool
    ) -> [QueueModel.ID] {
        model.transfers.filter { verb.concerns.contains($0.value.state) && isMeant($0.value) }
            .keys.sorted()
    }

    private func wanted(_ verb: ModelVerb, _ keepBytes: Bool) -> WantedChange {
        switch verb {
        case .pause: .pause
        case .resume: fault == .resumesCancelled ? .retry : .resume
        case .now: .runNow
        case .cancel: .cancel(keepBytes: keepBytes)
        case .retry, .set, .remove: fault == .retriesNow ? .runNow : .retry
        }
    }

    private func isAccepted(_ result: WantOutcome.Result) -> Bool {
        switch result {
        case .changed, .unchanged: true
        case .hasEnded, .destinationTaken, .replaced, .deadlinePassed, .snapshotGone, .answerLost,
            .noSuchTransfer:
            false
        }
    }

    /// For the checkers of all lives.
    private func note(_ verb: ModelVerb, _ id: TransferID, wasEnded: Bool, _ keepBytes: Bool) {
        world.forgetPause(of: id)
        if verb.rearms {
            if verb == .now { world.expected[id]?.after = [] }
            world.expected[id]?.givesUpBytes = false
            if wasEnded { world.expected[id]?.rearms += 1 }
        }
        if verb == .cancel { world.expected[id]?.givesUpBytes = !keepBytes }
    }

    // MARK: - Set, remove, events

    func set(_ label: Int, _ change: ModelChange, _ step: ModelStep) throws {
        guard let id = model.ids[label], let transfer = model.transfers[id] else { return }
        // The model does not say what becomes of an upload at another URL.
        if case .url(let url) = change, ModelNames.isPlace(url) || transfer.request.isUpload {
            return
        }
        var real = RequestChange()
        switch change {
        case .priority(let priority): real.priority = Priority(rawValue: priority)
        case .earliest(let seconds):
            real.earliestBegin = .some(seconds.map { world.now.wall + Double($0) })
        case .needs(let power, let unmetered):
            real.requires = ConditionNeeds(power: power, unmetered: unmetered)
        case .url(let url):
            let url = ModelNames.url(url)
            real.url = (url, SimWire.origin(of: url))
        case .deadline(let seconds): real.deadline = .after(seconds: Double(seconds))
        }
        var isRefused = false
        do {
            let isDone: Void? = try carryOut(step) {
                if fault == .losesSet { return }
                try world.clients.wants.change(
                    TransferID(rawValue: id), real, now: world.now.wall)
            }
            if isDone == nil { return }
        } catch let error as LonghaulError {
            isRefused = true
            world.say("refused: \(error)")
        }
        guard let rule = model.rule(.set, id).first, isRefused == (rule == .refused) else {
            throw ModelComplaint(
                "set of \(id), which is \(transfer.state): \(isRefused ? "refused" : "accepted")")
        }
        if isRefused { return }
        model.apply(change, to: id)
        world.forgetPause(of: TransferID(rawValue: id))
        if case .url(let url) = change {
            let real = TransferID(rawValue: id)
            if let last = world.expected[real]?.url, transfer.hasRun {
                world.expected[real]?.formerURLs.insert(last)
            }
            world.expected[real]?.url = ModelNames.url(url)
        }
    }

    func remove(_ label: Int, _ step: ModelStep) throws {
        guard let id = model.ids[label], let transfer = model.transfers[id] else { return }
        let real = TransferID(rawValue: id)
        let outcome = try carryOut(step) {
            try world.clients.wants.remove([real], now: world.now.wall).first
        }
        guard let outcome, let outcome else { return }
        let rule = model.rule(.remove, id).first ?? .refused
        switch outcome {
        case .refused(let error):
            if rule != .refused { throw ModelComplaint("remove of \(id): \(error)") }
        case .removed(let parts):
            if rule != .removed {
                throw ModelComplaint("remove of \(id), which is \(transfer.state): removed")
            }
            for part in parts { world.disk.unlink(part) }
            try world.clients.wants.forget(parts)
            model.apply(.remove, id, rule)
            world.expected[real] = nil
            world.shown[real] = nil
            world.ledger.removed.formUnion(
                Set(1...max(1, model.lastSeq)).subtracting(model.log.keys))
        }
    }

    func acknowledge(_ nth: Int, _ alone: Bool, _ step: ModelStep) throws {
        let waiting = try world.clients.events.list(isWaiting: true, limit: 100_000).map(\.seq)
        let expected = model.log.filter { !$0.value.isAcknowledged }.keys.sorted()
        if waiting != expected {
            throw ModelComplaint("the events \(waiting) wait, and \(expected) are to")
        }
        if waiting.isEmpty { return }
        let seq = waiting[nth % waiting.count]
        let isDone: Void? = try carryOut(step) {
            if fault == .losesAcknowledgement { return }
            if alone {
                try world.clients.events.acknowledge(event: seq, now: world.now.wall)
            } else {
                _ = try world.clients.events.acknowledge(through: seq, now: world.now.wall)
            }
        }
        if isDone == nil { return }
        for other in waiting where alone ? other == seq : other <= seq {
            model.log[other]?.isAcknowledged = true
        }
    }
}
