package import LonghaulModel

/// The jobs, for clients: each a row of `host` with one processing request of its name.
package struct RegisteredJobs {
    let store: Store

    /// The record of a job to be made.
    package struct NewJob {
        /// `nil` = `job-N`.
        package var name: String?
        package var argv: [String]
        package var settings: JobSettings
        /// The schedule. Identifier and host are set by ``add(_:now:_:)``.
        package var request: TaskRequest

        package init(
            name: String?, argv: [String], settings: JobSettings, request: TaskRequest
        ) {
            self.name = name
            self.argv = argv
            self.settings = settings
            self.request = request
        }
    }

    /// Records a job, durably. One of its name is replaced, its history stays, and a run of it goes
    /// on. One that is paused stays so.
    ///
    /// - Returns: Its name.
    /// - Throws: `conflict` when a host has the name, or, for a job that runs once, a job that has
    ///   not ended, and for one after transfers when one of them has failed; `noSuchTransfer`.
    package func add(
        _ new: NewJob, now: Timestamp, _ time: LocalTime
    ) throws(LonghaulError) -> String {
        try store.write(.durable) { connection in
            let name = try new.name ?? freeName(connection)
            if let known = try HostRows(connection).find(name) {
                try checkMayReplace(known, by: new, connection)
            }
            try connection.run(
                """
                INSERT INTO host (name, argv, permitted, created, job) \
                VALUES (?1, ?2, '[]', ?3, ?4) ON CONFLICT (name) DO UPDATE SET argv = ?2, \
                job = ?4, reset = reset + 1
                """, name, StoredJSON.encode(new.argv), now,
                StoredJSON.encode(new.settings))
            if !new.settings.notifies { try HostRows(connection).dropNotices(of: name) }
            var request = new.request
            request.identifier = name
            request.host = name
            try submit(request, connection, now: now, time)
            return name
        }
    }

    private func freeName(_ connection: Connection) throws -> String {
        var number = try connection.lastID(in: "host") + 1
        while try HostRows(connection).find("job-\(number)") != nil { number += 1 }
        return "job-\(number)"
    }

    private func checkMayReplace(
        _ known: StoredHost, by new: NewJob, _ connection: Connection
    ) throws {
        guard known.program.isJob else {
            throw LonghaulError(.conflict, "\(known.name) is a host; a job needs another name")
        }
        guard new.settings.isOnce else { return }
        if try rows(of: known.name, connection).isEmpty { return }
        throw LonghaulError(
            .conflict,
            "the job \(known.name) has not ended; `longhaul job cancel` or another --name")
    }

    /// Records the request of a job in place of the one that waits.
    private func submit(
        _ request: TaskRequest, _ connection: Connection, isRequested: Bool = false, now: Timestamp,
        _ time: LocalTime
    ) throws {
        let rows = TaskRows(connection)
        let name = request.identifier
        let replaced = try rows.pending(name, of: name)
        let running = try rows.running(name, of: name)
        var before = replaced?.timing ?? running?.timing
        // The one that runs now counts as a run of this one.
        if let started = running?.startedAt { before?.lastStart = started }
        var timing = TaskTiming(
            request, replacing: before, place: try rows.place(), now: now, time)
        let after = request.job?.after ?? []
        let awaits = try TransferDependencies(connection).open(among: after)
        if !after.isEmpty, awaits.isEmpty { timing.endWait(of: request, now: now) }
        if let replaced { try rows.delete(replaced.id) }
        let isPaused = replaced?.isPaused ?? running?.isPaused ?? false
        _ = try rows.insert(
            request, timing, isPaused: isPaused, isRequested: isRequested, awaits: awaits, now: now)
    }

    /// The requests of a job that wait or run, what runs first.
    private func rows(of name: String, _ connection: Connection) throws -> [StoredTask] {
        let rows = TaskRows(connection)
        return [try rows.running(name, of: name), try rows.pending(name, of: name)].compactMap {
            $0
        }
    }

    /// All jobs, by name.
    package func all() throws(LonghaulError) -> [StoredHost] {
        try store.hosts.all().filter(\.program.isJob)
    }

    /// - Throws: `noSuchHost`.
    package func find(_ name: String) throws(LonghaulError) -> StoredHost {
        try store.access { try find(name, $0) }
    }

    private func find(_ name: String, _ connection: Connection) throws -> StoredHost {
        guard let host = try HostRows(connection).find(name), host.program.isJob else {
            throw LonghaulError(.noSuchHost, "there is no job \(name)")
        }
        return host
    }

    /// Asks the engine to begin a run now.
    ///
    /// - Throws: `noSuchHost`; `conflict` when it runs.
    package func run(_ name: String, now: Timestamp, _ time: LocalTime) throws(LonghaulError) {
        try store.write(.durable) { connection in
            _ = try find(name, connection)
            let found = try rows(of: name, connection)
            if found.contains(where: { $0.launch != nil }) {
                throw LonghaulError(.conflict, "the job \(name) runs already")
            }
            if let waiting = found.first {
                return try connection.run(
                    "UPDATE task SET simulated = 1 WHERE id = ?1", waiting.id)
            }
            // A job that has ended runs once more.
            var request = TaskRequest(identifier: name, kind: .processing, host: name)
            request.job = JobSchedule()
            request.job?.retries = 0
            try submit(request, connection, isRequested: true, now: now, time)
        }
    }

    /// Pauses or resumes the job. A run is not interrupted.
    ///
    /// - Throws: `noSuchHost`; `conflict` when it has ended.
    package func setPaused(_ name: String, _ isPaused: Bool) throws(LonghaulError) {
        try store.write(.durable) { connection in
            _ = try find(name, connection)
            let found = try rows(of: name, connection)
            if found.isEmpty {
                throw LonghaulError(
                    .conflict, "the job \(name) has ended; `longhaul job run` runs it once more")
            }
            for task in found {
                try connection.run("UPDATE task SET paused = ?2 WHERE id = ?1", task.id, isPaused)
            }
        }
    }

    /// Asks the engine to end a run, which counts as no failure. Of a job that runs once and waits,
    /// the request is withdrawn.
    ///
    /// - Throws: `noSuchHost`; `conflict` when it does not run.
    package func cancel(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let job = try find(name, connection)
            let found = try rows(of: name, connection)
            if let running = found.first(where: { $0.launch != nil }) {
                return try TaskRows(connection).cancelRun(of: running)
            }
            guard let waiting = found.first, job.program.job?.isOnce == true else {
                throw LonghaulError(
                    .conflict,
                    "the job \(name) does not run; `longhaul job pause` keeps it from running")
            }
            try TaskRows(connection).delete(waiting.id)
        }
    }

    /// Removes a job with its history.
    ///
    /// - Throws: `noSuchHost`; `conflict` while it runs.
    package func remove(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            _ = try find(name, connection)
            let isOpen: Bool? = try connection.value(
                "SELECT EXISTS (SELECT 1 FROM launch INDEXED BY launchOpen WHERE host = ?1 "
                    + "AND endedAt IS NULL)", name)
            if isOpen == true {
                throw LonghaulError(
                    .conflict, "the job \(name) runs; `longhaul job cancel` ends the run first")
            }
            try HostRows(connection).remove(name)
            try connection.run("DELETE FROM taskRun WHERE host = ?1", name)
            try connection.run("DELETE FROM launch WHERE host = ?1", name)
        }
    }
}

extension Store {
    /// The jobs.
    package var jobs: RegisteredJobs { RegisteredJobs(store: self) }
}
