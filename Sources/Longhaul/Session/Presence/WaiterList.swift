internal import LonghaulCore
internal import Synchronization

/// Seconds of real time after which a launch of a simulated world, whose handlers have returned
/// and whose tasks are not completed, has nothing more to do at a moment of it.
private let simulatedGraceSeconds = 0.1

/// Tasks that are suspended until a condition is true. Each may be cancelled at any time, even
/// before it was suspended.
struct WaiterList<Wait: Sendable, Value>: Sendable {
    typealias Continuation = CheckedContinuation<Value, any Error>

    private var next = 0
    /// Tokens whose task is about to be suspended and was not cancelled.
    private var announced: Set<Int> = []
    private var entries: [Int: Entry] = [:]

    private struct Entry {
        let wait: Wait
        let continuation: Continuation
        /// The simulated world that the task waits for.
        let world: SimulatedWaits?
    }

    /// The waits of all entries.
    var waits: some Sequence<Wait> { entries.values.lazy.map(\.wait) }

    mutating func announce() -> Int {
        next += 1
        announced.insert(next)
        return next
    }

    /// `false`: the task was cancelled meanwhile.
    mutating func add(_ token: Int, _ wait: Wait, _ continuation: Continuation) -> Bool {
        guard announced.remove(token) != nil else { return false }
        let world = SimulatedWaits.current
        world?.begin()
        entries[token] = Entry(wait: wait, continuation: continuation, world: world)
        return true
    }

    /// The task to resume; `nil` when its task is not suspended (yet, or any more).
    mutating func cancel(_ token: Int) -> Continuation? {
        announced.remove(token)
        return remove(token)
    }

    private mutating func remove(_ token: Int) -> Continuation? {
        guard let entry = entries.removeValue(forKey: token) else { return nil }
        entry.world?.end()
        return entry.continuation
    }

    mutating func removeAll(where isOver: (Wait) -> Bool) -> [Continuation] {
        let tokens = entries.filter { isOver($0.value.wait) }.keys
        return tokens.compactMap { remove($0) }
    }

    mutating func removeAll() -> [Continuation] {
        removeAll { _ in true }
    }
}

/// Waits for a change of the store.
struct ChangeWait: Sendable {
    /// The edition that the caller has seen.
    let since: UInt64
    let until: Instant?
    /// The waiting session; `nil` = no session.
    let session: SessionExecutor?

    func isOver(at edition: UInt64, _ now: Instant) -> Bool {
        edition > since || until.map { $0 <= now } ?? false
    }
}

/// Waits for the end of a transfer.
struct EndWait: Sendable {
    let id: TransferID
    let orInput: Bool
    let session: SessionExecutor
}

/// Number of Swift tasks of a launch in a simulated world that wait for that world: for the store,
/// or for a moment. While one does, the world may proceed.
package final class SimulatedWaits: Sendable {
    /// The waits of the launch that the current task belongs to.
    @TaskLocal package static var current: SimulatedWaits?

    private struct State {
        var waits = 0
        /// Tasks whose registered handlers have returned without having completed them.
        var openTasks = 0
        var changedAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    package init() {}

    /// True if a part of the launch proceeds without the world. If its tasks are completed later,
    /// their computing until then cannot be seen, and has a moment to begin another wait.
    package var areComputing: Bool {
        state.withLock { state in
            if state.waits > 0 { return false }
            let quiet = (ContinuousClock.now - state.changedAt) / .seconds(1)
            return state.openTasks == 0 || quiet < simulatedGraceSeconds
        }
    }

    package func begin() { change { $0.waits += 1 } }

    package func end() {
        change { state in
            precondition(state.waits > 0, "a wait that ends has begun")
            state.waits -= 1
        }
    }

    /// A handler has returned, and its task is not completed yet.
    func leaveOpen() { change { $0.openTasks += 1 } }

    func closeTask() { change { $0.openTasks -= 1 } }

    /// The launch was asked to end, which some of it may respond to.
    func expire() { change { _ in } }

    private func change(_ edit: (inout State) -> Void) {
        state.withLock { state in
            edit(&state)
            state.changedAt = .now
        }
    }
}
