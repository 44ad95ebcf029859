package import LonghaulModel

/// A run of the policy: counts running transfers, and assigns the rest of the limits.
struct SchedulerTurn {
    private let limits: SchedulerLimits
    private var origins: OriginTable
    private let now: Timestamp
    private let hasOverdue: Bool
    /// Transfers that were made ready ahead are not counted among the running: they move no bytes
    /// yet.
    private var places: PlacesInUse
    /// Places held at origins that fail.
    private var failingCount = 0
    /// Looked up by key only, never walked: a dictionary's order is chance.
    private var transfersOfSession: [String: Int] = [:]
    /// Running transfers whose turn is over; none where a place is about to be free.
    private let spent: [Running]
    /// The first candidate of each session that lacks only a place, in order. Recorded only for a
    /// turn that is over.
    private var placeless: [(candidate: Candidate, reason: WaitReason.Reason)] = []
    var plan = SchedulerPolicy.Plan()

    init(
        limits: SchedulerLimits, running: [Running], origins: [OriginID: OriginState],
        box: TimeBox?, now: Timestamp
    ) {
        self.limits = limits
        self.origins = OriginTable(states: origins)
        self.now = now
        places = PlacesInUse(box: box)
        places.discretionary = running.count { $0.eligibility.isDiscretionary }
        let isPlaceComing = running.contains(where: \.isLeaving)
        spent = isPlaceComing ? [] : running.filter { $0.isTurnOver(at: now) }
        hasOverdue = running.contains { transfer in
            transfer.overdueSince.map { now - $0 <= Limits.starvationSeconds } ?? false
        }
        for transfer in running {
            transfersOfSession[transfer.session, default: 0] += 1
            countPlace(at: transfer.origin, connections: transfer.connections)
        }
    }

    mutating func hold(_ candidate: Candidate, _ reasons: [WaitReason]) {
        assert(!reasons.isEmpty, "what waits has a reason")
        plan.waiting.append(SchedulerPolicy.Waiting(id: candidate.id, reasons: reasons))
    }

    /// Assigns one place by age alone every half hour, so that no stream of better candidates
    /// starves another: to the candidate that has waited longest and can start. It leaves the
    /// others.
    mutating func startOverdue(_ candidates: inout [Candidate]) {
        if hasOverdue { return }
        let aged = candidates.indices.filter {
            candidates[$0].isAged(now: now) && !candidates[$0].isPutBack
        }.sorted {
            let (left, right) = (candidates[$0], candidates[$1])
            return left.waitingSince != right.waitingSince
                ? left.waitingSince < right.waitingSince : left.id < right.id
        }
        var first: Int?
        for index in aged {
            if blockage(of: atItsSource(candidates[index]), byAge: true) != nil { continue }
            first = index
            break
        }
        guard let index = first else { return }
        let candidate = atItsSource(candidates.remove(at: index))
        start(candidate)
        plan.overdue = candidate.id
    }

    /// The passes over the candidates of one rank. Every place is assigned in the end: candidates
    /// put off by one pass get a remaining place in a later one.
    private enum Pass: CaseIterable {
        /// Origins that answer; for each untried one a first transfer; for each failing one a first
        /// transfer, in a few places.
        case first
        /// The kind of all other untried origins.
        case untried
        case failing
    }

    /// Candidates of one rank, in order.
    mutating func serve(_ group: [Candidate]) {
        var rest = group
        for pass in Pass.allCases where !rest.isEmpty { rest = serve(rest, pass) }
    }

    /// The session with the fewest running transfers goes next; among equals, the one whose
    /// candidate is first. Returns the candidates that are put off to a later pass.
    private mutating func serve(_ group: [Candidate], _ pass: Pass) -> [Candidate] {
        var rest: [Candidate] = []
        // Between one session and itself there is nothing to weigh.
        if let first = group.first, group.allSatisfy({ $0.session == first.session }) {
            for candidate in group { consider(candidate, pass, &rest) }
            return rest
        }
        var queues = sessionQueues(group)
        while !queues.isEmpty {
            var best = 0
            for index in queues.indices.dropFirst()
            where isFairer(queues[index], than: queues[best]) {
                best = index
            }
            let (_, candidate) = queues[best].removeFirst()
            if queues[best].isEmpty { queues.remove(at: best) }
            consider(candidate, pass, &rest)
        }
        return rest
    }

    private typealias Queue = ArraySlice<(place: Int, candidate: Candidate)>

    private func sessionQueues(_ group: [Candidate]) -> [Queue] {
        var order: [String: Int] = [:]
        var queues: [Queue] = []
        for (place, candidate) in group.enumerated() {
            if let index = order[candidate.session] {
                queues[index].append((place, candidate))
            } else {
                order[candidate.session] = queues.count
                queues.append([(place, candidate)])
            }
        }
        return queues
    }

    private func isFairer(_ left: Queue, than right: Queue) -> Bool {
        guard let mine = left.first, let its = right.first else { return false }
        let myCount = transfersOfSession[mine.candidate.session] ?? 0
        let itsCount = transfersOfSession[its.candidate.session] ?? 0
        if myCount != itsCount { return myCount < itsCount }
        let (myTime, itsTime) = (mine.candidate.placeTime, its.candidate.placeTime)
        return myTime != itsTime ? myTime < itsTime : mine.place < its.place
    }

    private mutating func consider(
        _ candidate: Candidate, _ pass: Pass, _ rest: inout [Candidate]
    ) {
        let candidate = atItsSource(candidate)
        if isPutOff(origins[origins.index(of: candidate.origin)], in: pass) {
            rest.append(candidate)
            return
        }
        if let reason = blockage(of: candidate) {
            hold(candidate, [reason])
            notePlaceless(candidate, reason)
            return
        }
        start(candidate)
    }

    // MARK: - Turns

    private mutating func notePlaceless(_ candidate: Candidate, _ reason: WaitReason) {
        guard !spent.isEmpty,
            reason.reason == .concurrency || reason.reason == .originLimit,
            !placeless.contains(where: { $0.candidate.session == candidate.session })
        else { return }
        placeless.append((candidate, reason.reason))
    }

    /// Takes one place from a session that has more of them, and has held places for longer, than
    /// one that waits only for a place. One at a time: the next plan sees the result.
    mutating func endTurn() {
        guard plan.stops.isEmpty else { return }
        for (candidate, reason) in placeless {
            let count = transfersOfSession[candidate.session] ?? 0
            let rank = Rank(candidate, now: now)
            let most = spent.filter { transfer in
                transfer.session != candidate.session
                    && transfersOfSession[transfer.session] ?? 0 > count
                    && transfer.placeTime > candidate.placeTime
                    && (reason == .concurrency || transfer.origin == candidate.origin)
                    && !(Rank(transfer) < rank)
            }.max { left, right in
                left.placeTime != right.placeTime
                    ? left.placeTime < right.placeTime : left.id > right.id
            }
            guard let most else { continue }
            let reason = WaitReason(
                .concurrency, required: "a turn of its session",
                current: "session \(candidate.session) goes first")
            plan.stops.append(SchedulerPolicy.Waiting(id: most.id, reasons: [reason]))
            return
        }
    }

    /// The candidate begins at the first of its sources that is not left alone for now, else at the
    /// one that is first to be asked again.
    private mutating func atItsSource(_ candidate: Candidate) -> Candidate {
        var (best, soonest) = (candidate, Timestamp.distantFuture)
        if candidate.mirrors.isEmpty { return candidate }
        best.mirrors = []
        for name in [candidate.origin] + candidate.mirrors {
            let origin = origins[origins.index(of: name)]
            let reason = limits.blockage(
                of: origin.state, connections: origin.connections, since: nil)
            let isCooling = reason?.reason == .originCooldown
            let ends = isCooling ? reason?.nextCheck ?? .distantFuture : now
            if ends < soonest { (best.origin, soonest) = (name, ends) }
            if !isCooling { break }
        }
        return best
    }

    private func isPutOff(_ origin: OriginTable.Entry, in pass: Pass) -> Bool {
        switch (origin.state.standing, pass) {
        case (.answers, _), (.untried, .untried), (.untried, .failing), (.fails, .failing): false
        case (.untried, .first): origin.transfers > 0
        case (.fails, .first): origin.transfers > 0 || failingCount >= limits.runningFailing
        case (.fails, .untried): true
        }
    }

    private mutating func start(_ candidate: Candidate) {
        plan.starts.append(candidate.id)
        if goesAhead(origins[origins.index(of: candidate.origin)]) {
            plan.prefetched.insert(candidate.id)
        }
        countPlace(at: candidate.origin, connections: 1)
        if candidate.eligibility.isDiscretionary { places.discretionary += 1 }
        transfersOfSession[candidate.session, default: 0] += 1
    }

    private mutating func countPlace(at name: OriginID, connections: Int) {
        let index = origins.index(of: name)
        let origin = origins[index]
        if origin.state.prefetched == 0 || origin.transfers < limits.connections(to: origin.state) {
            places.running += 1
        }
        if origin.state.standing == .fails { failingCount += 1 }
        origins[index].transfers += 1
        origins[index].connections += connections
    }

    /// All the connections to its origin are in use, and it may be made ready meanwhile.
    private func goesAhead(_ origin: OriginTable.Entry) -> Bool {
        origin.state.prefetched > 0 && origin.transfers >= limits.connections(to: origin.state)
    }

    private mutating func blockage(
        of candidate: Candidate, byAge: Bool = false
    ) -> WaitReason? {
        let origin = origins.index(of: candidate.origin)
        if candidate.eligibility.goesOnce {
            var state = origins[origin].state
            (state.prefetched, state.speaksHTTP2) = (0, false)
            let reason = limits.blockage(
                of: state, connections: origins[origin].connections, since: candidate.waitingSince)
            if let reason { return reason }
        }
        return origins.blockage(at: origin, limits, since: candidate.waitingSince)
            ?? places.blockage(
                of: candidate, limits, needsPlace: !goesAhead(origins[origin]), byAge: byAge,
                now: now)
    }
}

/// Recent seconds of held places by session. Half of it is forgotten every
/// ``Limits/placeTimeSeconds``. Among sessions with as many running transfers, the one with less of
/// it goes first, so that small transfers get as much time as large ones of another session.
package struct PlaceTime: Sendable {
    private var seconds: [String: Double] = [:]
    private var halvedAt: Instant?

    package init() {}

    package subscript(session: String) -> Double { seconds[session] ?? 0 }

    package mutating func add(_ held: Double, to session: String) {
        assert(held >= 0, "a place is held forwards in time")
        seconds[session, default: 0] += held
    }

    /// Called before each plan. Sessions with hardly any time left are forgotten: the memory is
    /// bounded by the sessions that can run in a few such periods.
    package mutating func halve(at now: Instant) {
        guard let last = halvedAt else {
            halvedAt = now
            return
        }
        let times = ((now - last) / Limits.placeTimeSeconds).rounded(.down)
        if times < 1 { return }
        halvedAt = last + times * Limits.placeTimeSeconds
        let part = times > 20 ? 0 : 1 / Double(1 << Int(times))
        seconds = seconds.compactMapValues { $0 * part < 1 ? nil : $0 * part }
    }
}
