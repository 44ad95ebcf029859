package import LonghaulModel

/// The rows that decide about tasks and hosts: a machine has tens of each, and all are read.
package struct TaskFacts: Sendable {
    /// Without the states of the hosts' programs, see
    /// ``complete(isBusy:isAttached:obstacle:isAlive:)``.
    package var snapshot = TaskSnapshot()
    /// By name; empty while nothing waits and not all are asked for.
    package private(set) var hosts: [String: StoredHost] = [:]
    /// The processes that run by themselves, newest first.
    package private(set) var residents: [StoredResident] = []

    /// - Parameter ofAllHosts: Include hosts for which nothing waits.
    init(_ connection: Connection, ofAllHosts: Bool = false) throws {
        snapshot.tasks = try TaskRows(connection).all()
        snapshot.world = try SettingRows(connection).value(of: Self.world).flatMap {
            StoredJSON.decode(WorldFacts.self, $0)
        }
        snapshot.hasSubscriptions =
            try connection.value("SELECT EXISTS (SELECT 1 FROM subscription)") ?? false
        let sessions = try HostRows(connection).waitingSessions()
        if snapshot.tasks.isEmpty, sessions.isEmpty, !ofAllHosts { return }
        for host in try HostRows(connection).all() { hosts[host.name] = host }
        // A run whose request was withdrawn keeps its place in a slot.
        let slotted = hosts.values.filter { $0.program.job?.slot != nil }.map(\.name)
        let names = Set(snapshot.tasks.map(\.host)).union(sessions.map(\.host)).union(slotted)
        for name in ofAllHosts ? names.union(hosts.keys) : names {
            snapshot.hosts[name] = hosts[name].map { HostFacts($0) } ?? HostFacts(removed: name)
        }
        // A command takes no events.
        for (host, session) in sessions where hosts[host]?.program.isJob != true {
            snapshot.hosts[host]?.sessions.append(session)
        }
        residents = try ResidentRows(connection).all()
        for task in snapshot.tasks where task.kind == .refresh {
            snapshot.usages[task.host] = try HostRows(connection).usage(of: task.host)
        }
        for id in snapshot.tasks.flatMap(\.awaits) {
            snapshot.transfers[id] = try TransferDependencies(connection).state(of: id)
        }
    }

    fileprivate static let world = "world"

    /// Adds the states of the hosts' programs.
    ///
    /// - Returns: The process of each host that takes launches.
    @discardableResult package mutating func complete(
        isBusy: (String) -> Bool, isAttached: (String) -> Bool,
        obstacle: (String) -> LaunchObstacle?, isAlive: (StoredResident) -> Bool
    ) -> [String: StoredResident] {
        var alive: [String: StoredResident] = [:]
        for name in snapshot.hosts.keys {
            snapshot.hosts[name]?.isBusy = isBusy(name)
            // A command that is missing fails when it is run.
            guard case .host(let settings)? = hosts[name]?.program else { continue }
            alive[name] = residents.first { $0.host == name && isAlive($0) }
            snapshot.hosts[name]?.hasResident = alive[name] != nil
            snapshot.hosts[name]?.isAttached = isAttached(name)
            snapshot.hosts[name]?.obstacle = obstacle(settings.argv[0])
        }
        return alive
    }
}

extension HostFacts {
    fileprivate init(_ host: StoredHost) {
        self.init(name: host.name)
        failures = host.failures
        retryAt = host.retryAt
        urgencyLostUntil = host.urgencyLostUntil
        wakeUpBudget = host.wakeUpBudget
        slot = host.program.job?.slot
    }
}

/// Tasks and wake-ups, as the engine changes them inside a transaction.
package struct TaskQueue {
    let connection: Connection

    package func facts() throws -> TaskFacts { try TaskFacts(connection) }

    /// Records what a plan changes; launches record their own starts.
    package func apply(_ changes: TaskChanges, now: Timestamp) throws {
        let rows = TaskRows(connection)
        let runs = TaskRunRows(connection)
        for (task, end) in changes.ended {
            switch end {
            case .expired(let obstacle):
                try WakeUpLog(connection: connection).record(
                    task, now: now, launch: nil, obstacle: obstacle)
            case .missedDeadline: try runs.missDeadline(task, now: now)
            case .missedTransfer(let id): try runs.missTransfer(task, id, now: now)
            }
            try rows.delete(task.id)
        }
        for task in changes.written { try rows.write(task, now: now) }
        let settings = SettingRows(connection)
        guard let world = changes.world else { return try settings.remove(TaskFacts.world) }
        try settings.set(TaskFacts.world, to: StoredJSON.encode(world))
    }
}

extension EngineTransaction {
    /// Tasks and wake-ups.
    package var tasks: TaskQueue { TaskQueue(connection: connection) }
    package var carriedTasks: CarriedTasks { CarriedTasks(connection: connection) }
}
