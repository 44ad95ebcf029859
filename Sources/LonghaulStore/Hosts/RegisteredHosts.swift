package import LonghaulModel

/// The hosts and their launches, for clients.
package struct RegisteredHosts {
    let store: Store

    /// Records a host, or replaces its settings, durably. Earlier failures are cleared, and
    /// requests of tasks that are not permitted any more are cancelled.
    package func add(
        _ name: String, _ settings: HostSettings, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try HostRows(connection).find(name)?.checkIsNoJob()
            try connection.run(
                """
                INSERT INTO host (name, argv, permitted, eventBudget, taskBudget, created, \
                maxMemory, notify) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                ON CONFLICT (name) DO UPDATE SET argv = ?2, permitted = ?3, eventBudget = ?4, \
                taskBudget = ?5, maxMemory = ?7, notify = ?8, reset = reset + 1, \
                urgentFailures = 0, urgencyLostUntil = NULL, wakeUpsFullAt = NULL
                """, name, StoredJSON.encode(settings.argv),
                StoredJSON.encode(settings.permitted), settings.eventBudget, settings.taskBudget,
                now, settings.maxMemory, settings.notifies)
            if !settings.notifies { try HostRows(connection).dropNotices(of: name) }
            let rows = TaskRows(connection)
            for task in try rows.pending(of: name) where !settings.permits(task.request) {
                try rows.delete(task.id)
            }
            try rows.reset(name, now: now)
        }
    }

    package func all() throws(LonghaulError) -> [StoredHost] {
        try store.access { try HostRows($0).all() }
    }

    /// Hosts whose last launch failed, and jobs whose last run did.
    package func failing() throws(LonghaulError) -> [StoredHost] {
        try store.access { connection in
            try HostRows(connection).all().filter { host in
                guard host.program.isJob else { return host.failures > 0 }
                let runs = TaskRunRows(connection)
                return try runs.all(of: host.name, host: host.name, limit: 2)
                    .first { $0.endedAt != nil }?.hasFailed ?? false
            }
        }
    }

    package func find(_ name: String) throws(LonghaulError) -> StoredHost? {
        try store.access { try HostRows($0).find(name) }
    }

    /// Removes a host: no program is started under that name any more. Its requests are cancelled.
    /// Its sessions and their events stay for a later host of that name.
    package func remove(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try HostRows(connection).find(name)?.checkIsNoJob()
            try HostRows(connection).remove(name)
        }
    }

    /// Records the digest of the secret that wakes a host, durably; `nil` = no secret does.
    package func setToken(_ digest: String?, of name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            guard let host = try HostRows(connection).find(name) else { throw noSuchHost(name) }
            try host.checkIsNoJob()
            try connection.run("UPDATE host SET token = ?2 WHERE name = ?1", name, digest)
        }
    }

    /// The digest of the secret that wakes a host; `nil` = there is no such host, or no secret.
    package func token(of name: String) throws(LonghaulError) -> String? {
        try store.access { try $0.value("SELECT token FROM host WHERE name = ?1", name) }
    }

    /// Clears the failures of a host and of its tasks: it may be started at once.
    package func reset(_ name: String, now: Timestamp) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try connection.run(
                """
                UPDATE host SET reset = reset + 1, urgentFailures = 0, urgencyLostUntil = NULL, \
                wakeUpsFullAt = NULL \
                WHERE name = ?1
                """, name)
            if connection.changes == 0 { throw noSuchHost(name) }
            try TaskRows(connection).reset(name, now: now)
        }
    }

    /// Counts a use of a host, if it exists. A use that a power cut loses was
    /// one of many.
    package func recordUse(
        _ name: String, _ now: Timestamp, _ time: LocalTime
    ) throws(LonghaulError) {
        guard let known = try usage(of: name) else { return }
        var next = known
        next.record(now, time)
        if next == known { return }
        try store.write(.relaxed) { connection in
            guard var usage = try HostRows(connection).usage(of: name) else { return }
            usage.record(now, time)
            try connection.run(
                "UPDATE host SET usage = ?2 WHERE name = ?1", name, StoredJSON.encode(usage))
        }
    }

    /// When a host was used; `nil` = no such host.
    package func usage(of name: String) throws(LonghaulError) -> UsageHistogram? {
        try store.access { try HostRows($0).usage(of: name) }
    }

    /// The last launches of a host, newest first.
    package func launches(of host: String, limit: Int) throws(LonghaulError) -> [StoredLaunch] {
        try store.access {
            try $0.all(
                LaunchColumns.select + " WHERE l.host = ?1 ORDER BY l.id DESC LIMIT ?2", host,
                limit,
                read: LaunchColumns.read)
        }
    }

    /// The numbers of kept launches by result: `running`, `succeeded`, `failed`, or how else they
    /// ended.
    package func launchResults() throws(LonghaulError) -> [String: Int] {
        let rows = try store.access {
            try $0.all(
                """
                SELECT CASE WHEN endedAt IS NULL THEN 'running' WHEN ending <> 'exited' THEN ending \
                WHEN status = 0 THEN 'succeeded' ELSE 'failed' END AS result, count(*) \
                FROM launch GROUP BY result
                """
            ) { ($0[0] as String, $0[1] as Int) }
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// Launches without a recorded end.
    package func openLaunches() throws(LonghaulError) -> [StoredLaunch] {
        try store.access {
            try $0.all(
                LaunchColumns.select
                    + " INDEXED BY launchOpen WHERE l.endedAt IS NULL ORDER BY l.id",
                read: LaunchColumns.read)
        }
    }

    /// The number of the last launch; 0 = there was none.
    package func lastLaunch() throws(LonghaulError) -> LaunchID {
        try store.access { LaunchID(rawValue: try $0.lastID(in: "launch")) }
    }

    package func launch(_ id: LaunchID) throws(LonghaulError) -> StoredLaunch? {
        try store.access {
            try $0.first(LaunchColumns.select + " WHERE l.id = ?1", id, read: LaunchColumns.read)
        }
    }
}

extension Store {
    /// The programs that are started for events.
    package var hosts: RegisteredHosts { RegisteredHosts(store: self) }
}
