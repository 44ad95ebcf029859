import Glibc
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulPlatform

@Suite struct FileWorkersTests {
    @Test func runsTheJobsOfAKeyInOrder() throws {
        let workers = try FileWorkers(threads: 4)
        defer { workers.stop() }
        let seen = Mutex<[Int64: [Int]]>([:])
        for number in 1...200 {
            for key in Int64(1)...10 {
                workers.submit(key: key) {
                    if number % 50 == 0 { usleep(200) }
                    seen.withLock { $0[key, default: []].append(number) }
                }
            }
        }
        workers.drain()
        let result = seen.withLock { $0 }
        #expect(result.count == 10)
        #expect(result.values.allSatisfy { $0 == Array(1...200) })
    }

    @Test func runsOneJobOfAKeyAtATime() throws {
        let workers = try FileWorkers(threads: 4)
        defer { workers.stop() }
        let running = Atomic(0)
        let most = Mutex(0)
        for _ in 1...200 {
            workers.submit(key: 1) {
                let now = running.add(1, ordering: .relaxed).newValue
                most.withLock { $0 = max($0, now) }
                sched_yield()
                running.subtract(1, ordering: .relaxed)
            }
        }
        workers.drain()
        #expect(most.withLock { $0 } == 1)
    }

    /// Each job waits for the other one: they can only end at once.
    @Test func runsJobsOfTwoKeysAtOnce() throws {
        let workers = try FileWorkers()
        defer { workers.stop() }
        let here = Atomic(0)
        let met = Atomic(0)
        for key in Int64(1)...2 {
            workers.submit(key: key) {
                here.add(1, ordering: .relaxed)
                for _ in 1...10_000 where here.load(ordering: .relaxed) < 2 { usleep(1_000) }
                if here.load(ordering: .relaxed) == 2 { met.add(1, ordering: .relaxed) }
            }
        }
        workers.drain()
        #expect(met.load(ordering: .relaxed) == 2)
    }

    /// All threads are kept by jobs that wait for the last one.
    @Test(arguments: [2, Limits.fileThreadsMaximum - 1])
    func aJobIsRunBesideThoseThatTakeLong(_ kept: Int) throws {
        let workers = try FileWorkers()
        let isOpen = Atomic(false)
        let helped = Atomic(0)
        for key in 1...Int64(kept) {
            workers.submit(key: key) {
                for _ in 1...10_000 where !isOpen.load(ordering: .relaxed) { usleep(1_000) }
                if isOpen.load(ordering: .relaxed) { helped.add(1, ordering: .relaxed) }
            }
        }
        workers.submit(key: 100) { isOpen.store(true, ordering: .relaxed) }
        workers.stop()
        #expect(helped.load(ordering: .relaxed) == kept)
        #expect(workers.pendingCount == 0)
    }

    /// All that wait for a disk which hangs are more than there may be threads.
    @Test func aJobIsRunBesideADiskThatHangs() throws {
        let workers = try FileWorkers()
        let isOpen = Atomic(false)
        let helped = Atomic(0)
        let kept = Limits.fileThreadsMaximum * 2
        for key in 1...Int64(kept) {
            let work = FileWorkers.Work(key: key, disk: 7) {
                for _ in 1...10_000 where !isOpen.load(ordering: .relaxed) { usleep(1_000) }
                if isOpen.load(ordering: .relaxed) { helped.add(1, ordering: .relaxed) }
            }
            workers.submit([work])
        }
        for disk in [UInt64(8), 9] {
            workers.submit([
                FileWorkers.Work(key: Int64(disk) * 100, disk: disk) {
                    isOpen.store(true, ordering: .relaxed)
                }
            ])
        }
        workers.stop()
        #expect(helped.load(ordering: .relaxed) == kept)
        #expect(workers.pendingCount == 0)
    }

    @Test func aJobMaySubmitMore() throws {
        let workers = try FileWorkers(threads: 1)
        defer { workers.stop() }
        let count = Atomic(0)
        // More than may wait: a job that waited for room on the only thread would wait for ever.
        workers.submit(key: 0) {
            for _ in 1...(Limits.pendingFileJobs + 10) {
                workers.submit(key: 0) { count.add(1, ordering: .relaxed) }
            }
        }
        workers.drain()
        #expect(count.load(ordering: .relaxed) == Limits.pendingFileJobs + 10)
    }

    @Test func whoSubmitsTooMuchWaits() throws {
        let workers = try FileWorkers(threads: 1)
        defer { workers.stop() }
        let gate = Atomic(false)
        workers.submit(key: 0) {
            while !gate.load(ordering: .relaxed) { usleep(100) }
        }
        eventually("the first job runs") { workers.pendingCount == 1 }
        let submitted = Atomic(0)
        let extra = 5
        let submitter = try SystemThread(name: "submitter") {
            // One may run, so the bound is reached with all but the last ones of these.
            for number in 1...(Limits.pendingFileJobs + extra) {
                workers.submit(key: Int64(number)) {}
                submitted.add(1, ordering: .relaxed)
            }
        }
        eventually("the queue fills") {
            submitted.load(ordering: .relaxed) >= Limits.pendingFileJobs
        }
        usleep(20_000)
        #expect(submitted.load(ordering: .relaxed) < Limits.pendingFileJobs + extra)
        gate.store(true, ordering: .relaxed)
        submitter.join()
        #expect(submitted.load(ordering: .relaxed) == Limits.pendingFileJobs + extra)
    }

    @Test func stoppingRunsWhatWasSubmitted() throws {
        let workers = try FileWorkers()
        let count = Atomic(0)
        for key in Int64(1)...500 {
            workers.submit(key: key % 7) { count.add(1, ordering: .relaxed) }
        }
        workers.stop()
        #expect(count.load(ordering: .relaxed) == 500)
        #expect(workers.pendingCount == 0)
        workers.stop()
    }

    @Test func fifoKeepsOrderThroughManyRounds() {
        var fifo = Fifo<Int>()
        var next = 0
        var expected = 0
        for round in 1...300 {
            for _ in 0..<(round % 7) {
                fifo.append(next)
                next += 1
            }
            for _ in 0..<(round % 5) where expected < next {
                #expect(fifo.popFirst() == expected)
                expected += 1
            }
        }
        while expected < next {
            #expect(fifo.popFirst() == expected)
            expected += 1
        }
        #expect(fifo.popFirst() == nil)
        #expect(fifo.isEmpty)
    }
}
