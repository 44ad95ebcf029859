internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform
internal import Synchronization

/// A reading of the progress board serves all tasks that ask within this time.
private let boardValidSeconds = 0.05

/// The asynchronous callers of this process meet one store here: a thread does their reads and
/// writes, one after the other, and tells the waiters that the store has changed.
///
/// The thread sleeps until a call comes or another connection writes. Its connection is not the
/// engine's: SQLite tells a connection only of the commits of others.
final class StoreExecutor: Sendable {
    typealias Job = @Sendable (StoreContext) -> Void

    /// The tools of a job, on the executor's thread alone.
    final class StoreContext {
        private(set) var queue: TransferQueue
        let board: BoardGlance

        init(_ queue: TransferQueue) {
            self.queue = queue
            board = BoardGlance(queue)
        }

        /// Returns whether a repair had put another file in the place of the open one; that is the
        /// open one now. A file that cannot be opened yet is tried again with the next look.
        fileprivate func followRepair() -> Bool {
            guard queue.store.hasBeenSuperseded(), let fresh = try? TransferQueue(reopening: queue)
            else {
                return false
            }
            try? queue.store.close()
            queue = fresh
            return true
        }
    }

    let directory: String
    private let machine: Machine
    private let watch: CommitWatch
    private let state: Mutex<State>

    private struct State {
        var jobs: [Job] = []
        /// Raised whenever the store may have changed.
        var edition: UInt64 = 1
        var changes = WaiterList<ChangeWait, Void>()
        var ends = WaiterList<EndWait, Transfer>()
        /// Waited for since the last look.
        var fresh: Set<TransferID> = []
        var isClosing = false
        var hasClosed = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    /// Opens the store and starts the thread.
    static func open(
        _ directory: String, begin: DetachedThread.Start = DetachedThread.begin
    ) throws(LonghaulError) -> StoreExecutor {
        let queue = try TransferQueue(directory: directory)
        let watch: CommitWatch
        do {
            watch = try CommitWatch(of: "queue.sqlite", in: queue.directory)
        } catch {
            throw error.longhaulError()
        }
        let executor = StoreExecutor(queue, watch)
        guard begin("longhaul-store", { executor.work(StoreContext(queue)) }) else {
            try? queue.store.close()
            throw .noThread()
        }
        return executor
    }

    private init(_ queue: TransferQueue, _ watch: CommitWatch) {
        directory = queue.directory
        machine = queue.machine
        self.watch = watch
        state = Mutex(State())
    }

    // MARK: - Callers

    /// Runs `body` on the executor's thread, after all earlier jobs.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (StoreContext) throws(LonghaulError) -> Value
    ) async throws(LonghaulError) -> Value {
        let result: Result<Value, LonghaulError> = await withCheckedContinuation { continuation in
            let isTaken = post { context in
                continuation.resume(returning: outcome(of: body, context))
            }
            if !isTaken { continuation.resume(returning: .failure(StoreExecutor.closed)) }
        }
        return try result.get()
    }

    /// The same for a change of the store; the waiters here are notified, too.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (TransferQueue) throws(LonghaulError) -> Value
    ) async throws(LonghaulError) -> Value {
        let value = try await perform { context throws(LonghaulError) in try body(context.queue) }
        state.withLock { $0.edition += 1 }
        watch.call()
        return value
    }

    /// A number that is raised whenever the store may have changed.
    var edition: UInt64 { state.withLock { $0.edition } }

    /// Waits until the store may have changed since `edition`, or until the seconds have passed.
    ///
    /// - Parameter session: The wait ends with it; `nil` = with the executor.
    func changed(
        since edition: UInt64, within seconds: Double? = nil, for session: SessionExecutor? = nil
    ) async throws {
        let until = seconds.map { machine.now().monotonic + $0 }
        let token = state.withLock { $0.changes.announce() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let wait = ChangeWait(since: edition, until: until, session: session)
                let refusal = state.withLock { state -> (any Error)? in
                    if state.isClosing || session?.isOpen == false { return StoreExecutor.closed }
                    let isAdded = state.changes.add(token, wait, continuation)
                    return isAdded ? nil : CancellationError()
                }
                if let refusal { return continuation.resume(throwing: refusal) }
                watch.call()
            }
        } onCancel: {
            state.withLock { $0.changes.cancel(token) }?.resume(throwing: CancellationError())
        }
    }

    /// Waits until the transfer has ended; returns it as it then is.
    ///
    /// - Parameters:
    ///   - orInput: or waits for a word (``WaitReason/Reason/input``).
    ///   - session: The wait ends with it.
    func end(
        of id: TransferID, orInput: Bool, for session: SessionExecutor
    ) async throws -> Transfer {
        let token = state.withLock { $0.ends.announce() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let refusal = state.withLock { state -> (any Error)? in
                    if state.isClosing || !session.isOpen { return StoreExecutor.closed }
                    let wait = EndWait(id: id, orInput: orInput, session: session)
                    guard state.ends.add(token, wait, continuation) else {
                        return CancellationError()
                    }
                    state.fresh.insert(id)
                    return nil
                }
                if let refusal { return continuation.resume(throwing: refusal) }
                watch.call()
            }
        } onCancel: {
            state.withLock { $0.ends.cancel(token) }?.resume(throwing: CancellationError())
        }
    }

    /// The session was left: what waits for it throws.
    func endWaits(of session: SessionExecutor) {
        let (changes, ends) = state.withLock { state in
            (
                state.changes.removeAll { $0.session === session },
                state.ends.removeAll { $0.session === session }
            )
        }
        for continuation in changes { continuation.resume(throwing: StoreExecutor.closed) }
        for continuation in ends { continuation.resume(throwing: StoreExecutor.closed) }
    }

    /// Ends the thread after the pending jobs, and closes the store. The waiters are notified.
    func close() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.isClosing = true
                if !state.hasClosed { state.closers.append(continuation) }
                return state.hasClosed
            }
            if isOver { continuation.resume() }
            watch.call()
        }
    }

    /// ``close()`` for callers that cannot wait.
    func abandon() {
        state.withLock { $0.isClosing = true }
        watch.call()
    }

    static let closed = LonghaulError(
        .sessionInvalidated, "the session was invalidated and can no longer be used")

    /// `false`: closed, the job is not done.
    private func post(_ job: @escaping Job) -> Bool {
        let isTaken = state.withLock { state in
            if !state.isClosing { state.jobs.append(job) }
            return !state.isClosing
        }
        if isTaken { watch.call() }
        return isTaken
    }

    // MARK: - The thread

    private func work(_ context: StoreContext) {
        ForegroundContents(context.queue).sweep()
        serve(context)
        try? context.queue.store.close()
        let closers = state.withLock { state in
            state.hasClosed = true
            defer { state.closers.removeAll() }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    private func serve(_ context: StoreContext) {
        var version = try? context.queue.store.dataVersion()
        var settling = WriteSettling()
        var ends = EndWatch()
        while true {
            let (jobs, isClosing) = state.withLock { state in
                defer { state.jobs.removeAll(keepingCapacity: true) }
                return (state.jobs, state.isClosing)
            }
            if context.followRepair() {
                ends.forgetLog()
                version = nil
            }
            for job in jobs { job(context) }
            if isClosing { break }
            let seen = try? context.queue.store.dataVersion()
            if seen != version {
                version = seen
                state.withLock { $0.edition += 1 }
            }
            tellOfChanges()
            tellOfEnds(context, &ends)
            let woken = watch.wait(atMost: pause(settling))
            if woken.isWritten { settling.written() } else if !woken.isCalled { settling.looked() }
        }
        let (changes, waits) = state.withLock { ($0.changes.removeAll(), $0.ends.removeAll()) }
        for continuation in changes { continuation.resume(throwing: StoreExecutor.closed) }
        for continuation in waits { continuation.resume(throwing: StoreExecutor.closed) }
    }

    private func pause(_ settling: WriteSettling) -> Double {
        let due = state.withLock { $0.changes.waits.compactMap(\.until).min() }
        let left = due.map { max(0, $0 - machine.now().monotonic) }
        return min(left ?? .infinity, settling.pause ?? .infinity, Limits.storePollSeconds)
    }

    private func tellOfChanges() {
        let now = machine.now().monotonic
        let due = state.withLock { state in
            let edition = state.edition
            return state.changes.removeAll { $0.isOver(at: edition, now) }
        }
        for continuation in due { continuation.resume() }
    }

    private func tellOfEnds(_ context: StoreContext, _ watch: inout EndWatch) {
        let (edition, fresh, waited) = state.withLock { state in
            defer { state.fresh.removeAll() }
            return (state.edition, state.fresh, Set(state.ends.waits.map(\.id)))
        }
        if waited.isEmpty { return watch.rest() }
        let found = watch.findEnds(in: context.queue, for: waited, fresh: fresh, edition: edition)
        for (id, result) in found {
            let isOver = (try? result.get().isOver) ?? true
            let waiting = state.withLock {
                $0.ends.removeAll { $0.id == id && (isOver || $0.orInput) }
            }
            for continuation in waiting { continuation.resume(with: result) }
        }
    }
}

private func outcome<Value>(
    of body: (StoreExecutor.StoreContext) throws(LonghaulError) -> Value,
    _ context: StoreExecutor.StoreContext
) -> Result<Value, LonghaulError> {
    do {
        return .success(try body(context))
    } catch {
        return .failure(error)
    }
}

extension StoreExecutor.StoreContext {
    /// Reads a transfer with live numbers, without what takes a look at the machine (why it waits).
    func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        guard var transfer = try queue.store.transfers.find(id, now: queue.now) else { return nil }
        if transfer.state == .running, transfer.held?.isPrefetched == true {
            transfer.state = try RunningView(queue.store, now: queue.now).state(of: transfer)
        }
        return LiveView.withLiveNumbers(transfer, from: board.read())
    }
}

/// The progress board, read once for all tasks that ask within a moment.
final class BoardGlance {
    private let directory: String
    private let machine: Machine
    private var taken: Instant?
    private var live: [FetchID: BoardReader.Live] = [:]

    init(_ queue: TransferQueue) {
        directory = queue.directory
        machine = queue.machine
    }

    /// Progress of each running fetch; empty when no engine runs.
    func read() -> [FetchID: BoardReader.Live] {
        let now = machine.now().monotonic
        if let taken, now - taken < boardValidSeconds { return live }
        let hasEngine = (try? EngineLock.isHeld(in: directory)) ?? false
        live = hasEngine ? BoardReader.live(in: directory) : [:]
        taken = now
        return live
    }
}
