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

    package typealias Job = @Sendable () -> Void

    private struct State {
        /// The jobs of each key that has any, waiting or running.
        var lanes: [Int64: Fifo<Job>] = [:]
        /// Keys that have jobs waiting and none running.
        var ready = Fifo<Int64>()
        /// Jobs waiting, not those running.
        var pending = 0
        var running = 0
        var isStopping = false
        /// Threads that wait for a job, some of them perhaps woken already.
        var resting = 0

        mutating func append(_ job: @escaping Job, key: Int64) -> Bool {
            pending += 1
            let isListed = lanes[key] != nil
            lanes[key, default: Fifo()].append(job)
            if !isListed { ready.append(key) }
            return !isListed
        }

        mutating func next() -> (key: Int64, job: Job)? {
            guard let key = ready.popFirst() else { return nil }
            pending -= 1
            running += 1
            guard let job = lanes[key]?.popFirst() else {
                preconditionFailure("a lane that is ready has a job")
            }
            return (key, job)
        }

        mutating func finished(_ key: Int64) {
            running -= 1
            if lanes[key]?.isEmpty == false {
                ready.append(key)
            } else {
                lanes[key] = nil
            }
        }
    }

    /// What threads wait for: a job; room for one; the end of them all.
    private enum Wait {
        static let job = 0
        static let room = 1
        static let end = 2
        static let count = 3
    }

    private let state = Monitor(State(), conditions: Wait.count)
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
    package func submit(key: Int64, _ job: @escaping Job) {
        submit([(key, job)])
    }

    /// ``submit(key:_:)`` for several, in this order.
    package func submit(_ jobs: [(key: Int64, job: Job)]) {
        let isWorker = threads.withLock { $0.contains { $0.isCurrent } }
        state.wait(on: Wait.room) { state, bell -> Void? in
            precondition(!state.isStopping, "no job is submitted after stop()")
            // A worker that waited for room could wait for itself.
            if state.pending >= Self.pendingMax, !isWorker { return nil }
            var toWake = state.resting
            for (key, job) in jobs where state.append(job, key: key) && toWake > 0 {
                bell.wakeOne(on: Wait.job)
                toWake -= 1
            }
            return ()
        }
    }

    /// Returns when every job submitted before has run. Never from a job.
    package func drain() {
        state.wait(on: Wait.end) { state, _ in
            state.pending == 0 && state.running == 0 ? () : nil
        }
    }

    /// Drains, then ends the threads. The second time, it returns at once.
    package func stop() {
        Self.close(state)
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    package var pendingCount: Int { state.change { state, _ in state.pending + state.running } }

    deinit {
        Self.close(state)
    }

    // MARK: -

    private static func close(_ state: Monitor<State>) {
        state.change { state, bell in
            state.isStopping = true
            bell.wakeAll(on: Wait.job)
        }
    }

    private static func work(_ state: Monitor<State>) {
        var finished: Int64?
        while true {
            var isResting = false
            let taken = state.wait(on: Wait.job) { state, bell -> (key: Int64, job: Job)?? in
                if let key = finished { state.finished(key) }
                finished = nil
                if isResting { state.resting -= 1 }
                isResting = false
                if let next = state.next() {
                    if state.pending == pendingMax - 1 { bell.wakeAll(on: Wait.room) }
                    return .some(next)
                }
                if state.pending == 0, state.running == 0 { bell.wakeAll(on: Wait.end) }
                // A lane whose job runs elsewhere may still have more: that thread goes on with it.
                if state.isStopping { return .some(nil) }
                state.resting += 1
                isResting = true
                return nil
            }
            guard let taken else { return }
            taken.job()
            finished = taken.key
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
