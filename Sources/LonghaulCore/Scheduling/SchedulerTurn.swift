/// One run of the policy: counts what runs, and hands out what is left of the limits.
struct SchedulerTurn {
    private let limits: SchedulerLimits
    private let origins: [OriginID: OriginState]
    private var runningCount: Int
    /// Looked up by key only, never walked: a dictionary's order is chance.
    private var connections: [OriginID: Int] = [:]
    private var transfersOfSession: [String: Int] = [:]
    private(set) var plan = SchedulerPolicy.Plan()

    init(
        limits: SchedulerLimits, running: [Running], origins: [OriginID: OriginState],
        now: Timestamp
    ) {
        self.limits = limits
        self.origins = origins
        runningCount = running.count
        for transfer in running {
            connections[transfer.origin, default: 0] += transfer.connections
            transfersOfSession[transfer.session, default: 0] += 1
        }
    }

    /// Candidates of one rank, in order. The session with the fewest running goes next; among
    /// equals, the one whose candidate is first.
    mutating func take(_ group: [Candidate]) {
        var queues = sessionQueues(group)
        while !queues.isEmpty {
            var best = 0
            for index in queues.indices.dropFirst()
            where isFairer(queues[index], than: queues[best]) {
                best = index
            }
            let (_, candidate) = queues[best].removeFirst()
            if queues[best].isEmpty { queues.remove(at: best) }
            consider(candidate)
        }
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
        return myCount != itsCount ? myCount < itsCount : mine.place < its.place
    }

    private mutating func consider(_ candidate: Candidate) {
        if let reason = blockage(of: candidate) {
            plan.waiting.append(SchedulerPolicy.Waiting(id: candidate.id, reason: reason))
            return
        }
        plan.starts.append(candidate.id)
        runningCount += 1
        connections[candidate.origin, default: 0] += 1
        transfersOfSession[candidate.session, default: 0] += 1
    }

    private func blockage(of candidate: Candidate) -> WaitReason? {
        let origin = origins[candidate.origin] ?? OriginState()
        let open = connections[candidate.origin] ?? 0
        let allowed: Int
        switch origin.health {
        case .cooling(let until):
            return WaitReason(
                .originCooldown, required: "origin answers", current: "cooling down",
                since: candidate.waitingSince, nextCheck: until)
        case .probing:
            if open > 0 {
                return WaitReason(
                    .originCooldown, required: "origin answers",
                    current: "one transfer tries first", since: candidate.waitingSince)
            }
            allowed = 1
        case .well: allowed = origin.speaksHTTP2 ? limits.perHTTP2Origin : limits.perOrigin
        }
        if open >= allowed {
            return WaitReason(
                .originLimit, required: "fewer than \(allowed)", current: "\(open)",
                since: candidate.waitingSince)
        }
        if runningCount >= limits.running {
            return WaitReason(
                .concurrency, required: "fewer than \(limits.running)",
                current: "\(runningCount)", since: candidate.waitingSince)
        }
        return nil
    }
}
