import Glibc
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulPlatform

@Suite struct ProcessTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    // MARK: - Identity

    @Test func thisProcessIsAlive() {
        let current = ProcessIdentity.current
        #expect(current.pid == getpid())
        #expect(current.startTicks > 0)
        #expect(current.isAlive)
        #expect(ProcessIdentity.of(pid: getpid()) == current)
    }

    @Test func aLaterProcessWithItsNumberIsAnother() {
        var impostor = ProcessIdentity.current
        impostor.startTicks += 1
        #expect(!impostor.isAlive)
    }

    @Test func aDeadProcessIsNotAliveWhileItsStatusWaits() throws {
        let child = try ChildProcess("/bin/sleep", ["60"])
        let identity = try #require(ProcessIdentity.of(pid: child.pid))
        #expect(identity.isAlive)
        child.kill()
        eventually("it is dead, though not yet waited for") { !identity.isAlive }
        child.reap()
        #expect(!identity.isAlive)
        #expect(ProcessIdentity.of(pid: child.pid) == nil)
    }

    @Test(
        arguments: [
            ("1 (a) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77 9 9", 77, true, false),
            ("1 (a) b) (c) Z 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 78 9", 78, false, false),
            ("1 (x y) X 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 79 9", 79, false, false),
            ("1 (a) T 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 80 9", 80, true, true),
            ("1 (a) t 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 81 9", 81, true, true),
        ] as [(String, UInt64, Bool, Bool)])
    func readsTheKernelsLine(line: String, ticks: UInt64, isAlive: Bool, isStopped: Bool) throws {
        let facts = try #require(ProcessIdentity.parse(line))
        #expect(facts.startTicks == ticks)
        #expect(facts.isAlive == isAlive)
        #expect(facts.isStopped == isStopped)
    }

    @Test(arguments: ["", "1 (a", "1 (a) S 0 1", "1 (a) S 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 x"])
    func refusesWhatIsNoSuchLine(line: String) {
        #expect(ProcessIdentity.parse(line) == nil)
    }

    // MARK: - Background start

    /// Runs a shell line as a background engine would run; what it printed.
    private func output(of line: String, environment: [String: String] = [:]) throws -> String {
        let log = scratch.path("log")
        let pid = try BackgroundEngine.spawn(
            executable: "/bin/sh", arguments: ["-c", line], environment: environment, log: log)
        var status: Int32 = -1
        try #require(waitpid(pid, &status, 0) == pid)
        #expect(status == 0)
        return try scratch.read("log")
    }

    @Test func startsWithArgumentsAndEnvironmentAsGiven() throws {
        let text = try output(
            of: "echo \"$LONGHAUL_HOME|$HOME|$0\"; env | grep -c SECRET",
            environment: ["LONGHAUL_HOME": "/a b/ü", "SECRET": "1"])
        #expect(text == "/a b/ü||/bin/sh\n1\n")
        #expect(try scratch.mode("log") == 0o600)
    }

    @Test func aServiceManagersWordsAreNotHandedOn() throws {
        let text = try output(
            of: "env | grep -E 'NOTIFY|WATCHDOG|LISTEN' | sort",
            environment: [
                "NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "3", "WATCHDOG_PID": "4",
                "LISTEN_FDS": "2", "LISTEN_PID": "4", "LISTEN_FDNAMES": "a:b", "LISTEN_HERE": "1",
            ])
        #expect(text == "LISTEN_HERE=1\n")
    }

    @Test func startsInASessionOfItsOwnAtTheRoot() throws {
        let fields = try output(of: "pwd; cut -d' ' -f1,6,7 /proc/$$/stat; echo $$")
            .split(separator: "\n").map(String.init)
        try #require(fields.count == 3)
        let pid = fields[2]
        #expect(fields[0] == "/")
        // Leader of its session, without a terminal.
        #expect(fields[1] == "\(pid) \(pid) 0")
    }

    @Test func startsWithoutAnyDescriptorOfOurs() throws {
        // One that is not close-on-exec, as other parts of a program may have.
        let open = Glibc.open("/dev/null", O_RDONLY)
        defer { close(open) }
        let log = scratch.path("log")
        #expect(
            try output(of: "for f in 0 1 2; do readlink /proc/$$/fd/$f; done; ls /proc/$$/fd")
                == "/dev/null\n\(log)\n\(log)\n0\n1\n2\n")
    }

    @Test func startsWithDefaultSignals() throws {
        SignalTrap.ignoreBrokenPipes()
        let lines = try output(of: "grep -E 'Sig(Ign|Blk)' /proc/$$/status | cut -f2")
            .split(separator: "\n").map { UInt64($0, radix: 16) }
        // 32 and 33 are the C library's own, which posix_spawn ignores in the child.
        let internals: UInt64 = 0b11 << 31
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.map { $0 & ~internals } == 0 })
    }

    @Test func appendsToItsLog() throws {
        _ = try output(of: "echo one")
        #expect(try output(of: "echo two >&2") == "one\ntwo\n")
    }

    @Test func startsEvenWhenItsLogCannotBeOpened() throws {
        let pid = try BackgroundEngine.spawn(
            executable: "/bin/sh", arguments: ["-c", "exit 7"], environment: [:],
            log: "/nonexistent/log")
        var status: Int32 = -1
        try #require(waitpid(pid, &status, 0) == pid)
        #expect(status >> 8 == 7)
    }

    @Test(arguments: [
        ("/nonexistent", "start without", ENOENT), ("/etc/passwd", "posix_spawn", EACCES),
    ])
    func reportsAProgramThatCannotBeStarted(path: String, operation: String, errno: Int32) {
        let failure = #expect(throws: SystemFailure.self) {
            try BackgroundEngine.spawn(executable: path, arguments: [], environment: [:])
        }
        #expect(failure == SystemFailure(operation: operation, path: path, errno: errno))
    }

    @Test func findsItsOwnProgram() throws {
        #expect(try identity(BackgroundEngine.ownExecutable()) == identity("/proc/self/exe"))
    }
}

/// One trap at a time belongs to a process, so these run one after the other.
@Suite(.serialized) struct SignalTests {
    @Test func turnsSignalsIntoCalls() throws {
        let seen = Mutex<[Int32]>([])
        let trap = try SignalTrap([SIGUSR1, SIGUSR2]) { signal in
            seen.withLock { $0.append(signal) }
        }
        for (count, signal) in [SIGUSR1, SIGUSR2, SIGUSR1].enumerated() {
            kill(getpid(), signal)
            eventually("signal \(signal) arrives") { seen.withLock { $0.count } == count + 1 }
        }
        #expect(seen.withLock { $0 } == [SIGUSR1, SIGUSR2, SIGUSR1])
        trap.stop()
    }

    @Test func givesTheSignalsBack() throws {
        signal(SIGUSR1, SIG_IGN)
        signal(SIGUSR2, SIG_DFL)
        defer { signal(SIGUSR1, SIG_DFL) }
        let seen = Counter()
        let trap = try SignalTrap([SIGUSR1, SIGUSR2]) { _ in seen.add() }
        // Ignored when it came: ignored it stays, as under nohup.
        kill(getpid(), SIGUSR1)
        kill(getpid(), SIGUSR2)
        eventually("the other one arrives") { seen.value == 1 }
        trap.stop()
        var action = sigaction()
        sigaction(SIGUSR2, nil, &action)
        #expect(action.__sigaction_handler.sa_handler == nil)
        usleep(10_000)
        #expect(seen.value == 1)
    }

    @Test func isOneToAProcess() throws {
        let first = try SignalTrap([SIGUSR1]) { _ in }
        let failure = #expect(throws: SystemFailure.self) {
            _ = try SignalTrap([SIGUSR2]) { _ in }
        }
        #expect(failure?.errno == EBUSY)
        first.stop()
        try SignalTrap([SIGUSR2]) { _ in }.stop()
    }

    @Test func aSignalThatCannotBeCaughtIsReported() throws {
        let failure = #expect(throws: SystemFailure.self) {
            _ = try SignalTrap([SIGUSR1, SIGKILL]) { _ in }
        }
        #expect(failure?.errno == EINVAL)
        try SignalTrap([SIGUSR1]) { _ in }.stop()
    }
}
