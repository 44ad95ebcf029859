import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// Programs that submit task requests, and people who try them out.
extension SimWorld {
    func clientsActOnTasks() throws {
        guard let tasks = hosts?.tasks else { return }
        let host = hostNames.randomElement(using: &random)!
        let identifier = SimTasks.identifiers.randomElement(using: &random)!
        let key = SimTask.Key(host: host, identifier: identifier)
        switch Int.random(in: 0..<26, using: &random) {
        case 0...8: try submit(request(identifier, host), key)
        case 9...12: try wake(host)
        case 13:
            guard let task = tasks.live(key) else { return }
            say("task \(task.number) is cancelled")
            try clients.tasks.cancel([identifier], host: host)
            tasks.noteStopped { $0.key == key }
            tasks.remove { $0.key == key }
        case 14:
            guard random.happens(0.2) else { return }
            say("all tasks of \(host) are cancelled")
            _ = try clients.tasks.cancelAll(host: host)
            tasks.noteStopped { $0.key.host == host && !$0.key.isWakeUp }
            tasks.remove { $0.key.host == host && !$0.key.isWakeUp }
        case 15, 16: try simulate(key)
        case 17:
            say("something is mounted")
            tasks.mount()
            tellMachine()
        case 18, 19: try reset(host: host)
        case 20...22: tasks.names.act()
        default: try tasks.pushes.act(host)
        }
        hintHosts()
    }

    func tellMachine() {
        guard let tasks = hosts?.tasks else { return }
        tasks.machine.paths = tasks.names.facts()
        inputs.append(.machine(tasks.machine))
    }

    func reset(host: String) throws {
        guard let hosts, hosts.ledger.hosts[host] != nil else { return }
        say("\(host) is reset")
        try clients.hosts.reset(host, now: now.wall)
        hosts.ledger.hosts[host]?.forgive()
        hosts.tasks?.forgive(host)
    }

    private func request(_ identifier: String, _ host: String) -> TaskRequest {
        if random.happens(0.2) { return continuedRequest(identifier, host) }
        var request = TaskRequest(
            identifier: identifier, kind: random.happens(0.6) ? .processing : .refresh, host: host)
        if random.happens(0.25) {
            request.earliestBegin = now.wall + Double.random(in: 1...600, using: &random)
        }
        if random.happens(0.5) {
            request.requirements = ConditionNeeds(
                power: random.happens(0.5), unmetered: random.happens(0.2),
                idle: random.happens(0.2), network: random.happens(0.4),
                battery: random.happens(0.2) ? 40 : nil)
        }
        SimNames.draw(&request.requirements, &random)
        if random.happens(0.35) {
            let interval: Double = [20, 60, 300, 3600].randomElement(using: &random)!
            request.repetition = TaskRepetition(
                interval: interval,
                tolerance: [nil, 0, interval / 4, interval].randomElement(using: &random)!)
        } else if random.happens(0.3) {
            let count = Int.random(in: 1...3, using: &random)
            let all = TaskTrigger.allCases + SimNames.triggers
            request.triggers = Array(all.shuffled(using: &random).prefix(count))
        }
        request.expiresWhenRequirementIsLost = random.happens(0.8)
        request.returnsAfterExpiration = random.happens(0.7)
        return request
    }

    func submit(_ new: TaskRequest, _ key: SimTask.Key) throws {
        guard let hosts, let tasks = hosts.tasks, hosts.ledger.hosts[key.host] != nil else {
            return
        }
        var task = SimTask(
            number: tasks.nextNumber(), key: key, request: new, submitted: now)
        var request = new
        request.payload = task.payload
        let before = tasks.live(key)
        // An engine that died since may have put one back.
        let waiting = try clients.tasks.waiting(for: key.host).filter { $0.kind != .wakeUp }
        let running = try clients.tasks.find(key.identifier, host: key.host).first {
            $0.launch != nil
        }
        let counted = waiting.filter { $0.request.counts(with: new) }
        let isReplacing = counted.contains { $0.request.identifier == key.identifier }
        let pending = counted.count
        let most =
            task.isStanding
            ? Limits.pendingStanding
            : new.kind == .refresh
                ? Limits.pendingRefreshes
                : task.isContinued ? Limits.pendingContinued : Limits.pendingProcessings
        do {
            _ = try clients.tasks.submit(request, now: now.wall)
            if !isReplacing, pending >= most {
                throw SimComplaint("hosts: \(pending) requests wait, and \(key) is taken", self)
            }
        } catch let error as LonghaulError where error.code == .tooManyPendingTaskRequests {
            if isReplacing || pending < most {
                throw SimComplaint("hosts: \(pending) requests wait, and \(key) is refused", self)
            }
            return
        }
        say("task \(task.number) of \(key.host): \(new)")
        // Whatever ran before an interval has been given up does not count.
        let keepsInterval = new.repetition != nil || task.isStanding
        if before == nil || !keepsInterval { tasks.counted[key] = nil }
        if keepsInterval, let running {
            tasks.counted[key] = tasks.entries[SimTask.number(of: running)]?.begun
        }
        if let before { tasks.entries[before.number]?.isGone = true }
        task.isForgiven = before == nil
        tasks.entries[task.number] = task
    }

    func simulate(_ key: SimTask.Key) throws {
        guard let tasks = hosts?.tasks, let task = tasks.live(key) else { return }
        let isWaiting = task.launch == nil
        do {
            if isWaiting {
                try clients.tasks.simulateLaunch(of: key.identifier, host: key.host)
                tasks.entries[task.number]?.isSimulated = true
            } else {
                try clients.tasks.simulateExpiration(of: key.identifier, host: key.host)
                tasks.entries[task.number]?.isToExpire = true
            }
            say("task \(task.number) is to \(isWaiting ? "be launched" : "expire")")
        } catch {
            guard [.conflict, .noSuchTask].contains(error.code) else { throw error }
            // An engine that died since has begun it, or recorded its end.
            say("task \(task.number): \(error)")
        }
    }
}

/// Their life: trouble for a while, and in the end all is carried out.
extension SimWorld {
    func liveWithTasks(steps: Int = 150) throws {
        try beginWithHosts(withTasks: true)
        for _ in 0..<steps {
            if random.happens(hosts?.trouble.people ?? 0) { try peopleActOnHosts() }
            if random.happens(0.25) { try clientsActOnTasks() }
            if random.happens(0.1) { try hosts?.jobs?.act() }
            try hosts?.tasks?.pushes.advance()
            try stepInTrouble()
        }
        try hosts?.jobs?.makePeace()
        try makePeaceWithHosts()
        try settleJobs()
        try settleTasks()
        try checkHostsAtRest()
        finishTally()
    }

    /// What runs once has its run.
    private func settleJobs() throws {
        guard let jobs = hosts?.jobs else { return }
        let end = now.monotonic + Self.patienceSeconds
        while try jobs.isOpen() || hasNews || hosts?.isBusy == true {
            guard now.monotonic < end else { throw SimComplaint("jobs: some still wait", self) }
            let seconds = max(0.05, min(secondsToNext(), 60))
            pass(seconds)
            for _ in 0..<8 { disk.step() }
            if isTurnDue { try turn() }
            if isDead { throw SimComplaint("the engine died in peace", self) }
        }
    }

    /// What is left runs once more, and what stands for a change sees one.
    private func settleTasks() throws {
        guard let hosts, let tasks = hosts.tasks else { return }
        let begin = now.monotonic
        for isAway in [false, true] {
            tasks.names.settle(isAway: isAway)
            try waitForTasks { isToRun($0, since: begin) && tasks.names.suits($0) }
        }
        let change = now.monotonic
        conditions.power.value = .battery
        tasks.names.leave()
        // The engine looks: a launch that ends at this moment comes first.
        try waitForTasks { _ in now.monotonic - change < 1 }
        conditions.power.value = .external
        conditions.isIdle = Reading(true, source: "test", since: now.wall)
        conditions.savesPower = Reading(false, source: "test", since: now.wall)
        for path in SimNames.files { tasks.names.touch(path) }
        tasks.machine.resumes += 1
        tasks.mount()
        tellMachine()
        for isAway in [false, true] {
            tasks.names.settle(isAway: isAway)
            // A machine that begins anew is another life.
            try waitForTasks { task in
                guard task.isStanding, task.request.triggers != [.boot], tasks.names.suits(task)
                else { return false }
                return task.launch != nil || task.begun.map { $0.monotonic < change } ?? true
                    || tasks.names.isUntold(task)
            }
        }
        _ = try clients.tasks.cancelAll()
        tasks.noteStopped { !$0.key.isWakeUp }
        tasks.remove { !$0.key.isWakeUp }
        inputs.append(.wake)
        try waitForTasks { _ in hosts.processes.isEmpty == false }
    }

    /// What comes every few minutes would come a thousand times while the others wait: it runs once
    /// more, and goes.
    func settleFrequentTasks() throws {
        guard let tasks = hosts?.tasks else { return }
        tasks.names.settle(isAway: false)
        // Times that a wrong clock gave.
        try cancel(where: { $0.request.earliestBegin.map { $0 > now.wall + 3600 } ?? false })
        func isFrequent(_ task: SimTask) -> Bool {
            task.request.repetition.map { $0.interval <= 300 } ?? false
        }
        let begin = now.monotonic
        try waitForTasks {
            isFrequent($0) && isToRun($0, since: begin) && tasks.names.suits($0)
        }
        try cancel(where: isFrequent)
    }

    private func isToRun(_ task: SimTask, since begin: Instant) -> Bool {
        if task.isStanding { return false }
        guard task.request.repetition != nil else { return true }
        return task.launch != nil || task.ended.map { $0.monotonic < begin } ?? true
    }

    private func cancel(where isUnwanted: (SimTask) -> Bool) throws {
        guard let tasks = hosts?.tasks else { return }
        for task in tasks.entries.values.sorted(by: { $0.number < $1.number })
        where task.isLive && isUnwanted(task) {
            say("task \(task.number) is cancelled")
            try clients.tasks.cancel([task.key.identifier], host: task.key.host)
            tasks.noteStopped { $0.key == task.key }
            tasks.remove { $0.number == task.number }
        }
    }

    private func waitForTasks(_ isOpen: (SimTask) -> Bool) throws {
        guard let hosts, let tasks = hosts.tasks else { return }
        let end = now.monotonic + Self.patienceSeconds
        repeat {
            guard now.monotonic < end else {
                throw SimComplaint(
                    "hosts: still open: \(tasks.entries.values.filter { $0.isLive && isOpen($0) })",
                    self)
            }
            let seconds = max(0.05, min(secondsToNext(), 60))
            pass(seconds)
            wire.advance(min(seconds, 0.5))
            for _ in 0..<8 { disk.step() }
            try tasks.pushes.advance()
            if isTurnDue { try turn() }
            if isDead { throw SimComplaint("the engine died in peace", self) }
        } while try hasNews || hosts.isBusy || tasks.pushes.isOpen()
            || tasks.entries.values.contains { $0.isLive && isOpen($0) }
            || !hosts.processes.isEmpty && !tasks.entries.values.contains(where: \.isLive)
    }
}
