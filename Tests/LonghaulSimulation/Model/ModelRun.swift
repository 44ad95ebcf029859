import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// A deliberate fault between a script and the real queue, to prove that the model finds faults.
enum ModelFault: String, CaseIterable, Sendable {
    /// A command that reports success and writes nothing.
    case losesPause, losesCancel, losesSet, losesAcknowledgement
    /// `retry` sets the schedule aside, as `now` does.
    case retriesNow
    /// `resume` takes up a cancelled transfer, as `retry` does.
    case resumesCancelled
    /// The last event is read again after a crash.
    case repeatsEvent
    /// A power cut takes a completed file.
    case losesFile
}

/// Carries a script out in a simulated world, with the real engine and the real store, and compares
/// what can be seen with the model.
final class ModelRun {
    let world: SimWorld
    var model: QueueModel
    let fault: ModelFault?
    /// Until nothing changes: longer than any back-off, cool-down and pause.
    private static let patienceSeconds = 4.0 * 3600
    private var lookedAt = -1
    /// The uploads that were ever recorded.
    var uploads: [ModelRequest] = []

    init(_ world: SimWorld, rules: ModelRules = .documented, fault: ModelFault? = nil) {
        self.world = world
        self.fault = fault
        model = QueueModel()
        model.rules = rules
        model.now = wall
        for url in 0..<ModelNames.urls where !ModelNames.isPlace(url) {
            let size = Self.sizes[url]
            var content = SimContent(proof: .strongTag, label: url + 1, size: size)
            content.rate = 1_000_000
            world.wire.contents[ModelNames.url(url)] = content
        }
        // The policy of a file is the model's to check.
        world.disk.willReplace = { [unowned self] path in replaces(path) }
        makePlaces()
    }

    private static let sizes: [Int64] = [0, 30_000, 2_500_000, 6_000_000, 400_000]

    /// What is sent, and where to.
    private func makePlaces() {
        let versions = (0..<ModelNames.files).map { file in
            SimBytes(label: 100 + file, count: Self.sizes[file])
        }
        for (file, bytes) in versions.enumerated() {
            world.disk.sources.put(bytes, at: ModelNames.source(file))
        }
        for url in 0..<ModelNames.urls where ModelNames.isPlace(url) {
            var place = SimUploadServer.Place(dialect: .plain, tells: false, namesVersion: false)
            place.rate = 1_000_000
            world.wire.servers.places[ModelNames.url(url)] = place
            world.uploads[ModelNames.url(url)] = SimUpload(
                source: "", versions: versions, ifChanged: .fail, mayRepeat: true)
        }
        world.wire.servers.source = { [unowned self] in world.disk.sources.version(openBy: $0) }
        world.wire.servers.mayPublish = { [unowned self] url, bytes, _ in
            publishes(bytes, at: url)
        }
    }

    /// A file gets to a URL by an upload of that file which nothing held.
    private func publishes(_ bytes: SimBytes, at url: String) -> String? {
        model.note()
        let isSent = uploads.contains { upload in
            ModelNames.url(upload.url) == url && model.served.contains(upload.url)
                && world.disk.sources.file(at: upload.path)?.bytes == bytes
        }
        return isSent ? nil : "\(url) has a file that no upload sends there"
    }

    private var wall: Double { Double(world.now.wall.milliseconds) / 1000 }

    /// The whole script, and in the end peace: everything that can complete does.
    func carryOut(_ script: [ModelStep]) throws {
        setConditions(.unmetered, power: true)
        for step in script {
            world.say("> \(step)")
            try carryOut(step)
        }
        try makePeace()
        world.finishTally()
    }

    private func makePeace() throws {
        world.fuse = nil
        setConditions(.unmetered, power: true)
        for url in 0..<ModelNames.urls { setAnswer(url, .file) }
        for file in 0..<ModelNames.files { unlink(ModelNames.path(file)) }
        let peace: [ModelCommand] = [
            .rest, .want(.now, .all, keepBytes: false), .rest,
            .want(.retry, .all, keepBytes: false), .rest,
        ]
        for command in peace {
            world.say("> \(command.text)")
            try carryOut(ModelStep(command: command))
        }
    }

    // MARK: - Steps

    private func carryOut(_ step: ModelStep) throws {
        model.now = wall
        model.note()
        world.clientDies = step.isKilled
        defer { world.clientDies = false }
        switch step.command {
        case .enqueue(let request): try enqueue(request, step)
        case .want(let verb, let selection, let keepBytes):
            try want(verb, selection, keepBytes, step)
        case .set(let label, let change): try set(label, change, step)
        case .remove(let label): try remove(label, step)
        case .acknowledge(let nth, let alone): try acknowledge(nth, alone, step)
        case .conditions(let network, let power): setConditions(network, power: power)
        case .answer(let url, let answer): setAnswer(url, answer)
        case .touch(let file): touch(ModelNames.path(file))
        case .unlink(let file): unlink(ModelNames.path(file))
        case .clock(let seconds):
            world.now.wall = world.now.wall + Double(seconds)
            world.wire.now = world.now
            world.tally.clockJumps += 1
        case .sleep(let seconds): try live(for: Double(seconds))
        case .kill(let effects): dies(after: effects, power: false)
        case .powerCut(let effects): dies(after: effects, power: true)
        case .leave: try leave()
        case .rest: try rest()
        }
        try look()
    }

    private var diesByPower = false

    private func dies(after effects: Int, power: Bool) {
        world.fuse = effects
        diesByPower = power
    }

    private func leave() throws {
        try world.leave()
        if world.isDead { try crash() }
        try look()
    }

    private func crash() throws {
        try world.crash(power: diesByPower)
        if fault == .losesFile, diesByPower { loseFile() }
        if fault == .repeatsEvent { model.lastSeq -= 1 }
        try look()
    }

    private func loseFile() {
        guard let path = model.files.keys.min() else { return }
        world.disk.names[path] = nil
        world.disk.durableNames[path] = nil
    }

    // MARK: - Time

    private func live(for seconds: Double) throws {
        let end = world.now.monotonic + seconds
        while world.now.monotonic < end { try pass(end - world.now.monotonic) }
    }

    /// One turn, if one is due, and time until the next thing happens.
    private func pass(_ most: Double) throws {
        let isTurn = world.isTurnDue
        if isTurn { try world.turn() }
        if world.isDead || (world.fuse ?? 1) < 0 { try crash() }
        try look()
        if isTurn { model.startMoment() }
        let seconds = min(max(0.05, min(world.secondsToNext(), 60)), max(most, 0.001))
        world.pass(seconds)
        world.wire.advance(seconds)
        for _ in 0..<8 { world.disk.step() }
        if let complaint = world.complaint { throw complaint }
    }

    private func rest() throws {
        let end = world.now.monotonic + Self.patienceSeconds
        while true {
            try look()
            let sights = try sights()
            let unrest = model.transfers.keys.sorted().compactMap { id in
                sights[id].flatMap { model.unrest(id, $0) }.map { "\(id): \($0)" }
            }
            let isQuiet = world.disk.orders.isEmpty && !world.hasNews
            if unrest.isEmpty, isQuiet { break }
            guard world.now.monotonic < end else {
                throw ModelComplaint(
                    unrest.isEmpty ? "the engine never rests" : unrest.joined(separator: "; "))
            }
            try pass(60)
        }
        let log = try world.store.events.list(after: 0, limit: 100_000)
        try model.checkAtRest(events: log.map { ($0.seq, $0.acknowledgedAt != nil) }) {
            world.disk.names[$0] != nil
        }
        try checkParts()
        model.forgetPast()
    }

    /// No part file is left that belongs to no transfer; a power cut may bring back deleted ones.
    private func checkParts() throws {
        let held = Set(try shown().values.compactMap { $0.held?.partPath })
        for path in world.disk.names.keys.sorted() where path.hasSuffix(".part") {
            let isBack = world.disk.undeleted[path] != nil
            if !held.contains(path), !isBack {
                throw ModelComplaint("\(path) is left behind, and no transfer has it")
            }
        }
    }

    // MARK: - Looks

    private func shown() throws -> [TransferID: Transfer] {
        let ids = model.transfers.keys.sorted().map(TransferID.init(rawValue:))
        let found = try world.store.transfers.find(ids, now: world.now.wall)
        return Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0) })
    }

    private func sights() throws -> [QueueModel.ID: ModelSight] {
        let snapshot = ConditionSnapshot(
            conditions: world.conditions, time: world.time, networkSettlesAt: nil)
        var sights: [QueueModel.ID: ModelSight] = [:]
        for (id, transfer) in try shown() {
            var sight = ModelSight(transfer)
            // What `list` adds for a waiting one.
            if transfer.state == .waiting {
                let gate = transfer.eligibility.gate(in: snapshot, now: world.now.wall)
                sight.reasons.formUnion(gate.reasons.map(\.reason.rawValue))
            }
            sights[id.rawValue] = sight
        }
        return sights
    }

    /// What is new in the log, and the states, where a process has changed the store.
    private func look() throws {
        model.now = wall
        model.note()
        if world.commits == lookedAt { return }
        lookedAt = world.commits
        let sights = try sights()
        for event in try world.store.events.list(after: model.lastSeq, limit: 10_000) {
            let seen = QueueModel.Event(
                type: event.type.rawValue, transfer: event.transfer?.rawValue,
                isAcknowledged: event.acknowledgedAt != nil)
            if fault == .repeatsEvent, model.log[event.seq] != nil {
                throw ModelComplaint("event \(event.seq) is handed over twice")
            }
            try model.see(
                event.seq, seen, session: event.session,
                at: event.transfer.flatMap { sights[$0.rawValue] })
        }
        try model.see(sights)
    }

    private func replaces(_ path: String) {
        let mayReplace = model.transfers.values.contains {
            $0.path == path && $0.request.policy == .overwrite
        }
        if !mayReplace { world.complain("\(path) is replaced, and nobody has asked for it") }
    }

    // MARK: - The machine

    private func setConditions(_ network: ModelNetwork, power: Bool) {
        model.network = network
        model.hasPower = power
        let since = world.now.wall
        let state: NetworkState =
            switch network {
            case .unmetered: .unmetered
            case .metered: .metered
            case .offline: .offline
            }
        world.conditions.network = Reading(state, source: "test", since: since)
        if network != .offline {
            world.conditions.network.identity = NetworkIdentity(connection: "home")
        }
        world.conditions.power = Reading(
            power ? .external : .battery, source: "test", since: since)
        world.tellConditions()
    }

    private func setAnswer(_ url: Int, _ answer: ModelAnswer) {
        model.answers[url] = answer
        let refusal = answer == .file ? nil : Int(answer.rawValue)
        world.wire.contents[ModelNames.url(url)]?.refusal = refusal
        world.wire.servers.places[ModelNames.url(url)]?.refusal = refusal
        model.note()
    }

    private func touch(_ path: String) {
        guard world.disk.names[path] == nil else { return }
        world.disk.putForeign(path)
        model.files[path] = .foreign
        model.note()
    }

    /// Not the file that an engine is about to complete.
    private func unlink(_ path: String) {
        let isBusy = model.transfers.values.contains {
            $0.path == path && ($0.state.isLive || $0.hasRun && $0.state != .completed)
        }
        if isBusy && model.files[path] != .foreign { return }
        guard world.disk.names[path] != nil else { return }
        world.disk.names[path] = nil
        world.disk.durableNames[path] = nil
        model.files[path] = nil
    }
}

extension ModelSight {
    init(_ transfer: LonghaulCore.Transfer) {
        state = transfer.state.rawValue
        path = transfer.path
        earliest = transfer.earliestBegin.map { Double($0.milliseconds) / 1000 }
        deadline = transfer.deadline.map { Double($0.milliseconds) / 1000 }
        runsNow = transfer.runsNow
        reasons = Set(transfer.waitingFor.map(\.reason.rawValue))
        error = transfer.error?.code.rawValue
        policy =
            switch transfer.options.ifExists {
            case .fail: .fail
            case .skip: .skip
            case .overwrite: .overwrite
            case .rename: .rename
            }
        power = transfer.schedule.requires.power
        unmetered = transfer.schedule.requires.unmetered
        after = Set(transfer.options.after.map(\.rawValue))
    }
}
