package import LonghaulModel

/// The task requests, for clients.
package struct TaskRequests {
    let store: Store

    /// Records a request, durably; one of the same identifier that waits is replaced. A request
    /// that repeats keeps the interval of the one that it replaces.
    ///
    /// - Parameter check: Called with the recorded request and the facts that decide about it. If
    ///   it throws, nothing is recorded. `nil` = the request may wait.
    /// - Returns: The request with its host.
    package func submit(
        _ request: TaskRequest, now: Timestamp,
        check: ((StoredTask, TaskFacts) throws -> Void)? = nil
    ) throws(LonghaulError) -> StoredTask {
        try store.write(.durable) { connection in
            let rows = TaskRows(connection)
            let host = try host(for: request, connection).name
            let replaced = try rows.pending(request.identifier, of: host)
            if replaced?.request.counts(with: request) != true {
                try checkRoom(for: request, of: host, connection)
            }
            let running = try rows.running(request.identifier, of: host)
            var before = replaced?.timing ?? running?.timing
            // The one that runs now counts as a run of this one.
            if let started = running?.startedAt {
                before?.lastStart = started
                // The result of the running launch is not known yet.
                before?.emptyRuns = 0
            }
            let timing = TaskTiming(
                request, replacing: before, place: try rows.place(), now: now)
            if let replaced { try rows.delete(replaced.id) }
            var request = request
            request.host = host
            let task = try rows.insert(request, timing, now: now)
            try check?(task, TaskFacts(connection, ofAllHosts: true))
            return task
        }
    }

    /// The host that a request is for: it permits the identifier.
    package func host(for request: TaskRequest) throws(LonghaulError) -> StoredHost {
        try store.snapshot { try host(for: request, $0) }
    }

    private func host(for request: TaskRequest, _ connection: Connection) throws -> StoredHost {
        if let name = request.host {
            guard let host = try HostRows(connection).find(name) else { throw noSuchHost(name) }
            guard host.program.settings.permits(request) else {
                throw notPermitted(request.identifier, " to the host \(name)")
            }
            return host
        }
        let hosts = try HostRows(connection).all().filter { $0.program.settings.permits(request) }
        guard let host = hosts.first else { throw notPermitted(request.identifier, " to any host") }
        if hosts.count > 1 {
            throw LonghaulError(
                .invalidRequest,
                "the task \(request.identifier) is permitted to several hosts; name one")
        }
        return host
    }

    private func notPermitted(_ identifier: String, _ whom: String) -> LonghaulError {
        LonghaulError(
            .notPermitted,
            "the task \(identifier) is not permitted\(whom);"
                + " `host add ID --permit \(identifier)` permits it")
    }

    /// Refuses a request beyond the number that BGTaskScheduler takes, without the one that it
    /// replaces. Standing requests wait for something that may never happen, and are counted apart.
    private func checkRoom(
        for request: TaskRequest, of host: String, _ connection: Connection
    ) throws {
        let count = try TaskRows(connection).pending(of: host).count {
            $0.request.counts(with: request) && $0.request.identifier != request.identifier
        }
        let (most, what) =
            if request.isStanding {
                (Limits.pendingStanding, "standing")
            } else {
                switch request.kind {
                case .refresh: (Limits.pendingRefreshes, request.kind.rawValue)
                case .processing: (Limits.pendingProcessings, request.kind.rawValue)
                case .continued: (Limits.pendingContinued, request.kind.rawValue)
                }
            }
        if count >= most {
            throw LonghaulError(
                .tooManyPendingTaskRequests,
                "the host \(host) has \(most) pending \(what) request\(most == 1 ? "" : "s"),"
                    + " and no more may wait; `task cancel` removes one")
        }
    }

    /// All requests, by host and identifier.
    ///
    /// - Parameter host: `nil` = of all hosts.
    package func all(host: String? = nil) throws(LonghaulError) -> [StoredTask] {
        try store.access {
            try $0.all(
                TaskColumns.select + """
                     WHERE kind <> 2 AND (?1 IS NULL OR host = ?1) \
                    ORDER BY host, identifier, launch IS NULL
                    """, host, read: TaskColumns.read)
        }
    }

    /// The tasks that launches carry, by host and identifier.
    package func running() throws(LonghaulError) -> [StoredTask] {
        try store.access {
            try $0.all(
                TaskColumns.select + """
                     WHERE launch IS NOT NULL AND kind <> 2 ORDER BY host, identifier
                    """, read: TaskColumns.read)
        }
    }

    /// The waiting requests and wake-ups of a host.
    package func waiting(for host: String) throws(LonghaulError) -> [StoredTask] {
        try store.access {
            try $0.all(
                TaskColumns.select
                    + " WHERE host = ?1 AND launch IS NULL ORDER BY id",
                host, read: TaskColumns.read)
        }
    }

    /// Finds the requests of an identifier that wait or run, the running one first.
    package func find(
        _ identifier: String, host: String? = nil
    ) throws(LonghaulError) -> [StoredTask] {
        try store.access { try find(identifier, host, $0) }
    }

    /// A request that nothing but its identifier names is that of one host.
    ///
    /// - Throws: `conflict`.
    package func checkOneHost(_ identifier: String, _ hosts: [String]) throws(LonghaulError) {
        let names = Set(hosts).sorted()
        if names.count < 2 { return }
        throw LonghaulError(
            .conflict,
            "several hosts have the task \(identifier): \(names.joined(separator: ", "));"
                + " name one, as `--host \(names[0])`")
    }

    /// Requests among these that still wait, wake-ups among them; of jobs those that were not
    /// paused meanwhile, or that a client has asked for.
    package func waiting(_ ids: [TaskID]) throws(LonghaulError) -> [StoredTask] {
        try store.snapshot { connection in
            try ids.compactMap { try TaskRows(connection).find($0) }.filter {
                $0.launch == nil && (!$0.isPaused || $0.isSimulated)
            }
        }
    }

    private func find(
        _ identifier: String, _ host: String?, _ connection: Connection
    ) throws -> [StoredTask] {
        try connection.all(
            TaskColumns.select + """
                 WHERE identifier = ?1 AND kind <> 2 \
                AND (?2 IS NULL OR host = ?2) ORDER BY host, launch IS NULL
                """, identifier, host, read: TaskColumns.read)
    }

    /// The last runs, newest first.
    package func runs(
        of identifier: String, host: String
    ) throws(LonghaulError) -> [TaskRun] {
        try store.access {
            try TaskRunRows($0).all(of: identifier, host: host, limit: Limits.taskRunsKept)
        }
    }

    /// Hosts that have runs of this identifier in the log, of requests that are done.
    package func hostsWithRuns(of identifier: String) throws(LonghaulError) -> [String] {
        try store.access {
            try $0.values(
                "SELECT DISTINCT host FROM taskRun WHERE identifier = ?1 ORDER BY host", identifier)
        }
    }

    /// Cancels requests, all or none: none of them waits any more. Runs are not interrupted, but
    /// for those of continued tasks: the engine is asked to end them.
    package func cancel(
        _ identifiers: [String], host: String? = nil
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            for identifier in Set(identifiers).sorted() {
                let found = try find(identifier, host, connection)
                if found.isEmpty { throw noSuchTask(identifier) }
                try checkOneHost(identifier, found.map(\.host))
                for task in found { try TaskRows(connection).cancel(task) }
            }
        }
    }

    /// Cancels all requests as ``cancel(_:host:)`` does; returns how many.
    package func cancelAll(host: String? = nil) throws(LonghaulError) -> Int {
        try store.write(.durable) { connection in
            let rows = TaskRows(connection)
            let found = try rows.all().filter {
                $0.kind != .wakeUp && (host == nil || $0.host == host)
            }
            for task in found { try rows.cancel(task) }
            return found.count
        }
    }

    /// How often the program of a continued task has reported progress in this launch.
    package func reports(of launch: LaunchID) throws(LonghaulError) -> Int {
        try store.access {
            try $0.value("SELECT sum(reports) FROM task WHERE launch = ?1", launch) ?? 0
        }
    }

    /// Asks the engine to launch a waiting request now.
    package func simulateLaunch(
        of identifier: String, host: String? = nil
    ) throws(LonghaulError) {
        try simulate(identifier, host, runs: false)
    }

    /// Asks the engine to end the launch that carries a request.
    package func simulateExpiration(
        of identifier: String, host: String? = nil
    ) throws(LonghaulError) {
        try simulate(identifier, host, runs: true)
    }

    private func simulate(
        _ identifier: String, _ host: String?, runs: Bool
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let found = try find(identifier, host, connection)
            try checkOneHost(identifier, found.map(\.host))
            guard let task = found.first(where: { ($0.launch != nil) == runs }) else {
                if found.isEmpty { throw noSuchTask(identifier) }
                throw LonghaulError(
                    .conflict,
                    runs
                        ? "the task \(identifier) does not run"
                        : "the task \(identifier) runs already")
            }
            try connection.run("UPDATE task SET simulated = 1 WHERE id = ?1", task.id)
        }
    }

    /// Records a wake-up, durably. It replaces a waiting one of its identifier; one that was urgent
    /// stays so. A launch that begins for something else takes it along.
    package func wake(_ host: String, _ wakeUp: WakeUp, now: Timestamp) throws(LonghaulError) {
        try store.write(.durable) { connection in
            guard let known = try HostRows(connection).find(host) else { throw noSuchHost(host) }
            try known.checkIsNoJob()
            try TaskRows(connection).wake(host, wakeUp, now: now)
        }
    }

    /// Nothing waits for a host besides events.
    package func isEmpty() throws(LonghaulError) -> Bool {
        try store.access { try $0.value("SELECT NOT EXISTS (SELECT 1 FROM task)") } ?? true
    }

    /// The rows that decide about tasks and hosts.
    ///
    /// - Parameter ofAllHosts: Include hosts for which nothing waits.
    package func facts(ofAllHosts: Bool = false) throws(LonghaulError) -> TaskFacts {
        try store.snapshot { try TaskFacts($0, ofAllHosts: ofAllHosts) }
    }
}

extension Store {
    /// Tasks and wake-ups.
    package var tasks: TaskRequests { TaskRequests(store: self) }
}

func noSuchTask(_ identifier: String) -> LonghaulError {
    LonghaulError(.noSuchTask, "there is no request of the task \(identifier)")
}
