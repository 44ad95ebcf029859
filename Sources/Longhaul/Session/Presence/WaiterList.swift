internal import LonghaulCore

/// Tasks that are suspended until something has come true, each of which may be cancelled at any
/// time, before it was suspended included.
struct WaiterList<Wait: Sendable, Value>: Sendable {
    typealias Continuation = CheckedContinuation<Value, any Error>

    private var next = 0
    /// Tokens whose task is about to be suspended and was not cancelled.
    private var announced: Set<Int> = []
    private var entries: [Int: Entry] = [:]

    private struct Entry {
        let wait: Wait
        let continuation: Continuation
        /// Its task waits for the simulated world.
        let launch: SimulatedLaunch?
    }

    /// What is waited for.
    var waits: some Sequence<Wait> { entries.values.lazy.map(\.wait) }

    mutating func announce() -> Int {
        next += 1
        announced.insert(next)
        return next
    }

    /// `false`: the task was cancelled meanwhile.
    mutating func add(_ token: Int, _ wait: Wait, _ continuation: Continuation) -> Bool {
        guard announced.remove(token) != nil else { return false }
        let launch = SimulatedLaunch.current
        launch?.waits()
        entries[token] = Entry(wait: wait, continuation: continuation, launch: launch)
        return true
    }

    /// The task to resume; `nil` when its task is not suspended (yet, or any more).
    mutating func cancel(_ token: Int) -> Continuation? {
        announced.remove(token)
        return remove(token)
    }

    private mutating func remove(_ token: Int) -> Continuation? {
        guard let entry = entries.removeValue(forKey: token) else { return nil }
        entry.launch?.goesOn()
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
    /// What the caller has seen.
    let since: UInt64
    let until: Instant?

    func isOver(at edition: UInt64, _ now: Instant) -> Bool {
        edition > since || until.map { $0 <= now } ?? false
    }
}

/// Waits for the end of a transfer.
struct EndWait: Sendable {
    let id: TransferID
    let orInput: Bool
}
