import Foundation
import LonghaulTestSupport
import Testing

/// Servers that are down do not stand before one that works, however many they are and however much
/// is wanted of them.
@Suite(.timeLimit(.minutes(60))) struct DeadServersTests {
    /// Nothing listens there. Each address is an origin of its own.
    private func dead(_ number: Int) -> String {
        "http://127.99.\(number / 250).\(number % 250 + 1):9"
    }

    /// Enqueues these and, after them, fifty files of a server that works, and runs until all of
    /// those are there.
    private func run(
        _ home: LonghaulHome, _ urls: [String], _ options: [String] = [], within limit: Duration
    ) async throws {
        try await LoopbackServer.run { server in
            let good = (0..<Self.goodFiles).map { server.url("g\($0)?size=1K&seed=\($0)") }
            let list = (urls + good).joined(separator: "\n")
            let enqueue = try home.start(["enqueue", "--no-start"] + options + ["-"], input: list)
            #expect(try await enqueue.wait().status == 0)
            let run = try home.start("run")
            try await eventually(within: limit, "all of the one that works is there") {
                guard server.log.all.count == good.count else { return false }
                return try await home.run("list", "--json", "--state", "completed").rows.count
                    == good.count
            }
            run.send(SIGTERM)
            #expect(try await run.wait().status == 0)
        }
    }

    private static let goodFiles = 50

    @Test func hundredsThatRefuseHideNobody() async throws {
        let home = try LonghaulHome()
        let refused = (0..<300).flatMap { host in
            (0..<5).map { "\(dead(host))/\(host)-\($0)" }
        }
        try await run(home, refused, within: .seconds(60))
        let done = try await home.run("list", "--json", "--state", "completed").rows
        #expect(done.count == Self.goodFiles)
    }

    /// The engine keeps a thousand origins in memory, and the store all: what was known of one is
    /// not replaced by the little that is learned of it now.
    @Test(
        .enabled(if: InstalledProgram.find("python3") != nil, "skipped: there is no python3"))
    func whatIsKnownOfThousandsIsKept() async throws {
        let home = try LonghaulHome()
        let list = (0..<1200).map { "\(dead($0))/\($0)" }.joined(separator: "\n")
        #expect(try await home.run("enqueue", "--no-start", "-", input: list).status == 0)
        _ = try await home.stored("UPDATE origin SET ignoresRanges = 1", writing: true)
        let run = try home.start("run")
        try await eventually("each was asked") {
            try await home.stored("SELECT id FROM origin WHERE failures = 0").isEmpty
        }
        run.send(SIGTERM)
        #expect(try await run.wait().status == 0)
        let kept = try await home.stored("SELECT id FROM origin WHERE ignoresRanges = 1")
        #expect(kept.count == 1200)
    }

    /// Those that take a connection and say nothing keep a place until the stall timeout.
    @Test func manyThatAreSilentLeaveRoom() async throws {
        let home = try LonghaulHome()
        let silence = try SilentListener()
        let silent = (0..<40).flatMap { host in
            (0..<10).map { "http://127.99.0.\(host + 1):\(silence.port)/\(host)-\($0)" }
        }
        try await run(home, silent, ["--stall-timeout", "3s"], within: .seconds(90))
        // Each was heard once before it was its turn, a few a second and a third time.
        let before = try await home.stored(
            """
            SELECT a.id FROM attempt a JOIN transfer t ON t.id = a.transferID WHERE t.phase <> 3 \
            AND a.startedAt < (SELECT max(finishedAt) FROM transfer WHERE phase = 3)
            """)
        // All four hundred, where they stand before it.
        #expect(before.count <= 40 * 3, "\(before.count) requests went before it")
        #expect(!before.isEmpty)
    }
}

/// Listens on every address of this machine and never takes what the kernel has accepted.
private final class SilentListener {
    private let socket: ListeningSocket
    var port: Int { socket.port }

    init() throws {
        socket = try ListeningSocket(backlog: 1024, onEveryAddress: true)
    }

    deinit { close(socket.descriptor) }
}
