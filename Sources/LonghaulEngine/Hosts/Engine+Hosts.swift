internal import LonghaulCore
internal import LonghaulStore

/// Starting the programs that are told what happened. A launch is recorded when its process is
/// there and before it runs, so that no crash makes two of one.
extension Engine {
    /// How often a host that nothing tells of is looked at: one whose program is missing, or that
    /// is attached and has events waiting.
    static let hostLookSeconds: Double = 30

    /// The last part of each turn, in transactions of its own: hosts hold no transfer back.
    func keepHosts(now: Moment) throws(LonghaulError) {
        if scope.startsNothing { return }
        endOverdue(now: now)
        // What the turn could not write comes before anything of ours.
        if commitRetryAt != nil || hosts.retryAt.map({ $0 > now.monotonic }) ?? false { return }
        hosts.retryAt = nil
        do throws(LonghaulError) {
            while let report = hosts.reports.first {
                try record(report, now: now)
                hosts.reports.removeFirst()
            }
            let isDue = hosts.nextLook.map { $0 <= now.wall } ?? false
            // What a host has answered counts before another is started: the next turn, at once.
            if hosts.isStale || isDue, !needsLook { try lookAtHosts(now: now) }
            try forgetEvents(now: now)
        } catch {
            if error == Engine.leaseLost { throw error }
            // The store cannot be written for now; the turn's own commits count how long.
            hosts.isStale = true
            hosts.retryAt = now.monotonic + Engine.commitRetrySeconds
        }
    }

    private func lookAtHosts(now: Moment) throws(LonghaulError) {
        hosts.isStale = false
        hosts.nextLook = nil
        hosts.nextLaunch = nil
        if isLeaving { return }
        var facts = try store.hostFacts()
        if facts.isEmpty { return }
        var known: [String: StoredHost] = [:]
        var areSomeBlind = false
        for index in facts.indices {
            let name = facts[index].name
            facts[index].isBusy = hosts.isBusy(name)
            guard let host = try store.host(name) else { continue }
            known[name] = host
            facts[index].isAttached = hostPort.isAttached(name)
            facts[index].obstacle = hostPort.obstacle(host.settings.argv[0])
            areSomeBlind =
                areSomeBlind || facts[index].isAttached || facts[index].obstacle != nil
        }
        let plan = LaunchPolicy.plan(facts, now: now.wall)
        for due in plan.due {
            guard let host = known[due.host] else { continue }
            prepare(due, host)
        }
        hosts.nextLaunch = plan.next
        let blind = areSomeBlind ? now.wall + Engine.hostLookSeconds : nil
        hosts.nextLook = [plan.next, blind].compactMap { $0 }.min()
    }

    private func prepare(_ due: LaunchPolicy.Due, _ host: StoredHost) {
        let id = LaunchID(rawValue: hosts.lastID.rawValue + 1)
        hosts.lastID = id
        let budget = host.settings.eventBudget ?? HostSettings.defaultEventBudget
        hosts.launches[id] = KeptLaunch(host: due.host, session: due.session, budget: budget)
        hostPort.prepare(
            LaunchOrder(
                id: id, host: due.host, argv: host.settings.argv, session: due.session,
                reason: due.reason, budget: budget))
    }

    private func endOverdue(now: Moment) {
        for id in hosts.launches.keys.sorted() {
            guard var launch = hosts.launches[id], let ends = launch.endsAt,
                ends <= now.monotonic, !hosts.hasEnded(id)
            else { continue }
            hostPort.end(id, killing: launch.isExpired)
            // Killed once more if that took no effect, which a process in the kernel's hands can
            // make it look like.
            launch.endsAt = now.monotonic + Limits.launchGraceSeconds
            launch.isExpired = true
            hosts.launches[id] = launch
        }
    }

    // MARK: - Reports

    private func record(_ report: HostReport, now: Moment) throws(LonghaulError) {
        switch report {
        case .attachments: break
        case .nothingToDo(let id): hosts.launches[id] = nil
        case .notPrepared(let id, let message):
            guard let launch = hosts.launches[id] else { return }
            try recordFailure(id, launch, message, now: now)
            journal?.launchFailed(launch.host, message)
            hosts.launches[id] = nil
        case .prepared(let launch): try begin(launch, now: now)
        case .answersWait(let id): try recordAnswers(of: id)
        case .answerRefused(let id, let message):
            journal?.answerRefused(hosts.launches[id]?.host, id, message)
        case .ended(let id, let ending, var status, let output):
            guard let launch = hosts.launches[id] else { return }
            let isWell = ending == .exited && status == 0
            var how = launch.isExpired && !isWell ? .expired : ending
            if isWell, launch.hasLostAnswers { (how, status) = (.unknown, nil) }
            try transaction(.durable) { tx in
                try tx.end(
                    id, how, status: status, output: output, wasOurs: !launch.isAdopted,
                    now: now.wall)
            }
            journal?.launchEnded(launch.host, id, how, status: status)
            hosts.launches[id] = nil
            // It may have said something about transfers.
            needsLook = true
        }
        hosts.isStale = true
    }

    /// Tried each second, like all that the store does not take; what comes after it, the end of
    /// the launch among it, waits. An answer that is given up has its question asked again.
    private func recordAnswers(of id: LaunchID) throws(LonghaulError) {
        guard let launch = hosts.launches[id] else { return hostPort.dropAnswers(of: id) }
        do throws(LonghaulError) {
            try hostPort.recordAnswers(of: id)
            hosts.launches[id]?.answerFailures = 0
        } catch {
            hosts.launches[id]?.answerFailures += 1
            if launch.answerFailures < Engine.commitFailuresMax { throw error }
            hosts.launches[id]?.hasLostAnswers = true
            hostPort.dropAnswers(of: id)
            journal?.answersLost(launch.host, id, error)
        }
        needsLook = true
    }

    private func begin(_ launch: PreparedLaunch, now: Moment) throws(LonghaulError) {
        guard var kept = hosts.launches[launch.id] else { return }
        if isLeaving {
            hostPort.discard(launch.id)
            hosts.launches[launch.id] = nil
            return
        }
        let host = kept.host
        // Counted from now, whatever the clock was set to since the process was made.
        let deadline = now.wall + kept.budget
        try transaction(.durable) { tx in
            try tx.begin(
                launch.id, of: host, launch.handover, process: launch.process,
                deadline: deadline, now: now.wall)
        }
        kept.endsAt = now.monotonic + kept.budget
        hosts.launches[launch.id] = kept
        journal?.launches(host, launch)
        hostPort.begin(launch.id)
    }

    private func recordFailure(
        _ id: LaunchID, _ launch: KeptLaunch, _ message: String, now: Moment
    ) throws(LonghaulError) {
        let nothing = Handover(
            session: launch.session, reason: .sessionEvents, events: nil, count: 0)
        try transaction(.durable) { tx in
            try tx.begin(
                id, of: launch.host, nothing, process: nil, deadline: now.wall, now: now.wall)
            try tx.end(id, .notStarted, status: nil, output: message, now: now.wall)
        }
    }

    // MARK: - Life

    /// Launches of a dead engine: those that live are watched on, those that have ended while
    /// nobody looked leave their events to the next launch.
    func adoptLaunches(now: Moment) throws(LonghaulError) {
        if scope.startsNothing { return }
        hosts.lastID = try store.lastLaunch()
        for launch in try store.openLaunches() {
            if hostPort.adopt(launch) {
                let left = min(launch.deadline - now.wall, launch.deadline - launch.startedAt)
                var kept = KeptLaunch(
                    host: launch.host, session: launch.session ?? "",
                    budget: launch.deadline - launch.startedAt)
                kept.endsAt = now.monotonic + max(0, left)
                kept.isAdopted = true
                hosts.launches[launch.id] = kept
            } else {
                try transaction(.durable) { tx in
                    try tx.end(
                        launch.id, .unknown, status: nil, output: nil, wasOurs: false,
                        now: now.wall)
                }
            }
        }
    }

    private static let forgetSeconds: Double = 600
    private static let forgottenAtOnce = 2_000

    /// Now and then, when there is something to do anyway.
    private func forgetEvents(now: Moment) throws(LonghaulError) {
        if let at = hosts.forgetsAt, at > now.monotonic { return }
        var went = 0
        try transaction(.relaxed) { tx in
            went = try tx.forgetEvents(
                acknowledgedBefore: now.wall + -Limits.eventRetentionSeconds,
                limit: Engine.forgottenAtOnce)
        }
        let isMore = went == Engine.forgottenAtOnce
        hosts.forgetsAt = now.monotonic + (isMore ? 1 : Engine.forgetSeconds)
    }

    /// When hosts need a turn.
    func hostsWakeAt(now: Moment) -> Instant? {
        if scope.startsNothing { return nil }
        if let retryAt = commitRetryAt ?? hosts.retryAt {
            return min(retryAt, hosts.nextEnd ?? retryAt)
        }
        let look = hosts.nextLook.map { now.monotonic + max(0, $0 - now.wall) }
        return [look, hosts.nextEnd].compactMap { $0 }.min()
    }

    var hostOutlook: HostOutlook {
        HostOutlook(isBusy: !hosts.launches.isEmpty, nextLaunch: hosts.nextLaunch)
    }
}
