/// Which waiting transfers start now, and why the others do not: a function of what is given to it,
/// and of nothing else.
package struct SchedulerPolicy: Sendable {
    package var limits: SchedulerLimits

    package init(limits: SchedulerLimits = SchedulerLimits()) {
        self.limits = limits
    }

    package struct Plan: Hashable, Sendable {
        /// In the order in which they start.
        package var starts: [TransferID] = []
        /// Every candidate that does not start, in the order of its turn.
        package var waiting: [Waiting] = []
    }

    package struct Waiting: Hashable, Sendable {
        package var id: TransferID
        package var reason: WaitReason
    }

    /// - Parameters:
    ///   - head: Transfers that wait for nothing but their turn.
    ///   - origins: What is known of their origins; one that is missing is well and speaks
    ///     HTTP/1.1.
    package func plan(
        head: [Candidate], running: [Running], origins: [OriginID: OriginState], now: Timestamp
    ) -> Plan {
        var turn = SchedulerTurn(limits: limits, running: running, origins: origins, now: now)
        for (_, group) in grouped(head, now: now) { turn.take(group) }
        return turn.plan
    }

    /// By rank, best first; inside by slack, then age.
    private func grouped(_ head: [Candidate], now: Timestamp) -> [(Rank, [Candidate])] {
        let sorted = head.map { (Rank($0, now: now), $0) }.sorted { left, right in
            left.0 != right.0 ? left.0 < right.0 : left.1.isBefore(right.1, now: now)
        }
        var groups: [(Rank, [Candidate])] = []
        for (rank, candidate) in sorted {
            if groups.last?.0 == rank {
                groups[groups.count - 1].1.append(candidate)
            } else {
                groups.append((rank, [candidate]))
            }
        }
        return groups
    }
}

package struct SchedulerLimits: Hashable, Sendable {
    package var running = Limits.runningTransfers
    /// Connections to one origin over HTTP/1.1, FTP and SFTP.
    package var perOrigin = Limits.connectionsPerOrigin
    /// Streams to one origin over HTTP/2.
    package var perHTTP2Origin = Limits.streamsPerOrigin

    package init() {}
}

/// Names an origin: `scheme://host:port`, see ``URLParts/origin``.
package struct OriginID: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// A transfer that waits for its turn.
package struct Candidate: Hashable, Sendable {
    package var id: TransferID
    package var session: String
    package var origin: OriginID
    package var priority: Priority
    package var isDiscretionary: Bool
    /// Since when it waits for nothing but its turn.
    package var waitingSince: Timestamp
    package var deadline: Timestamp?
    /// What it may take, by its size and the origin's throughput; `nil` = unknown.
    package var expectedSeconds: Double?

    package init(
        id: TransferID, session: String, origin: OriginID, priority: Priority = .normal,
        isDiscretionary: Bool = false, waitingSince: Timestamp, deadline: Timestamp? = nil,
        expectedSeconds: Double? = nil
    ) {
        self.id = id
        self.session = session
        self.origin = origin
        self.priority = priority
        self.isDiscretionary = isDiscretionary
        self.waitingSince = waitingSince
        self.deadline = deadline
        self.expectedSeconds = expectedSeconds
    }

    /// How long it could still wait and be done in time.
    func slack(now: Timestamp) -> Double {
        guard let deadline else { return .infinity }
        return (deadline - now) - (expectedSeconds ?? 0)
    }

    func isBefore(_ other: Candidate, now: Timestamp) -> Bool {
        let (mine, its) = (slack(now: now), other.slack(now: now))
        if mine != its { return mine < its }
        if waitingSince != other.waitingSince { return waitingSince < other.waitingSince }
        return id < other.id
    }
}

/// A transfer that moves bytes, or is being started or stopped.
package struct Running: Hashable, Sendable {
    package var id: TransferID
    package var session: String
    package var origin: OriginID
    package var connections: Int

    package init(id: TransferID, session: String, origin: OriginID, connections: Int = 1) {
        self.id = id
        self.session = session
        self.origin = origin
        self.connections = connections
    }
}

package struct OriginState: Hashable, Sendable {
    package var speaksHTTP2: Bool
    package var health: OriginMemory.Health

    package init(speaksHTTP2: Bool = false, health: OriginMemory.Health = .well) {
        self.speaksHTTP2 = speaksHTTP2
        self.health = health
    }

    package init(_ memory: OriginMemory, now: Timestamp) {
        self.init(speaksHTTP2: memory.speaksHTTP2, health: memory.health(at: now))
    }
}

/// Non-discretionary before discretionary, then priority; what has waited long counts one higher.
struct Rank: Hashable, Comparable {
    let isDiscretionary: Bool
    let level: Int

    init(_ candidate: Candidate, now: Timestamp) {
        isDiscretionary = candidate.isDiscretionary
        let aged = now - candidate.waitingSince > Limits.starvationSeconds
        level = candidate.priority.rawValue - (aged ? 1 : 0)
    }

    static func < (left: Rank, right: Rank) -> Bool {
        if left.isDiscretionary != right.isDiscretionary { return !left.isDiscretionary }
        return left.level < right.level
    }
}
