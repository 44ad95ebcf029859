import Foundation
import LonghaulTestSupport
import Testing

/// Servers that are down do not stand before one that works, however many they are and however much
/// is wanted of them.
@Suite(.timeLimit(.minutes(3))) struct DeadServersTests {
    /// Nothing listens there. Each address is an origin of its own.
    private func dead(_ number: Int) -> String {
        "http://127.99.\(number / 250).\(number % 250 + 1):9"
    }

    @Test func hundredsThatRefuseHideNobody() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let refused = (0..<300).flatMap { host in
                (0..<5).map { "\(dead(host))/\(host)-\($0)" }
            }
            let good = (0..<50).map { server.url("g\($0)?size=1K&seed=\($0)") }
            let list = (refused + good).joined(separator: "\n")
            #expect(try await home.run("enqueue", "--no-start", "-", input: list).status == 0)
            let run = try home.start("run")
            try await eventually(within: .seconds(60), "all of the one that works is there") {
                server.log.all.count == good.count
            }
            run.send(SIGTERM)
            #expect(try await run.wait().status == 0)
            let done = try await home.run("list", "--json", "--state", "completed").rows
            #expect(done.count == good.count)
        }
    }

    /// The engine keeps a thousand origins in memory, and the store all: what was known of one is
    /// not replaced by the little that is learned of it now.
    @Test(
        .enabled(if: InstalledProgram.find("python3") != nil, "skipped: there is no python3"))
    func whatIsKnownOfThousandsIsKept() async throws {
        let home = try LonghaulHome()
        let list = (0..<1200).map { "\(dead($0))/\($0)" }.joined(separator: "\n")
        #expect(try await home.run("enqueue", "--no-start", "-", input: list).status == 0)
        _ = try await store(home, "UPDATE origin SET ignoresRanges = 1")
        let run = try home.start("run")
        try await eventually(within: .seconds(60), "each was asked") {
            try await store(home, "SELECT count(*) FROM origin WHERE failures = 0") == 0
        }
        run.send(SIGTERM)
        #expect(try await run.wait().status == 0)
        #expect(
            try await store(home, "SELECT count(*) FROM origin WHERE ignoresRanges = 1") == 1200)
    }

    /// The number that a statement answers with, if any.
    private func store(_ home: LonghaulHome, _ statement: String) async throws -> Int? {
        let result = try await CLIProcess.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sqlite3, sys
                db = sqlite3.connect(sys.argv[1] + "/queue.sqlite", isolation_level=None)
                for row in db.execute(sys.argv[2]): print(row[0])
                """, home.state, statement,
            ], environment: home.environment)
        return Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Those that take a connection and say nothing keep a place until the stall timeout.
    @Test func manyThatAreSilentLeaveRoom() async throws {
        let home = try LonghaulHome()
        let silence = try SilentListener()
        try await LoopbackServer.run { server in
            let silent = (0..<40).flatMap { host in
                (0..<10).map { "http://127.99.0.\(host + 1):\(silence.port)/\(host)-\($0)" }
            }
            let good = (0..<50).map { server.url("g\($0)?size=1K&seed=\($0)") }
            let list = (silent + good).joined(separator: "\n")
            #expect(
                try await home.run(
                    "enqueue", "--no-start", "--stall-timeout", "3s", "-", input: list
                ).status == 0)
            let run = try home.start("run")
            try await eventually(within: .seconds(90), "all of the one that works is there") {
                server.log.all.count == good.count
            }
            run.send(SIGTERM)
            #expect(try await run.wait().status == 0)
            // Each was heard once before it was its turn, a few a second and a third time.
            let rows = try await home.run("list", "--json", "--all").rows
            let attempts = rows.compactMap { $0["attempts"].int }.reduce(0, +) - good.count
            #expect(attempts <= 40 + 3 * 4 + 16, "\(attempts) requests went before it")
        }
    }
}

/// Listens on every address of this machine and never takes what the kernel has accepted.
private final class SilentListener {
    private(set) var port = 0
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let answer = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1024) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(answer, "a port to listen on")
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
