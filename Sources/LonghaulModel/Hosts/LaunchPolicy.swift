/// Facts about a host that decide whether it is started.
package struct HostFacts: Hashable, Sendable {
    package var name: String
    /// A launch of it is being made, or runs.
    package var isBusy = false
    /// The host runs by itself and gets its events live.
    package var isAttached = false
    /// A process of it that runs by itself takes launches: no program is started.
    package var hasResident = false
    package var obstacle: LaunchObstacle?
    /// Launches in a row that failed.
    package var failures = 0
    /// Earliest next launch after a failure.
    package var retryAt: Timestamp?
    /// Urgent wake-ups wait like others until then.
    package var urgencyLostUntil: Timestamp?
    package var wakeUpBudget = WakeUpBudget()
    /// The slot of a job.
    package var slot: JobSlot?
    /// Sessions of the host that have something for it.
    package var sessions: [WaitingSession] = []
    /// Tasks and wake-ups of the host that may begin now.
    package var tasks: [DueTask] = []

    package init(name: String) {
        self.name = name
    }

    /// A host that is not known.
    package init(removed name: String) {
        self.name = name
        obstacle = .removed
    }
}

/// A session with events that are not acknowledged.
package struct WaitingSession: Hashable, Sendable {
    package var name: String
    package var launchEvents = true
    package var launchDelay: Double?
    /// When the first of them came to be.
    package var firstWaiting: Timestamp
    /// No transfer of it is left to end.
    package var isDrained = false
    /// A transfer waits for an answer of the host.
    package var needsInput = false
    /// The number of the last launch that was for it; 0 = there was none.
    package var lastLaunch: Int64 = 0

    package init(name: String, firstWaiting: Timestamp) {
        self.name = name
        self.firstWaiting = firstWaiting
    }
}

/// State of a host, for people.
public enum HostState: Hashable, Sendable {
    /// Nothing waits that the host is started for.
    case idle
    /// A process of the host is attached and gets its events itself, and nothing else waits.
    case attached
    /// A launch of it runs.
    case running
    /// The host is started at this moment.
    case due(Timestamp)
    /// The host failed: it is started again at this moment.
    case delayed(Timestamp)
    /// The host's events wait until this is mended.
    case blocked(LaunchObstacle)
}

/// Decides which hosts are started now, and when to decide again: pure.
///
/// A host is started once for all that waits of a session: when the session is drained, when a
/// transfer needs its answer, or when the first event has waited for the session's delay; and for
/// its tasks that may begin. What is due at the same time is in one launch. It never runs twice at
/// a time. What holds a host back holds back no transfer. A resident process of the host gets the
/// same in place of a new process.
package enum LaunchPolicy {
    package struct Due: Hashable, Sendable {
        package var host: String
        /// `nil` = no events are handed over.
        package var session: String?
        package var tasks: [DueTask]
        package var reason: LaunchReason

        package init(
            host: String, session: String?, tasks: [DueTask] = [], reason: LaunchReason
        ) {
            assert(session != nil || !tasks.isEmpty, "a launch has events or tasks")
            self.host = host
            self.session = session
            self.tasks = tasks
            self.reason = reason
        }
    }

    package struct Plan: Hashable, Sendable {
        package var due: [Due] = []
        /// When the next host is due that is not now; `nil` = none will be by the clock alone.
        package var next: Timestamp?
        package var states: [String: HostState] = [:]
    }

    package static func plan(_ hosts: [HostFacts], now: Timestamp) -> Plan {
        var plan = Plan()
        for host in hosts {
            let state = state(of: host, now: now)
            plan.states[host.name] = state
            switch state {
            case .idle, .attached, .running, .blocked: break
            case .due(let at), .delayed(let at):
                guard at <= now, let due = due(host, now: now) else {
                    plan.next = min(plan.next ?? at, at)
                    break
                }
                plan.due.append(due)
            }
        }
        return plan
    }

    /// The launch for everything that is due; for a continued task it is that one alone.
    private static func due(_ host: HostFacts, now: Timestamp) -> Due? {
        // A person waits for it, and it may take long: it shares its launch with nothing.
        if let continued = host.tasks.first(where: { $0.kind == .continued }) {
            return Due(host: host.name, session: nil, tasks: [continued], reason: .task)
        }
        let isHeldBack = retryAt(host, now: now) != nil
        let session = first(of: host, now: now).flatMap { session in
            !isHeldBack && dueAt(session, now: now) <= now ? session : nil
        }
        // An urgent wake-up takes the others along.
        let isWokenAtOnce = host.tasks.contains { $0.isUrgent && $0.kind == .wakeUp }
        let tasks =
            isHeldBack
            ? host.tasks.filter { $0.isUrgent || isWokenAtOnce && $0.kind == .wakeUp }
            : host.tasks
        if let session {
            return Due(
                host: host.name, session: session.name, tasks: tasks,
                reason: session.needsInput ? .inputNeeded : .sessionEvents)
        }
        if tasks.isEmpty { return nil }
        let isWoken = tasks.contains { $0.kind == .wakeUp }
        return Due(host: host.name, session: nil, tasks: tasks, reason: isWoken ? .wake : .task)
    }

    package static func state(of host: HostFacts, now: Timestamp) -> HostState {
        if host.isBusy { return .running }
        let session = first(of: host, now: now)
        if session == nil, host.tasks.isEmpty { return host.isAttached ? .attached : .idle }
        if let obstacle = host.obstacle, obstacle == .removed || !host.hasResident {
            return .blocked(obstacle)
        }
        if host.tasks.contains(where: \.isUrgent) { return .due(now) }
        let at = host.tasks.isEmpty ? session.map { dueAt($0, now: now) } ?? now : now
        guard let retry = retryAt(host, now: now), retry > at else { return .due(at) }
        return .delayed(retry)
    }

    /// The session whose turn comes first: input before events, since a transfer waits for it;
    /// among due sessions the one that was handed over longest ago.
    ///
    /// After a failure the sessions take turns: events that a host cannot deal
    /// with delay its other sessions, but not for ever.
    private static func first(of host: HostFacts, now: Timestamp) -> WaitingSession? {
        if host.isAttached { return nil }
        return host.sessions.filter(\.launchEvents).min { left, right in
            let (mine, its) = (dueAt(left, now: now), dueAt(right, now: now))
            if mine != its { return mine < its }
            if host.failures == 0, left.needsInput != right.needsInput { return left.needsInput }
            if left.lastLaunch != right.lastLaunch { return left.lastLaunch < right.lastLaunch }
            if left.firstWaiting != right.firstWaiting {
                return left.firstWaiting < right.firstWaiting
            }
            return left.name < right.name
        }
    }

    private static func dueAt(_ session: WaitingSession, now: Timestamp) -> Timestamp {
        // An event of the future was written before the clock was set back.
        if session.isDrained || session.needsInput || session.firstWaiting > now { return now }
        let delay = session.launchDelay ?? SessionSettings.defaultLaunchDelay
        return max(now, session.firstWaiting + delay)
    }

    /// A delay longer than the number of failures allows comes from a clock that was wrong.
    private static func retryAt(_ host: HostFacts, now: Timestamp) -> Timestamp? {
        guard host.failures > 0, let at = host.retryAt, at > now,
            at <= now + delay(afterFailures: host.failures)
        else { return nil }
        return at
    }

    /// Seconds until a host is started again after this number of failures in a row.
    package static func delay(afterFailures failures: Int) -> Double {
        guard failures > 0 else { return 0 }
        var delay = Limits.launchDelayMinimumSeconds
        var left = failures - 1
        while left > 0, delay < Limits.launchDelayMaximumSeconds {
            delay *= 2
            left -= 1
        }
        return min(delay, Limits.launchDelayMaximumSeconds)
    }
}

/// Detects a launch that uses too much of a processor: more than ``Limits/processorShare`` of one
/// over ``Limits/processorSeconds``. The counterpart of the limit for background time on Apple's
/// systems.
package struct ProcessorMonitor: Hashable, Sendable {
    private struct Sample: Hashable {
        var at: Double
        var used: Double
    }

    private var samples: [Sample] = []
    /// Seconds of processor time that the launch has used so far.
    package private(set) var used: Double = 0

    package init() {}

    /// - Parameters:
    ///   - used: Seconds of processor time, of the whole process group.
    ///   - at: Seconds of a clock that is not set.
    /// - Returns: Whether it is too much.
    package mutating func add(_ used: Double, at: Double) -> Bool {
        assert(samples.last.map { $0.at <= at } ?? true, "the clock is not set back")
        // The time of a process that ended and was not awaited drops out of the count.
        self.used = max(self.used, used)
        samples.append(Sample(at: at, used: self.used))
        // The last sample that is old enough is the one to compare with.
        while samples.count > 1, at - samples[1].at >= Limits.processorSeconds {
            samples.removeFirst()
        }
        guard let first = samples.first, at - first.at >= Limits.processorSeconds else {
            return false
        }
        return (self.used - first.used) > Limits.processorShare * (at - first.at)
    }
}
