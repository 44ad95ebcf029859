internal import LonghaulCore
internal import Synchronization

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
        let world: SimulatedWaits?
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

/// How many tasks of a launch in a simulated world wait for that world: for the store, or for a
/// moment. While one does, the world may go on.
package final class SimulatedWaits: Sendable {
    /// Those of the launch that the current task belongs to.
    @TaskLocal package static var current: SimulatedWaits?

    private let count = Mutex(0)

    package init() {}

    /// Some of the launch goes on when the world does.
    package var areAny: Bool { count.withLock { $0 > 0 } }

    package func begin() { count.withLock { $0 += 1 } }

    package func end() {
        count.withLock { count in
            precondition(count > 0, "a wait that ends has begun")
            count -= 1
        }
    }
}
