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
            guard let last else { return try tasks.follow(queue, outlet) }
            for notice in occurrences.compactMap(Notice.init) { outlet.deliver(notice) }
            try queue.store.notices.delivered(through: last, isDurable: !occurrences.isEmpty)
        }
    }
}

extension Notice {
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
