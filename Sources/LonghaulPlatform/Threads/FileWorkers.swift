internal import LonghaulModel
private import Synchronization

/// After so long without the start of a job, all threads count as occupied.
private let fileThreadsBusyMilliseconds = 100

/// A few threads for disk work that would block the engine: syncs, renames, hashing.
///
/// Jobs with one key run in the order of their submission, one at a time; jobs with different keys
/// run concurrently, in any order. Every submitted job is run, unless the process ends.
///
/// If long jobs (a sync on a slow disk, the digest of a large file) occupy all threads, more
/// threads are added while other jobs wait. Jobs on one disk never occupy all threads that there
/// may be, because that disk may hang.
package final class FileWorkers: Sendable {
    /// Syncs wait for the disk more than for a processor; more threads only add contention in its
    /// journal.
    package static let threadsDefault = 2
    /// The most jobs of one disk that run at a time.
    package static let jobsPerDiskMax = Limits.fileThreadsMaximum - 2

    package typealias Job = @Sendable () -> Void

    /// A job, the key of the jobs that it comes after, and the disk that it may have to wait for.
    package struct Work: Sendable {
        var key: Int64
        var disk: UInt64?
        var job: Job

        package init(key: Int64, disk: UInt64? = nil, _ job: @escaping Job) {
            self.key = key
            self.disk = disk
            self.job = job
        }
    }

    private struct Disk {
        var running = 0
        /// Keys with waiting jobs and none running; they become ready when fewer jobs run on this
        /// disk.
        var waiting = Fifo<Int64>()
    }

    private struct State {
        /// The jobs of each key that has any, waiting or running.
        var queues: [Int64: Fifo<Work>] = [:]
        /// The disks with a running job.
        var disks: [UInt64: Disk] = [:]
        /// Keys with waiting jobs and none running, which do not wait for their disk.
        var ready = Fifo<Int64>()
        /// The number of waiting jobs, without those running.
        var pending = 0
        var running = 0
        /// The number of jobs ever begun.
        var begun = 0
        /// Threads beyond the permanent ones.
        var extras = 0
        var extrasMax = 0
        var isStopping = false
        /// Threads that wait for a job; some may have been woken already.
        var resting = 0

        /// No job will wait for a thread any more.
        var isOver: Bool { isStopping && ready.isEmpty }

        /// True if another thread would have work.
        var isCrowded: Bool { !ready.isEmpty && resting == 0 && extras < extrasMax }

        mutating func append(_ work: Work) -> Bool {
            pending += 1
            let isListed = queues[work.key] != nil
            queues[work.key, default: Fifo()].append(work)
            if !isListed { ready.append(work.key) }
            return !isListed
        }

        private mutating func next() -> Work? {
            while let key = ready.popFirst() {
                guard let work = queues[key]?.first else {
                    preconditionFailure("a queue that is ready has a job")
                }
                if let disk = work.disk, disks[disk]?.running ?? 0 >= jobsPerDiskMax {
                    disks[disk]?.waiting.append(key)
                    continue
                }
                if let disk = work.disk { disks[disk, default: Disk()].running += 1 }
                pending -= 1
                running += 1
                begun += 1
                return queues[key]?.popFirst()
            }
            return nil
        }

        /// The next job of a thread that has `finished` one.
        mutating func next(
            after finished: inout Work?, _ bell: Monitor<State>.Bell
        ) -> Work? {
            if let work = finished {
                self.finished(work.key)
                // Beside the queue of this thread, another one may have become ready.
                if let disk = work.disk, leave(disk), resting > 0 { bell.wakeOne(on: Wait.job) }
            }
            finished = nil
            let next = next()
            if next != nil, pending == Limits.pendingFileJobs - 1 { bell.wakeAll(on: Wait.room) }
            if isCrowded { bell.wakeOne(on: Wait.crowd) }
            if next == nil, pending == 0, running == 0 { bell.wakeAll(on: Wait.end) }
            if isOver {
                bell.wakeAll(on: Wait.crowd)
                bell.wakeAll(on: Wait.over)
            }
            return next
        }

        /// True if a waiting key of that disk has become ready.
        private mutating func leave(_ disk: UInt64) -> Bool {
            disks[disk]?.running -= 1
            if let key = disks[disk]?.waiting.popFirst() {
                ready.append(key)
                return true
            }
            if disks[disk]?.running == 0 { disks[disk] = nil }
            return false
        }

        private mutating func finished(_ key: Int64) {
            running -= 1
            if queues[key]?.isEmpty == false {
                ready.append(key)
            } else {
                queues[key] = nil
            }
        }
    }

    /// The conditions that threads wait for: a job; room for one; the end of all jobs; more jobs
    /// than threads; the end of all waiting jobs.
    private enum Wait {
        static let job = 0
        static let room = 1
        static let end = 2
        static let crowd = 3
        static let over = 4
        static let count = 5
    }

    private final class Threads: Sendable {
        let all = Mutex<[SystemThread]>([])

        var includeCurrent: Bool { all.withLock { $0.contains { $0.isCurrent } } }

        func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
            let thread = try SystemThread(name: name, body)
            all.withLock { $0.append(thread) }
        }

        func removeCurrent() {
            all.withLock { $0.removeAll { $0.isCurrent } }
        }
    }

    private let state = Monitor(State(), conditions: Wait.count)
    private let threads = Threads()

    package init(threads count: Int = threadsDefault) throws(SystemFailure) {
        precondition(count > 0)
        let (state, threads) = (state, threads)
        state.change { state, _ in state.extrasMax = Limits.fileThreadsMaximum - count }
        do {
            for number in 1...count {
                try threads.start("longhaul-disk-\(number)") { Self.work(state) }
            }
            try threads.start("longhaul-disks") { Self.watch(state, threads) }
        } catch {
            Self.close(state)
            throw error
        }
    }

    /// Runs `job` on one of the threads, after all earlier jobs with this key.
    ///
    /// Blocks while ``Limits/pendingFileJobs`` jobs wait, but not in a job. Must not be called
    /// after ``stop()``, except by a job submitted before.
    package func submit(key: Int64, _ job: @escaping Job) {
        submit([Work(key: key, job)])
    }

    /// ``submit(key:_:)`` for several jobs, in this order.
    package func submit(_ jobs: [Work]) {
        let isWorker = threads.includeCurrent
        state.wait(on: Wait.room) { state, bell -> Void? in
            precondition(!state.isStopping || isWorker, "no job is submitted after stop()")
            // A worker that waited for room could wait for itself.
            if state.pending >= Limits.pendingFileJobs, !isWorker { return nil }
            var toWake = state.resting
            for work in jobs where state.append(work) && toWake > 0 {
                bell.wakeOne(on: Wait.job)
                toWake -= 1
            }
            if state.isCrowded { bell.wakeOne(on: Wait.crowd) }
            return ()
        }
    }

    /// Returns when every job submitted before has run. Must not be called by a job.
    package func drain() {
        state.wait(on: Wait.end) { state, _ in
            state.pending == 0 && state.running == 0 ? () : nil
        }
    }

    /// Drains, then ends the threads. A second call returns at once.
    package func stop() {
        Self.close(state)
        for thread in threads.all.withLock({ $0 }) { thread.join() }
        // The watch, which has ended now, may have added threads meanwhile.
        state.wait(on: Wait.end) { state, _ in state.extras == 0 ? () : nil }
    }

    package var pendingCount: Int { state.change { state, _ in state.pending + state.running } }

    deinit {
        Self.close(state)
    }

    // MARK: -

    private static func close(_ state: Monitor<State>) {
        state.change { state, bell in
            state.isStopping = true
            for wait in [Wait.job, Wait.crowd, Wait.over] { bell.wakeAll(on: wait) }
        }
    }

    /// Adds a thread if no present thread has begun a job for a while.
    private static func watch(_ state: Monitor<State>, _ threads: Threads) {
        while true {
            let begun = state.wait(on: Wait.crowd) { state, _ -> Int?? in
                if state.isOver { return .some(nil) }
                return state.isCrowded ? .some(state.begun) : nil
            }
            guard let begun else { return }
            state.pause(on: Wait.over, milliseconds: fileThreadsBusyMilliseconds) {
                $0.isOver
            }
            let isNeeded = state.change { state, _ in
                let isNeeded = state.isCrowded && state.begun == begun
                if isNeeded { state.extras += 1 }
                return isNeeded
            }
            if !isNeeded { continue }
            do {
                try threads.start("longhaul-disk-x") { help(state, threads) }
            } catch {
                // No memory or thread is available; the present threads have to do.
                helped(state)
            }
        }
    }

    /// An additional thread; it ends when there is no job for it.
    private static func help(_ state: Monitor<State>, _ threads: Threads) {
        var finished: Work?
        while let next = state.change({ $0.next(after: &finished, $1) }) {
            next.job()
            finished = next
        }
        threads.removeCurrent()
        helped(state)
    }

    private static func helped(_ state: Monitor<State>) {
        state.change { state, bell in
            state.extras -= 1
            bell.wakeAll(on: Wait.end)
            bell.wakeAll(on: Wait.crowd)
        }
    }

    private static func work(_ state: Monitor<State>) {
        var finished: Work?
        while true {
            var isResting = false
            let taken = state.wait(on: Wait.job) { state, bell -> Work?? in
                if isResting { state.resting -= 1 }
                isResting = false
                if let next = state.next(after: &finished, bell) { return .some(next) }
                // If a job of a queue runs in another thread, that thread continues with the queue.
                if state.isStopping { return .some(nil) }
                state.resting += 1
                isResting = true
                return nil
            }
            guard let taken else { return }
            taken.job()
            finished = taken
        }
    }
}

/// First in, first out, with both ends in constant time.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        // The removed half is dropped once it is the larger one: each element is moved at most
        // once.
        if head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
