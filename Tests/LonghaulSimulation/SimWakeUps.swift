import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// The promises about plain wake-ups: they wait for what they prefer, and have a budget.
final class SimWakeUps {
    /// Launches that a host has left for plain wake-ups, at a moment.
    private struct Budget {
        var left = Double(Limits.wakeUpsAtOnce)
        var at: Instant
    }

    unowned let tasks: SimTasks
    private var budgets: [String: Budget] = [:]

    init(_ tasks: SimTasks) {
        self.tasks = tasks
    }

    private var hosts: SimHosts { tasks.hosts }

    /// The budget begins anew.
    func forget(_ host: String? = nil) {
        if let host { budgets[host] = nil } else { budgets = [:] }
    }

    /// What one that is ordered requires holds, and what it prefers, unless it goes along with an
    /// urgent one.
    func check(_ task: SimTask, _ row: StoredTask, among rows: [StoredTask]) throws {
        if tasks.lacks(task.request.requirements, isRunning: false) {
            throw tasks.broken(task, "is ordered without what it requires")
        }
        let hasUrgent = rows.contains { row in
            tasks.entries[SimTask.number(of: row)]?.isUrgent ?? row.isUrgent
        }
        let isWaived = row.timing.waivesAt.map { $0 <= hosts.world.now.wall } ?? false
        if !hasUrgent, !isWaived, isDisliked(task) {
            throw tasks.broken(task, "is ordered without what it prefers")
        }
    }

    /// What it prefers is known not to hold.
    func isDisliked(_ task: SimTask) -> Bool {
        tasks.names.dislikes(task.prefers ?? task.politeNeeds, hosts.world.visible)
    }

    /// A launch begins for these.
    func begin(_ rows: [StoredTask], in order: LaunchOrder) throws {
        guard order.session == nil, !rows.isEmpty,
            rows.allSatisfy({ $0.kind == .wakeUp && !$0.isUrgent }),
            let at = hosts.ledger.orderedAt[order.id]
        else { return }
        hosts.tally.plain += 1
        var budget = budgets[order.host] ?? Budget(at: at)
        // By another clock it may be full again.
        if hosts.ledger.hasJumped(since: budget.at) { budget = Budget(at: at) }
        let gained = max(0, at - budget.at) / Limits.wakeUpIntervalSeconds
        budget.left = min(Double(Limits.wakeUpsAtOnce), budget.left + gained)
        budget.at = at
        // Wall times are whole milliseconds.
        guard budget.left >= 1 - SimHosts.slack / Limits.wakeUpIntervalSeconds else {
            throw hosts.broken(
                "launch \(order.id.rawValue) of \(order.host) for plain wake-ups, of which"
                    + " \(budget.left) are left")
        }
        budget.left -= 1
        budgets[order.host] = budget
    }
}

extension SimTask {
    /// Of a plain wake-up that says nothing of it.
    var politeNeeds: ConditionNeeds { ConditionNeeds(power: true, fullPower: true) }
}

/// Programs of this machine and of others that wake hosts: those that have a host's token call the
/// same as those that run here.
extension SimWorld {
    func wake(_ host: String) throws {
        guard let hosts, let tasks = hosts.tasks, hosts.ledger.hosts[host] != nil else { return }
        let identifier = [nil, "w0", "w1"].randomElement(using: &random)!
        let number = tasks.nextNumber()
        var wakeUp = WakeUp(
            identifier: identifier, payload: SimTask.payload(number),
            isUrgent: random.happens(0.4))
        if random.happens(0.3) {
            wakeUp.expiresAt = now.wall + Double.random(in: 1...120, using: &random)
        } else if random.happens(0.1) {
            // Now or never.
            wakeUp.expiresAt = now.wall
        }
        SimNames.draw(&wakeUp.requires, &random)
        if random.happens(0.2) {
            var prefers = ConditionNeeds(power: random.happens(0.3))
            SimNames.draw(&prefers, &random)
            wakeUp.prefers = prefers
        }
        try clients.tasks.wake(host, wakeUp, now: now.wall)
        note(wakeUp, number: number, of: host)
    }

    /// A wake-up is recorded.
    func note(_ wakeUp: WakeUp, number: Int, of host: String) {
        guard let tasks = hosts?.tasks else { return }
        let key = SimTask.Key(host: host, identifier: wakeUp.identifier ?? "", isWakeUp: true)
        let before = tasks.entries.values.first {
            $0.key == key && $0.isLive && $0.launch == nil
        }
        var request = TaskRequest(identifier: key.identifier)
        request.requirements = wakeUp.requires
        var task = SimTask(number: number, key: key, request: request, submitted: now)
        let isNowOrNever = wakeUp.expiresAt.map { $0 <= now.wall } ?? false
        task.expiresAt = isNowOrNever ? now.wall + Limits.wakeUpNowSeconds : wakeUp.expiresAt
        task.isUrgent = wakeUp.isUrgent
        if !wakeUp.isUrgent, let before {
            // That may be on its way, with its urgency; the store knows.
            task.mayHaveBeenHanded = true
            task.isUrgent = before.isUrgent && tasks.row(of: task)?.isUrgent == true
        }
        // One that was urgent prefers nothing later, either.
        task.prefers = task.isUrgent ? ConditionNeeds() : wakeUp.prefers
        say(
            "wake-up \(number) of \(host), \(wakeUp.identifier ?? "none"), urgent \(task.isUrgent),"
                + " requires \(wakeUp.requires.names), prefers \(wakeUp.prefers?.names ?? [])")
        if let before { tasks.entries[before.number]?.isGone = true }
        for (number, other) in tasks.entries where other.key == key {
            tasks.entries[number]?.isReplaced = true
        }
        tasks.entries[task.number] = task
    }
}
