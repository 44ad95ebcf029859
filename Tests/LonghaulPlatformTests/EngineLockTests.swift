import Glibc
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulPlatform

@Suite struct EngineLockTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test func excludesOthersForAsLongAsItLives() throws {
        #expect(try !EngineLock.isHeld(in: scratch.path))
        var lock = try EngineLock.tryAcquire(in: scratch.path)
        #expect(lock != nil)
        #expect(try EngineLock.isHeld(in: scratch.path))
        #expect(try EngineLock.tryAcquire(in: scratch.path) == nil)
        #expect(try scratch.mode(EngineLock.fileName) == 0o600)
        lock = nil
        #expect(try !EngineLock.isHeld(in: scratch.path))
        #expect(try EngineLock.tryAcquire(in: scratch.path) != nil)
    }

    /// POSIX locks are lost when the process closes any descriptor of the file.
    @Test func isNotLostByLookingAtIt() throws {
        let lock = try EngineLock.tryAcquire(in: scratch.path)
        for _ in 1...3 {
            #expect(try EngineLock.isHeld(in: scratch.path))
            #expect(try EngineLock.tryAcquire(in: scratch.path) == nil)
        }
        withExtendedLifetime(lock) {}
    }

    @Test func lookingAtItKeepsNobodyOut() throws {
        let isDone = Atomic(false)
        let path = scratch.path
        let prober = try SystemThread(name: "prober") {
            while !isDone.load(ordering: .relaxed) { _ = try? EngineLock.isHeld(in: path) }
        }
        for _ in 1...2_000 { #expect(try EngineLock.tryAcquire(in: path) != nil) }
        isDone.store(true, ordering: .relaxed)
        prober.join()
    }

    @Test func isMadeAnewWhenItsFileIsDeleted() throws {
        let orphan = try EngineLock.open(in: scratch.directory())
        try #require(unlink(scratch.path(EngineLock.fileName)) == 0)
        guard case .deleted = try EngineLock.attempt(orphan, in: scratch.directory()) else {
            Issue.record("a lock on a deleted file keeps nobody out")
            return
        }
        #expect(try EngineLock.tryAcquire(in: scratch.path) != nil)
    }

    @Test func reportsAMissingDirectory() {
        let failure = #expect(throws: SystemFailure.self) {
            try EngineLock.tryAcquire(in: scratch.path("nowhere"))
        }
        #expect(failure?.errno == ENOENT)
    }

    @Test func doesNotFollowALink() throws {
        try scratch.write("", to: "elsewhere")
        try #require(symlink("elsewhere", scratch.path(EngineLock.fileName)) == 0)
        let failure = #expect(throws: SystemFailure.self) {
            try EngineLock.tryAcquire(in: scratch.path)
        }
        #expect(failure?.errno == ELOOP)
    }

    // MARK: - Waiting

    @Test func isHandedToAWaiter() throws {
        let lock = Mutex(try EngineLock.tryAcquire(in: scratch.path))
        let wait = try EngineLockWait(in: scratch.path)
        let waited = Mutex<Result<Bool, SystemFailure>?>(nil)
        let waiter = try SystemThread(name: "waiter") {
            let result = Result { () throws(SystemFailure) in try wait.acquire() != nil }
            waited.withLock { $0 = result }
        }
        // Long enough for the waiter to have gone to sleep mostly; both orders must do.
        usleep(50_000)
        #expect(waited.withLock { $0 } == nil)
        let released = SystemClock.now().monotonic
        lock.withLock { $0 = nil }
        waiter.join()
        #expect(waited.withLock { $0 } == .success(true))
        #expect(SystemClock.now().monotonic - released < 5)
    }

    @Test func waitingEndsWithItsTime() throws {
        let lock = try EngineLock.tryAcquire(in: scratch.path)
        let begin = SystemClock.now().monotonic
        #expect(try EngineLockWait(in: scratch.path).acquire(timeout: 0.2) == nil)
        let took = SystemClock.now().monotonic - begin
        #expect(took >= 0.2 && took < 10)
        withExtendedLifetime(lock) {}
    }

    @Test(arguments: [true, false])
    func waitingCanBeCancelled(before: Bool) throws {
        let lock = try EngineLock.tryAcquire(in: scratch.path)
        let wait = try EngineLockWait(in: scratch.path)
        let canceller = try SystemThread(name: "canceller") {
            if !before { usleep(50_000) }
            wait.cancel()
        }
        if before { canceller.join() }
        #expect(try wait.acquire() == nil)
        withExtendedLifetime(lock) {}
    }

    @Test func goesToOneOfManyWaitersAtATime() throws {
        let first = Mutex(try EngineLock.tryAcquire(in: scratch.path))
        let holders = Atomic(0)
        let most = Mutex(0)
        let rounds = Atomic(0)
        let path = scratch.path
        let waiters = try (1...6).map { number in
            try SystemThread(name: "waiter-\(number)") {
                for _ in 1...5 {
                    guard let wait = try? EngineLockWait(in: path),
                        let lock = try? wait.acquire(timeout: 30)
                    else { return }
                    let now = holders.add(1, ordering: .relaxed).newValue
                    most.withLock { $0 = max($0, now) }
                    rounds.add(1, ordering: .relaxed)
                    holders.subtract(1, ordering: .relaxed)
                    withExtendedLifetime(lock) {}
                }
            }
        }
        first.withLock { $0 = nil }
        for waiter in waiters { waiter.join() }
        #expect(rounds.load(ordering: .relaxed) == 30)
        #expect(most.withLock { $0 } == 1)
    }

    // MARK: - Other processes

    @Test func isFreedByAKillWithinASecond() throws {
        let holder = try ChildProcess(
            role: "LockHolderProcess", environment: [LockHolderProcess.variable: scratch.path])
        try eventually("the holder takes the lock") {
            try EngineLock.isHeld(in: scratch.path)
        }
        // It has started a program, which keeps what is not closed for it.
        eventually("the holder starts a program") { scratch.exists("started") }
        let program = try #require(Int32(scratch.read("started").dropLast()))
        defer { kill(program, SIGKILL) }
        let wait = try EngineLockWait(in: scratch.path)
        let killed = Mutex<Instant?>(nil)
        let killer = try SystemThread(name: "killer") { [pid = holder.pid] in
            usleep(300_000)
            killed.withLock { $0 = SystemClock.now().monotonic }
            kill(pid, SIGKILL)
        }
        #expect(try wait.acquire(timeout: 20) != nil)
        let taken = SystemClock.now().monotonic
        killer.join()
        let begin = try #require(killed.withLock { $0 })
        #expect(taken > begin, "the holder held it until it was killed")
        #expect(taken - begin < 1, "the promise is a second")
        #expect(ProcessIdentity.of(pid: program) != nil, "the program has outlived the holder")
        if Environment.value("LONGHAUL_TEST_FIGURES") != nil {
            print("lock taken over \((taken - begin) * 1_000) ms after kill -9")
        }
    }
}

/// What the process does that is started to be killed with the lock.
@Suite struct LockHolderProcess {
    static let variable = "LONGHAUL_TEST_HOLD"

    @Test(.enabled(if: Environment.value(variable) != nil, "runs in a process of its own"))
    func holdsTheLock() throws {
        let directory = try #require(Environment.value(Self.variable))
        let lock = try EngineLock.tryAcquire(in: directory)
        #expect(lock != nil)
        // Started without closing anything: what keeps it from the lock is close-on-exec alone.
        let line =
            "cd '\(directory)'; echo $$ > pid; mv pid started; exec sleep 60"
        var arguments = [strdup("sh"), strdup("-c"), strdup(line), nil]
        var pid: pid_t = 0
        #expect(posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, nil) == 0)
        // Ended by the kill; should the test be gone, after a while.
        sleep(60)
        withExtendedLifetime(lock) {}
    }
}
