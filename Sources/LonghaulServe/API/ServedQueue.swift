internal import Longhaul
internal import LonghaulPlatform
internal import Synchronization

/// Time from the answer to `shutdown` to the end of the program.
private let rpcShutdownSeconds = 0.3
/// Longest wait of a removal for the engine to end a transfer.
private let servedRemovalSeconds = 5.0

/// The queue as requests over HTTP may use it.
final class ServedQueue: Sendable {
    let queue: TransferQueue
    /// The same, for what clients ask for.
    let reviewed: ReviewedQueue
    let directories: AllowedDirectories
    let isReadOnly: Bool
    /// Clients may create, change and remove jobs.
    let allowsJobs: Bool
    let secret: Secret?
    let tickets = FileTickets()
    let wakeUps = WakeUpCounter()
    let defaults: TransferDefaults
    /// The path of the configuration file; `nil` = no file.
    let configuration: String?
    private let engine: EngineRun
    private let limits: Mutex<EngineLimits>

    init(_ queue: TransferQueue, _ engine: EngineRun, _ options: ServeOptions) {
        self.queue = queue
        self.engine = engine
        let directories = AllowedDirectories(options.directories)
        self.directories = directories
        reviewed = ReviewedQueue(queue, directories.review)
        isReadOnly = options.isReadOnly
        allowsJobs = options.allowsJobs
        configuration = options.configuration
        secret = options.secret
        defaults = options.defaults
        limits = Mutex(options.limits)
    }

    /// - Throws: `notPermitted` where nothing may be changed.
    func checkWritable() throws(LonghaulError) {
        if isReadOnly { throw LonghaulError(.notPermitted, "the server was started --read-only") }
    }

    /// - Throws: `notPermitted` where jobs may not be changed.
    func checkJobsWritable() throws(LonghaulError) {
        try checkWritable()
        if !allowsJobs {
            throw LonghaulError(
                .notPermitted,
                "jobs run programs; a server with --allow-jobs and a secret lets clients change "
                    + "them")
        }
    }

    // MARK: - Input

    /// Relative paths are those below the first allowed directory.
    func context() -> InputContext {
        InputContext(
            now: SystemClock.now().wall, secondsFromUTC: LocalClock.secondsFromUTC,
            directory: .success(directories.first))
    }

    func template() -> RequestTemplate {
        var template = RequestTemplate(directory: directories.first)
        defaults.apply(to: &template.request)
        return template
    }

    /// Records all requests or none. Ids in their order; `nil` = its file is there, skipped.
    ///
    /// - Parameter takesUpFailed: A request that equals a failed transfer is that one again.
    func enqueue(
        _ requests: [TransferRequest], takesUpFailed: Bool = true
    ) throws(LonghaulError) -> [TransferID?] {
        try checkWritable()
        for request in requests { try directories.check(request) }
        let outcomes = try reviewed.enqueue(requests, takesUpFailed: takesUpFailed)
        return try outcomes.map { outcome throws(LonghaulError) in
            switch outcome {
            case .recorded(let id, destination: _), .existing(let id, destination: _): id
            case .skipped: nil
            case .refused(let error): throw error
            }
        }
    }

    // MARK: - Reads

    func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer {
        guard let transfer = try queue.transfer(id) else { throw .noSuchTransfer(id) }
        return transfer
    }

    // MARK: - Changes

    /// - Throws: The refusal of the one transfer.
    func change(
        _ id: TransferID, _ change: (TransferSelection) throws -> [ChangeOutcome]
    ) throws {
        try checkWritable()
        let outcomes = try change(.ids([id]))
        settle()
        if let error = outcomes.first?.error { throw error }
    }

    func change(_ id: TransferID, _ change: TransferChange) throws(LonghaulError) {
        try checkWritable()
        try directories.check(change)
        try reviewed.change(id, change)
        settle()
    }

    /// - Throws: The refusal of the first one that is refused.
    func remove(_ ids: [TransferID]) throws(LonghaulError) {
        for outcome in try removeAll(ids) {
            if let error = outcome.error { throw error }
        }
    }

    /// A transfer that was just cancelled is removed once the engine has ended it.
    func removeAll(_ ids: [TransferID]) throws(LonghaulError) -> [ChangeOutcome] {
        try checkWritable()
        settle()
        let end = SystemClock.now().monotonic + servedRemovalSeconds
        let changes = try queue.changes()
        while try queue.isCancelPending(among: ids) {
            let left = end - SystemClock.now().monotonic
            if left <= 0 { break }
            _ = try changes.wait(timeout: left)
        }
        return try queue.remove(ids)
    }

    /// Without an engine the change is applied here; if that fails, the next engine applies it.
    func settle() {
        if !queue.isEngineRunning { try? queue.settle() }
    }

    // MARK: - Engine

    /// Durations of turns and commits; `nil` = this process is not the engine.
    func durations() throws(LonghaulError) -> (turns: TimeHistogram, commits: TimeHistogram)? {
        let isOwn = try queue.status().engine?.pid == ProcessIdentity.current.pid
        return isOwn ? engine.durations : nil
    }

    var engineLimits: EngineLimits { limits.withLock { $0 } }

    /// - Throws: `conflict` while another process is the engine.
    func adjust(_ change: (inout EngineLimits) -> Void) throws(LonghaulError) {
        try checkWritable()
        if let other = try queue.status().engine, other.pid != ProcessIdentity.current.pid {
            throw LonghaulError(
                .conflict,
                "process \(other.pid) is the engine (\(other.mode.rawValue)); the configuration "
                    + "file has its limits")
        }
        engine.adjust(
            limits.withLock { limits in
                change(&limits)
                return limits
            })
    }

    /// Saves everything and ends the program, a moment later: the client gets its answer before.
    func shutDown() throws(LonghaulError) {
        try checkWritable()
        let engine = engine
        DetachedThread.start(name: "longhaul-end") {
            ThreadSleep.seconds(rpcShutdownSeconds)
            engine.stop()
        }
    }
}

extension AllowedDirectories {
    /// Clients change only what lies below the served directories, before and after, and lead no
    /// secret that they do not know elsewhere.
    fileprivate var review: RequestReview {
        RequestReview(
            admit: { request throws(LonghaulError) in try checkKeys(request) },
            allow: { change throws(LonghaulError) in
                for request in [change.before, change.after] {
                    try check(request)
                    try checkKeys(request)
                }
                try change.refuseExposure()
            })
    }

    /// Checks files with keys and passwords that a request uses without naming them.
    fileprivate func checkKeys(_ request: TransferRequest) throws(LonghaulError) {
        if request.options.netrc {
            // CURLOPT_NETRC without a file is that of the home directory.
            try check((Environment.value("HOME") ?? "") + "/.netrc")
        }
        if let profile = request.options.s3?.profile {
            try check(profile.credentialsFile)
            try check(profile.configFile)
        }
    }
}
