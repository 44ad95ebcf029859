/// A queue as the documents describe it: in memory, without disk, network or engine. It does not
/// decide when the engine does something. It tells what each command does at once, which events and
/// states may follow, and what is true when nothing changes any more.
struct QueueModel: Sendable {
    typealias ID = Int64

    struct Transfer: Sendable {
        /// As changed by `set`.
        var request: ModelRequest
        var path: String
        var state = ModelState.waiting
        /// Seconds of the wall clock.
        var earliest: Double?
        var deadline: Double?
        /// `now` has set its schedule aside.
        var runsNow = false
        /// The transfers of `--after` that are not crossed out.
        var awaits: Set<ID> = []
        /// One of them has failed or was cancelled.
        var hasMissed = false
        /// Ends with `--after-any` that an engine may not have seen before the transfer was taken
        /// up again.
        var mayBePast: Set<ID> = []
        /// An engine may have seen that one of them was to be cancelled, or had ended, before that
        /// was taken back.
        var mayHaveMissed = false
        /// Nothing has held it at some moment since the engine last looked.
        var wasFree = false
        /// Its URL before `set --url`: the fetch of that one may be on its way out.
        var formerURL: Int?
        /// It ran since it was last enqueued or taken up again.
        var hasRun = false
        /// It was taken up again from this end, and an engine may not have seen that: until then it
        /// does not hold its destination against everybody.
        var mayBePending: ModelState?
        /// A repeated request may have changed its options: the next look tells them.
        var isRestated = false

        /// What no other live transfer may have.
        var reservation: String {
            request.isUpload ? "\(request.session) \(request.url) \(path)" : path
        }
    }

    struct Event: Hashable, Sendable {
        var type: String
        var transfer: ID?
        var isAcknowledged = false
    }

    enum File: Sendable { case own, foreign }

    /// What was true at some moment since everything was last at rest.
    struct Period: Sendable {
        var answers: [Int: Set<ModelAnswer>] = [:]
        var names: Set<String> = []
    }

    var rules = ModelRules.documented
    var transfers: [ID: Transfer] = [:]
    /// The transfers of the labels of a script.
    var ids: [Int: ID] = [:]
    var network = ModelNetwork.unmetered
    var hasPower = true
    var answers: [Int: ModelAnswer] = [:]
    /// The wall clock.
    var now = 0.0
    var files: [String: File] = [:]
    var log: [ID: Event] = [:]
    var lastSeq: ID = 0
    /// Sessions in which a transfer has ended since the last `sessionFinished`.
    var hasEnds: Set<String> = []
    var period = Period()
    /// URLs that have sent their file to a transfer that was free to run.
    var served: Set<Int> = []

    // MARK: - Holds

    func answer(_ url: Int) -> ModelAnswer { answers[url] ?? .file }

    /// What keeps it from running, apart from its turn, its server and back-offs.
    func holds(_ transfer: Transfer) -> Set<ModelHold> {
        var holds: Set<ModelHold> = network == .offline ? [.network] : []
        let isAwaiting = transfer.awaits.contains { id in
            !transfer.mayBePast.contains(id) && transfers[id]?.state.isLive == true
        }
        if isAwaiting { holds.insert(.transfers) }
        if transfer.runsNow { return holds }
        if let earliest = transfer.earliest, earliest > now { holds.insert(.earliestBegin) }
        if transfer.request.power, !hasPower { holds.insert(.power) }
        if transfer.request.unmetered, network != .unmetered {
            holds.insert(network == .metered ? .unmetered : .network)
        }
        return holds
    }

    /// An equal transfer runs for it: that of the same URL, if nothing holds that one.
    private func hasCompanion(_ id: ID, _ transfer: Transfer) -> Bool {
        if holds(transfer).contains(.transfers) { return false }
        return transfers.contains { other, known in
            if other == id { return false }
            if known.formerURL == transfer.request.url, known.hasRun { return true }
            return known.request.url == transfer.request.url && (known.wasFree || isFree(known))
        }
    }

    private func isFree(_ transfer: Transfer) -> Bool {
        (transfer.state == .waiting || transfer.state == .running) && holds(transfer).isEmpty
    }

    func mayRun(_ id: ID) -> Bool {
        guard let transfer = transfers[id] else { return false }
        return transfer.wasFree || isFree(transfer) || hasCompanion(id, transfer)
    }

    func isLate(_ transfer: Transfer) -> Bool { transfer.deadline.map { $0 <= now } ?? false }

    /// Takes down what is possible at this moment. Called after each change of anything.
    mutating func note() {
        for (url, answer) in answers { period.answers[url, default: []].insert(answer) }
        period.names.formUnion(files.keys)
        for (id, transfer) in transfers where isFree(transfer) {
            transfers[id]?.wasFree = true
            if answer(transfer.request.url) == .file { served.insert(transfer.request.url) }
        }
    }

    /// Everything is at rest: the past does not explain anything any more.
    mutating func forgetPast() {
        period = Period()
        for id in transfers.keys {
            transfers[id]?.wasFree = false
            transfers[id]?.mayBePending = nil
            transfers[id]?.mayHaveMissed = false
            transfers[id]?.formerURL = nil
        }
        for id in transfers.keys where transfers[id]?.state != .running {
            transfers[id]?.hasRun = false
        }
        note()
    }

    // MARK: - Commands

    /// The rule for one transfer, with what its destination adds.
    func rule(_ verb: ModelVerb, _ id: ID) -> Set<ModelRule> {
        guard let transfer = transfers[id] else { return [.refused] }
        let rule = rules[verb, transfer.state]
        guard verb.rearms, transfer.state.hasEnded, rule != .refused,
            transfer.request.policy != .rename
        else { return [rule] }
        let holders = holders(of: transfer.reservation).filter { $0 != id }
        if holders.isEmpty { return [rule] }
        // A holder that is about to be cancelled, or taken up again, may make room.
        let isWeak = holders.allSatisfy {
            transfers[$0]?.state == .cancelling || transfers[$0]?.mayBePending != nil
        }
        return isWeak ? [rule, .refused] : [.refused]
    }

    private func holders(of reservation: String) -> [ID] {
        transfers.filter { $0.value.reservation == reservation && $0.value.state.isLive }
            .keys.sorted()
    }

    mutating func apply(_ verb: ModelVerb, _ id: ID, _ rule: ModelRule) {
        guard var transfer = transfers[id] else { return }
        switch rule {
        case .refused: return
        case .removed:
            transfers[id] = nil
            log = log.filter { $0.value.transfer != id || !$0.value.isAcknowledged }
            return
        case .becomes(let state):
            let last = transfer.state
            transfer.state = state
            // A change of state restores the schedule.
            if state != last { transfer.runsNow = false }
            if verb == .now {
                transfer.runsNow = true
                transfer.awaits = []
                transfer.hasMissed = false
            }
            if last.hasEnded, verb.rearms { rearm(&transfer, from: last) }
            // No engine may have seen the command that is taken back.
            if state == .waiting, transfer.hasRun { transfer.wasFree = true }
        }
        transfers[id] = transfer
        if verb == .cancel { mayMiss(id) }
        note()
    }

    /// An ended transfer is live again.
    private func rearm(_ transfer: inout Transfer, from state: ModelState) {
        transfer.mayBePending = state
        transfer.hasRun = false
        transfer.wasFree = false
        transfer.deadline = nil
        transfer.hasMissed =
            !transfer.request.afterAny
            && transfer.awaits.contains { id in
                transfers[id].map { $0.state == .failed || $0.state == .cancelled } ?? true
            }
    }

    /// A cancel counts for the transfers that wait for this one, even before it is applied.
    private mutating func mayMiss(_ id: ID) {
        for (other, transfer) in transfers where transfer.awaits.contains(id) {
            transfers[other]?.mayHaveMissed = true
            if transfer.request.afterAny { transfers[other]?.mayBePast.insert(id) }
        }
    }

    mutating func apply(_ change: ModelChange, to id: ID) {
        switch change {
        case .priority(let priority): transfers[id]?.request.priority = priority
        case .earliest(let seconds): transfers[id]?.earliest = seconds.map { now + Double($0) }
        case .needs(let power, let unmetered):
            transfers[id]?.request.power = power
            transfers[id]?.request.unmetered = unmetered
        case .url(let url):
            let former = transfers[id]?.request.url
            transfers[id]?.formerURL = former
            transfers[id]?.request.url = url
        case .deadline: break
        }
        // An earlier deadline, or one that counts from an earlier begin.
        transfers[id]?.deadline = nil
        note()
    }

    // MARK: - Enqueue

    enum EnqueueOutcome: Hashable, Sendable {
        case recorded
        case existing(ID)
        case refused
    }

    /// The same request again, a conflict, or a transfer.
    func outcomes(of request: ModelRequest) -> Set<EnqueueOutcome> {
        let reservation = Transfer(request: request, path: request.path).reservation
        let awaited = request.after.map { ids[$0].flatMap { transfers[$0] }?.state }
        let misses = awaited.contains { state in
            guard let state else { return true }
            let isBad = state == .failed || state == .cancelled || state == .cancelling
            return isBad && !request.afterAny
        }
        let holders = holders(of: reservation)
        if holders.contains(where: { transfers[$0]?.mayBePending == .cancelled }) {
            return Set(holders.map { .existing($0) }).union([.recorded, .refused])
        }
        if let holder = holders.first(where: { transfers[$0]?.state != .cancelling }) {
            if isSame(request, holder) { return repeats(request, holder, misses) }
            return request.policy == .rename && !misses ? [.recorded] : [.refused]
        }
        if let holder = holders.last {
            if misses { return [.refused] }
            let hasRoom = request.policy == .rename || isSame(request, holder)
            return hasRoom ? [.recorded] : [.recorded, .refused]
        }
        let failed = transfers.filter { id, known in
            known.state == .failed && known.reservation == reservation && isSame(request, id)
        }
        if let newest = failed.keys.max() { return repeats(request, newest, misses) }
        return misses ? [.refused] : [.recorded]
    }

    /// The transfer that is there already. It cannot wait for itself, not even through others; and
    /// whether it waits for the same as before is not the model's to say.
    private func repeats(
        _ request: ModelRequest, _ id: ID, _ misses: Bool
    ) -> Set<EnqueueOutcome> {
        var awaited = Set(request.after.compactMap { ids[$0] })
        var unseen = awaited
        while let next = unseen.popFirst() {
            let further = (transfers[next]?.awaits ?? []).subtracting(awaited)
            awaited.formUnion(further)
            unseen.formUnion(further)
        }
        if awaited.contains(id) {
            return transfers[id]?.state.isLive == true ? [.refused] : [.existing(id), .refused]
        }
        return misses ? [.existing(id), .refused] : [.existing(id)]
    }

    private func isSame(_ request: ModelRequest, _ id: ID) -> Bool {
        transfers[id]?.request.url == request.url
            && transfers[id]?.request.session == request.session
    }

    mutating func record(_ request: ModelRequest, as id: ID, at path: String) {
        var transfer = Transfer(request: request, path: path)
        transfer.earliest = request.earliest.map { now + Double($0) }
        transfer.awaits = Set(
            request.after.compactMap { ids[$0] }.filter { transfers[$0]?.state.isLive == true })
        transfers[id] = transfer
        ids[request.label] = id
        note()
    }

    mutating func repeatRequest(_ request: ModelRequest, of id: ID) {
        ids[request.label] = id
        guard var transfer = transfers[id] else { return }
        if transfer.state == .failed {
            transfer.state = .waiting
            rearm(&transfer, from: .failed)
        }
        transfer.isRestated = true
        transfers[id] = transfer
        note()
    }
}
