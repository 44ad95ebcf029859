internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// Delay before an unreadable store is read again.
private let inputRetrySeconds: Double = 1

/// Asks a program for the input that transfers of its session wait for, each need once. Knows the
/// session by name only, so that letting go of the session ends it.
final class InputWatch: Sendable {
    typealias Handler = @Sendable (InputNeed) async throws -> InputReply

    private let executor: SessionExecutor
    private let session: String
    private let state = Mutex(State())

    private struct State {
        var handler: Handler?
        var task: Task<Void, Never>?
    }

    init(_ executor: SessionExecutor, session: String) {
        self.executor = executor
        self.session = session
    }

    deinit {
        stop()
    }

    var isWatching: Bool { state.withLock { $0.handler != nil } }

    /// Sets the handler that is asked from now on, in the place of an earlier one.
    func ask(_ handler: @escaping Handler) {
        let (executor, session) = (executor, session)
        state.withLock { state in
            state.handler = handler
            state.task?.cancel()
            state.task = Task { await InputWatch.watch(executor, session, handler) }
        }
    }

    func stop() {
        state.withLock { state in
            state.handler = nil
            state.task?.cancel()
            state.task = nil
        }
    }

    private static func watch(_ executor: SessionExecutor, _ session: String, _ handler: Handler)
        async
    {
        var requested: Set<Int64> = []
        while !Task.isCancelled {
            let edition = executor.edition
            let open = try? await executor.perform { context throws(LonghaulError) in
                try context.queue.store.questions.openNeeds(of: session, now: context.queue.now)
            }
            // While the store cannot be read, reported needs stay recorded.
            if let open { requested.formIntersection(open.map(\.event)) }
            for need in open ?? [] where requested.insert(need.event).inserted {
                let question = InputNeed(
                    reason: need.isDelayed ? .delayedRequest : .expired, transfer: need.transfer)
                guard let reply = try? await handler(question) else { continue }
                try? await executor.change { queue throws(LonghaulError) in
                    try queue.answer(need, with: reply)
                }
            }
            let pause = open == nil ? inputRetrySeconds : nil
            if (try? await executor.changed(since: edition, within: pause)) == nil { return }
        }
    }
}

extension TransferQueue {
    fileprivate func answer(_ need: OpenNeed, with reply: InputReply) throws(LonghaulError) {
        let id = need.transfer.id
        switch reply {
        case .continue: _ = try store.questions.answerInput(id)
        case .use(let request):
            var change = TransferChange()
            change.url = request.url
            change.headers = request.options.headers.fields
            try self.change(id, change)
        case .cancel: _ = try cancel(.ids([id]))
        }
        // No other process is to be asked, nor a host started for it.
        try store.events.acknowledge(event: need.event, now: now)
        WakeChannel.poke(directory)
    }
}
