import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

@Suite struct IdleSamplerTests {
    private let scratch: Scratch
    private var snapshot: ConditionContext

    init() throws {
        scratch = try Scratch()
        for name in ["proc", "proc/pressure", "dev", "dev/pts"] { try scratch.subdirectory(name) }
        snapshot = .empty(in: scratch)
        snapshot.idleSampleSeconds = (0.02, 60)
        snapshot.loadSampleSeconds = 0.02
        try load("0.00", pressure: "0.00")
    }

    private func load(_ load: String, pressure: String) throws {
        try scratch.write("\(load) 0.10 0.20 1/100 4711\n", to: "proc/loadavg")
        try scratch.write(
            "some avg10=\(pressure) avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n",
            to: "proc/pressure/cpu")
    }

    /// Somebody typed at a terminal so many seconds ago.
    private func typed(_ terminal: String, secondsAgo: Int) throws {
        let path = try scratch.write("", to: "dev/\(terminal)")
        let then = timespec(
            tv_sec: Int(SystemClock.now().wall.milliseconds / 1_000) - secondsAgo, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, path, [then, then], 0) == 0)
    }

    private static let running: ConditionInterest = [.idle, .idleEnd]

    @Test func loadMakesItBusy() throws {
        let watched = try Watched(snapshot, Self.running)
        watched.becomes(\.isIdle, true, "proc")
        try load("999.0", pressure: "0.00")
        watched.becomes(\.isIdle, false, "proc")
        try load("0.00", pressure: "80.00")
        watched.becomes(\.isIdle, false, "proc")
        try load("0.00", pressure: "0.00")
        watched.becomes(\.isIdle, true, "proc")
    }

    @Test func typingMakesItBusy() throws {
        try typed("pts/7", secondsAgo: 3_600)
        let watched = try Watched(snapshot, Self.running)
        watched.becomes(\.isIdle, true, "proc")
        try typed("pts/7", secondsAgo: 2)
        watched.becomes(\.isIdle, false, "proc")
        try typed("pts/7", secondsAgo: 301)
        watched.becomes(\.isIdle, true, "proc")
    }

    @Test func loginsCountToo() throws {
        try typed("tty3", secondsAgo: 2)
        let watched = try Watched(snapshot, Self.running)
        watched.becomes(\.isIdle, true, "proc")
        try login("tty3")
        watched.becomes(\.isIdle, false, "proc")
        try typed("tty3", secondsAgo: 1_000)
        watched.becomes(\.isIdle, true, "proc")
        // What is typed in a graphical session, no file tells.
        try login(":0")
        watched.becomes(\.isIdle, false, "proc")
    }

    /// Who waits for it looks at the moment at which it can come, and not before.
    @Test func whoWaitsLooksWhenItCanBeIdle() throws {
        try typed("pts/7", secondsAgo: 298)
        let watched = try Watched(snapshot, .idle)
        watched.becomes(\.isIdle, false, "proc")
        let told = watched.changes.count
        // Nobody looks before: this is not seen.
        try typed("pts/7", secondsAgo: 3_600)
        usleep(500_000)
        #expect(watched.changes.count == told)
        watched.becomes(\.isIdle, true, "proc", within: .seconds(4))
        let since = try #require(watched.watch.current.isIdle.since)
        let before = try #require(watched.changes.first { $0.isIdle.value == false })
        #expect(since - (try #require(before.isIdle.since)) > 0.9)
    }

    /// What wants change is a reason to look: something may be about to start or stop.
    @Test func whatIsWantedAnewIsLookedAt() throws {
        let watched = try Watched(snapshot, .idle)
        watched.becomes(\.isIdle, true, "proc")
        try typed("pts/7", secondsAgo: 2)
        usleep(200_000)
        #expect(watched.watch.current.isIdle.value == true)
        watched.watch.setInterest(Self.running)
        watched.becomes(\.isIdle, false, "proc")
        watched.watch.setInterest(.idle)
        try typed("pts/7", secondsAgo: 400)
        watched.watch.setOverrides(ConditionOverrides())
        watched.becomes(\.isIdle, true, "proc")
    }

    private func login(_ line: String) throws {
        var record = utmp()
        record.ut_type = 7
        withUnsafeMutableBytes(of: &record.ut_line) { $0.copyBytes(from: line.utf8) }
        let file = open(scratch.path("utmp"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { close(file) }
        let size = MemoryLayout<utmp>.size
        try #require(write(file, &record, size) == size)
    }

    @Test func isNotSampledWhenNobodyWaitsForIt() throws {
        let watched = try Watched(snapshot, Self.running)
        watched.becomes(\.isIdle, true, "proc")
        watched.watch.setInterest(.power)
        eventually("nobody asks any more") { watched.watch.current.isIdle == .unknown }
        let told = watched.changes.count
        try load("999.0", pressure: "99.00")
        usleep(200_000)
        #expect(watched.changes.count == told)
    }
}
