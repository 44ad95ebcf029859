private import Synchronization

/// A few threads for disk work that would hold up the engine: syncs, renames, hashing.
///
/// Jobs with one key run in the order in which they were submitted, one at a time; jobs with
/// different keys run in any order, at once. A job that is submitted is run: nothing is dropped but
/// by the end of the process.
package final class FileWorkers: Sendable {
    /// Syncs wait for the disk more than for a processor; more threads than this only add
    /// contention in its journal.
    package static let threadsDefault = 2
    /// Jobs waiting; who submits more waits for room.
    package static let pendingMax = 4_096

    private typealias Job = @Sendable () -> Void

    private struct State {
        /// The jobs of each key that has any, waiting or running.
        var lanes: [Int64: Fifo<Job>] = [:]
        /// Keys that have jobs waiting and none running.
        var ready = Fifo<Int64>()
        /// Jobs waiting, not those running.
        var pending = 0
        var running = 0
        var isStopping = false
    }

    private let state = Monitor(State())
    private let threads: Mutex<[SystemThread]>

    package init(threads count: Int = threadsDefault) throws(SystemFailure) {
        precondition(count > 0)
        threads = Mutex([])
        for number in 1...count {
            let state = state
            let thread = try SystemThread(name: "longhaul-disk-\(number)") { Self.work(state) }
            threads.withLock { $0.append(thread) }
        }
    }

    /// Runs `job` on one of the threads, after all earlier jobs with this key.
    ///
    /// Waits while ``pendingMax`` jobs wait; a job itself may submit without waiting. Not after
    /// ``stop()``.
    package func submit(key: Int64, _ job: @escaping @Sendable () -> Void) {
        let isWorker = threads.withLock { $0.contains { $0.isCurrent } }
        state.waitAndChange { state -> Void? in
            precondition(!state.isStopping, "no job is submitted after stop()")
            // A worker that waited for room could wait for itself.
            if state.pending >= Self.pendingMax, !isWorker { return nil }
            state.pending += 1
            let isListed = state.lanes[key] != nil
            state.lanes[key, default: Fifo()].append(job)
            if !isListed { state.ready.append(key) }
            return ()
        }
    }

    /// Returns when every job submitted before has run. Never from a job.
    package func drain() {
        state.wait { $0.pending == 0 && $0.running == 0 ? () : nil }
    }

    /// Drains, then ends the threads. The second time, it returns at once.
    package func stop() {
        state.change { $0.isStopping = true }
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    package var pendingCount: Int { state.change { $0.pending + $0.running } }

    deinit {
        state.change { $0.isStopping = true }
    }

    // MARK: -

    private static func work(_ state: Monitor<State>) {
        while true {
            let taken = state.waitAndChange { state -> (key: Int64, job: Job)?? in
                if let key = state.ready.popFirst() {
                    state.pending -= 1
                    state.running += 1
                    guard let job = state.lanes[key]?.popFirst() else {
                        preconditionFailure("a lane that is ready has a job")
                    }
                    return .some((key, job))
                }
                // A lane whose job runs elsewhere may still have more: that worker lists it again.
                return state.isStopping ? .some(nil) : nil
            }
            guard let taken else { return }
            taken.job()
            state.change { state in
                state.running -= 1
                if state.lanes[taken.key]?.isEmpty == false {
                    state.ready.append(taken.key)
                } else {
                    state.lanes[taken.key] = nil
                }
            }
        }
    }
}

/// First in, first out, with both ends in constant time.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        // What was taken is let go of when it is the larger half: each element is moved once at
        // most.
        if head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
