package import LonghaulModel

/// Standing requests, which triggers make due.
package struct StandingTasks {
    let connection: Connection
    private var rows: TaskRows { TaskRows(connection) }

    /// The world has changed: standing requests are due when it has settled.
    package func fire(_ triggers: [TaskTrigger], now: Timestamp) throws {
        for trigger in triggers {
            let found = try connection.all(
                TaskColumns.select
                    + " INDEXED BY taskStanding WHERE triggers <> 0 AND triggers & ?1 <> 0",
                TriggerSet([trigger]).rawValue, read: TaskColumns.read)
            let fired = FiredTrigger(trigger, at: now)
            for task in found {
                try setTrigger(of: task.id, task.trigger?.adding(fired) ?? fired)
                if task.launch == nil { try makeDue(task, now: now) }
            }
        }
    }

    func setTrigger(of id: TaskID, _ fired: FiredTrigger) throws {
        try connection.run(
            "UPDATE task SET trigger = ?2, triggeredAt = ?3 WHERE id = ?1", id, fired.text,
            fired.at)
    }

    func makeDue(_ task: StoredTask, now: Timestamp) throws {
        var at = now + Limits.triggerSettleSeconds
        if let last = task.timing.lastStart, last <= now {
            at = max(at, last + Limits.triggerPauseSeconds)
        }
        // A task that has a moment already keeps it: a link that comes and goes would put it off
        // for ever. A failure waits for its back-off, which no change shortens.
        let waitsForBackOff = task.timing.failures > 0 && task.timing.dueAt < .distantFuture
        at = waitsForBackOff ? task.timing.dueAt : min(at, task.timing.dueAt)
        if let earliest = task.request.earliestBegin { at = max(at, earliest) }
        var timing = task.timing
        timing.dueAt = at
        timing.mayBeginAt = at
        timing.waivesAt = task.request.preferencesEnd(due: at)
        try rows.write(timing, of: task.id, now: now)
    }

    /// Facts that triggers compare with; `nil` = nothing was recorded.
    package func world() throws -> WorldFacts? {
        try SettingRows(connection).value(of: "world").flatMap {
            StoredJSON.decode(WorldFacts.self, $0)
        }
    }

    /// `nil` = nothing is remembered.
    package func setWorld(_ world: WorldFacts?) throws {
        guard let world else { return try SettingRows(connection).remove("world") }
        try SettingRows(connection).set("world", to: StoredJSON.encode(world))
    }

    package func isEmpty() throws -> Bool {
        try connection.value(
            "SELECT NOT EXISTS (SELECT 1 FROM task INDEXED BY taskStanding WHERE triggers <> 0)")
            ?? true
    }

    /// Triggers that standing requests wait for.
    func triggers() throws -> TriggerSet {
        let all = try connection.all(
            """
            WITH RECURSIVE k(t) AS (
            SELECT min(triggers) FROM task INDEXED BY taskStanding WHERE triggers <> 0
            UNION ALL
            SELECT (SELECT min(triggers) FROM task INDEXED BY taskStanding \
            WHERE triggers <> 0 AND triggers > k.t) FROM k WHERE k.t IS NOT NULL)
            SELECT t FROM k WHERE t IS NOT NULL
            """
        ) { TriggerSet(rawValue: $0[0]) }
        return all.reduce(TriggerSet(rawValue: 0)) { $0.union($1) }
    }
}
