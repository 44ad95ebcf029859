internal import LonghaulCore
internal import LonghaulStore

/// Notifies the user of what the event log says, and records how far: after a crash the last notice
/// may come twice.
struct NoticeSteps: EngineWork {
    private let queue: TransferQueue
    private let outlet: NoticeOutlet

    private var tasks = ContinuedNotices()

    init(_ queue: TransferQueue, _ outlet: NoticeOutlet) {
        self.queue = queue
        self.outlet = outlet
    }

    var descriptor: Int32? { nil }
    /// ``last()`` is taken also where no thread was needed.
    var hasLastStep: Bool { false }

    /// Notifies of ends since the last look, when the engine ends.
    mutating func last() {
        guard (try? queue.store.notices.isWanted()) == true else { return }
        _ = try? run()
    }

    mutating func run() throws(LonghaulError) -> Timestamp? {
        while true {
            let (occurrences, last) = try queue.store.notices.next(now: queue.now)
            guard let last else { return try notifyOfRuns() }
            for notice in occurrences.compactMap(Notice.init) { outlet.deliver(notice) }
            try queue.store.notices.delivered(through: last, isDurable: !occurrences.isEmpty)
        }
    }

    /// Notifies of what is recorded with its notice: the ends of runs and activities.
    ///
    /// - Returns: When to look again while a continued task runs.
    private mutating func notifyOfRuns() throws(LonghaulError) -> Timestamp? {
        let log = queue.store.notices
        // First: a task that ends meanwhile is not taken for one that was stopped.
        let running = try queue.tasks.runningContinued()
        for ended in try log.endedRuns() {
            if ended.run.kind == .continued {
                tasks.end(ended, outlet)
            } else {
                outlet.deliver(Notice(ended))
            }
            try log.delivered(ended)
        }
        for activity in try log.expiredActivities() {
            outlet.deliver(Notice(expired: activity.name, of: activity.host))
            try log.delivered(activity)
        }
        return tasks.follow(running, outlet, now: queue.now)
    }
}

extension Notice {
    /// The end of a run of a job, or of a task of a host that has used up its time.
    init(_ ended: TaskNotice) {
        guard ended.isOfJob else {
            self.init(expired: ended.name, of: ended.host, ended.run.expiration ?? .time)
            return
        }
        self.init(job: ended.name, failure: ended.run.hasFailed ? ended.how : nil)
    }

    init?(_ occurrence: NoticeLog.Occurrence) {
        switch occurrence {
        case .ended(let transfer): self.init(transfer)
        case .needsInput(let transfer): self.init(transfer, .input)
        case .batch(let id, let ends, let failure):
            self.init(batch: "\(id)", nil, ends, failure: failure)
        case .session(let session, let ends):
            let prefix = String.session(ofFolder: "")
            let name =
                session.hasPrefix(prefix) ? String(session.dropFirst(prefix.count)) : session
            self.init(batch: name, name, ends, failure: nil)
        case .bundle(let bundle, let isFailed):
            self.init(isFailed ? .failed : .completed, id: bundle.name, name: bundle.name)
            state = bundle.state.rawValue
            path = bundle.directory
            url = bundle.source.shown
            bytes = bundle.ready?.bytesComplete
            error = bundle.error?.message
        }
    }
}

extension TaskNotice {
    /// How the run failed, and the last line of its output.
    fileprivate var how: String {
        if let miss = run.miss { return miss }
        guard let outcome else { return (run.expiration ?? .time).text }
        let failure = LaunchFailure(
            ending: outcome.ending, status: outcome.status, expiration: run.expiration,
            output: outcome.output)
        return failure.how + (failure.lastLine.map { "\n" + TerminalText.shown($0) } ?? "")
    }
}
