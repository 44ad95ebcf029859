internal import LonghaulCore
package import LonghaulPlatform
internal import LonghaulStore

/// The jobs of a queue: commands that run when conditions allow. Each is a host of the kind job
/// with one processing request of its name.
package struct Jobs: Sendable {
    private let queue: TransferQueue
    private let time = LocalTime.ofProcess
    private var store: Store { queue.store }

    fileprivate init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// Records a job, durably. A job of the same name is replaced; its history stays, and a run
    /// continues.
    ///
    /// - Parameters:
    ///   - name: `nil` = a name is generated (`job-N`).
    ///   - argv: The command by absolute path, and its arguments.
    ///   - request: When it runs; identifier and host are set here.
    /// - Returns: Its name.
    /// - Throws: `LonghaulError` `invalidRequest`, `conflict`, `noSuchTransfer`,
    ///   `storeUnavailable`.
    package func add(
        _ name: String?, _ argv: [String], _ settings: JobSettings, _ request: TaskRequest
    ) throws(LonghaulError) -> String {
        var request = request
        request.identifier = name ?? "job"
        try HostSettings(argv: argv).check(as: request.identifier)
        if request.job?.hasMoments ?? false || request.job?.windows != nil {
            request.job?.timeZone = try ZoneFiles.ofCaller()
        }
        let begin = max(queue.now, request.earliestBegin ?? queue.now)
        if let calendar = request.job?.calendar, calendar.next(after: begin, time) == nil {
            throw .usage("the calendar '\(calendar)' has no moment that is still to come")
        }
        if let defect = request.defect { throw LonghaulError(.invalidRequest, defect) }
        let name = try store.jobs.add(
            RegisteredJobs.NewJob(
                name: name, argv: argv, settings: settings, request: request),
            now: queue.now, time)
        WakeChannel.poke(queue.directory)
        return name
    }

    /// All jobs, by name.
    package func all() throws(LonghaulError) -> [JobRecord] {
        let reader = try TaskReader(queue)
        var records: [JobRecord] = []
        for job in try store.jobs.all() { records.append(try record(job, reader)) }
        return records
    }

    /// The numbers of kept launches, of jobs and hosts, by their result: `running`, `succeeded`,
    /// `failed`, or another ``LaunchEnding``.
    package func launchResults() throws(LonghaulError) -> [String: Int] {
        try store.hosts.launchResults()
    }

    /// - Throws: `LonghaulError` `noSuchHost`, `storeUnavailable`.
    package func find(_ name: String) throws(LonghaulError) -> JobRecord {
        try record(try store.jobs.find(name), try TaskReader(queue))
    }

    private func record(
        _ job: StoredHost, _ reader: TaskReader
    ) throws(LonghaulError) -> JobRecord {
        let tasks = try store.tasks.find(job.name, host: job.name)
        var record = JobRecord(
            name: job.name, argv: job.program.argv,
            settings: job.program.job ?? JobSettings(directory: "/", environment: [:]),
            state: .ended, forecast: Forecast(text: "it has ended"))
        guard let task = tasks.first else {
            record.runs = try store.tasks.runs(of: job.name, host: job.name)
            // The request was withdrawn during the run.
            if let last = record.runs.first, last.endedAt == nil { record.state = .running }
            if let missed = record.runs.first?.missedTransfer {
                record.forecast.text += ": transfer \(missed) did not complete"
            }
            return record
        }
        let known = try reader.record(task)
        // A job that was replaced during its run shows the new schedule.
        record.request = tasks.last?.request
        record.state =
            known.state == .running ? .running : task.isPaused ? .paused : .waiting
        record.isAsked = task.isSimulated && task.launch == nil
        record.failures = known.failures
        record.runs = known.runs
        if record.state == .paused {
            record.forecast = Forecast(text: "it is paused")
        } else {
            record.waitingFor = known.waitingFor
            record.forecast = known.forecast
        }
        return record
    }

    /// Asks the engine for a run now, regardless of the job's conditions.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` when it runs; `storeUnavailable`.
    package func run(_ name: String) throws(LonghaulError) {
        try store.jobs.run(name, now: queue.now, time)
        WakeChannel.poke(queue.directory)
    }

    /// Pauses or resumes the job: a paused one begins only on request. A present run continues.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` when it has ended; `storeUnavailable`.
    package func setPaused(_ name: String, _ isPaused: Bool) throws(LonghaulError) {
        try store.jobs.setPaused(name, isPaused)
        WakeChannel.poke(queue.directory)
    }

    /// Asks the engine to end the run. Of a job that runs once and waits, the run is given up.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` when there is no run to end;
    ///   `storeUnavailable`.
    package func cancel(_ name: String) throws(LonghaulError) {
        try store.jobs.cancel(name)
        WakeChannel.poke(queue.directory)
    }

    /// Removes a job with its history and its logs.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` while it runs; `storeUnavailable`.
    package func remove(_ name: String) throws(LonghaulError) {
        try store.jobs.remove(name)
        JobLog.removeAll(of: name, in: queue.directory)
        WakeChannel.poke(queue.directory)
    }

    /// The output of a run.
    package func log(of name: String, run: Int64) -> JobLog {
        JobLog(of: name, run: run, in: queue.directory)
    }
}

extension TransferQueue {
    /// The commands that run when the machine is right.
    package var jobs: Jobs { Jobs(self) }
}
