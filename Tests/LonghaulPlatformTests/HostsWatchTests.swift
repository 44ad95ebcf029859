import Foundation
import Glibc
import LonghaulCore
import LonghaulTestSupport
import Synchronization
import Testing

@testable import LonghaulPlatform

/// The processes of launches, without an engine.
@Suite(.timeLimit(.minutes(60))) struct HostsWatchTests {
    private final class Notices: Sendable {
        private let all = Mutex<[HostNotice]>([])

        func add(_ notice: HostNotice) { all.withLock { $0.append(notice) } }

        var ends: [(Int64, ProcessEnd, String)] {
            all.withLock { $0 }.compactMap { notice in
                if case .ended(let id, let end, let output, _) = notice {
                    (id, end, output)
                } else {
                    nil
                }
            }
        }

        var lines: [String] {
            all.withLock { $0 }.compactMap { notice in
                if case .line(_, let line) = notice {
                    String(decoding: line, as: UTF8.self)
                } else {
                    nil
                }
            }
        }
    }

    private let scratch: LonghaulTestSupport.Scratch
    private let notices = Notices()
    private let watch: HostsWatch

    init() throws {
        scratch = try LonghaulTestSupport.Scratch("hosts")
        let notices = notices
        watch = try HostsWatch(directory: scratch.path, keeping: 200) { notices.add($0) }
    }

    private func make(
        _ id: Int64, _ script: String, input text: String = "", begins: Bool = true
    ) async throws -> ProcessIdentity {
        try await make(id, argv: ["/bin/sh", "-c", script], input: text, begins: begins)
    }

    private func make(
        _ id: Int64, argv: [String], environment: [String: String] = [:], input text: String = "",
        begins: Bool = true
    ) async throws -> ProcessIdentity {
        let path = scratch.path
        let environment = environment.merging(["MARK": path]) { $1 }
        let made = Mutex<Result<ProcessIdentity, any Error>?>(nil)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            watch.perform { loop in
                let result = Result<ProcessIdentity, any Error> {
                    let input = try HostInput(in: DirectoryHandle(opening: path))
                    try input.append(Array(text.utf8))
                    return try loop.make(
                        id,
                        HostExecutable(argv: argv, environment: environment),
                        input: input, marks: ["MARK=\(path)"])
                }
                if begins { loop.begin(id) }
                made.withLock { $0 = result }
                done.resume()
            }
        }
        return try #require(made.withLock { $0 }).get()
    }

    @Test(arguments: [
        ("echo hello\n", "begins with no #! line"),
        ("#!/usr/bin/no-such-thing -x\n", "its interpreter /usr/bin/no-such-thing is not there"),
        ("#! /bin/sh\r\necho hello\r\n", "/bin/sh\\r is not there: its lines end with"),
        ("#!/etc\n", "may not be executed"),
        ("\u{7F}ELF", "no program of this machine"),
    ])
    func whatCannotBeExecutedSaysWhy(_ text: String, _ reason: String) async throws {
        let path = try scratch.write(text, to: "host")
        chmod(path, 0o755)
        // A process that another test forks meanwhile may hold the file open for a moment.
        var launch: Int64 = 0
        repeat {
            launch += 1
            _ = try await make(launch, argv: [path])
            try await eventually { notices.ends.count == launch }
        } while launch < 20 && notices.ends.last?.2.contains("open for writing") == true
        let end = try #require(notices.ends.last)
        #expect(end.1 == .exited(127))
        // Of the output the last bytes are kept.
        #expect(end.2.contains(reason), "\(end.2)")
    }

    @Test func whatIsBeingWrittenSaysSo() async throws {
        let path = scratch("host")
        try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
        let writer = open(path, O_WRONLY)
        defer { close(writer) }
        _ = try await make(1, argv: [path])
        try await eventually { notices.ends.count == 1 }
        #expect(notices.ends.first?.2.contains("it is open for writing") == true)
    }

    /// What a service manager tells the engine is not meant for its hosts.
    @Test func theServiceManagersWordsAreKept() async throws {
        _ = try await make(
            1, argv: ["/usr/bin/env"],
            environment: [
                "NOTIFY_SOCKET": "/run/n", "WATCHDOG_PID": "1", "WATCHDOG_USEC": "2",
                "LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "LISTENER": "own",
            ])
        try await eventually { notices.ends.count == 1 }
        let lines = notices.ends.first?.2.split(separator: "\n").map(String.init) ?? []
        #expect(lines.sorted() == ["LISTENER=own", "MARK=\(scratch.path)"])
    }

    @Test func whatCannotBeMadeLeavesNothingBehind() async throws {
        _ = try scratch.directory("launch-1.err")
        let made = try? await make(1, "true")
        #expect(made == nil)
        #expect(try scratch.names() == ["launch-1.err"])
    }

    /// Of a launch that ended while no engine was there.
    @Test func whatALaunchHasLeftIsRemoved() throws {
        for name in ["launch-7.out", "launch-7.err", "launch-70.out"] {
            try scratch.write("", to: name)
        }
        HostsWatch.removeStreams(of: 7, in: scratch.path)
        #expect(try scratch.names() == ["launch-70.out"])
    }

    @Test func aMarkBehindALongEnvironmentIsFound() async throws {
        let mark = "MARK=\(scratch.path)/last"
        let long = "A=$(head -c 100000 /dev/zero | tr '\\0' x)"
        let process = try await make(1, "exec env -i \(long) '\(mark)' sleep 60")
        try await eventually { ProcessMarks.processes(with: [mark]) == [process.pid] }
        watch.perform { $0.end(1, killing: true) }
        try await eventually { notices.ends.count == 1 }
    }

    @Test func itReadsAndWrites() async throws {
        _ = try await make(1, "cat; echo error >&2; exit 3", input: "{\"a\":1}\nplain\n{\"b\"")
        try await eventually { notices.ends.count == 1 }
        let end = try #require(notices.ends.first)
        #expect(end.1 == .exited(3))
        #expect(end.2.contains("plain\n"))
        #expect(end.2.contains("error\n"))
        #expect(notices.lines == ["{\"a\":1}", "{\"b\""])
        #expect(try scratch.names() == [])
    }

    @Test func onlyTheLastIsKept() async throws {
        _ = try await make(1, "seq 1 1000; echo ä")
        try await eventually { notices.ends.count == 1 }
        let output = try #require(notices.ends.first?.2)
        #expect(output.hasSuffix("1000\nä\n"))
        #expect(output.utf8.count <= 203)
    }

    /// What has not begun never runs, and nothing else is harmed.
    @Test func whatIsDiscardedDoesNotRun() async throws {
        let bystander = try CLIProcess("/bin/sleep", ["60"], environment: ["OTHER": "1"])
        let process = try await make(1, "echo ran > '\(scratch.path)/ran'", begins: false)
        #expect(process.isAlive)
        watch.perform { $0.discard(1) }
        try await eventually { !process.isAlive }
        #expect(!scratch.exists("ran"))
        #expect(bystander.isRunning)
        #expect(notices.ends.isEmpty)
    }

    @Test func whatHasLeftTheGroupIsEndedToo() async throws {
        let bystander = try CLIProcess("/bin/sleep", ["60"], environment: ["OTHER": "1"])
        _ = try await make(
            1, "setsid sleep 1000 & echo $! > '\(scratch.path)/away'; sleep 1000")
        try await eventually { (scratch.size(of: "away") ?? 0) > 0 }
        let text = try scratch.text(of: "away").split(separator: "\n")
        let away = try #require(text.first.flatMap { pid_t($0) })
        watch.perform { $0.end(1, killing: true) }
        try await eventually { notices.ends.first?.1 == .signalled(SIGKILL) }
        try await eventually { ProcessIdentity.of(pid: away) == nil }
        #expect(bystander.isRunning)
    }

    /// Another watch goes on with what the first one began, its output included.
    @Test func adoption() async throws {
        let process = try await make(
            1, "while [ ! -e '\(scratch.path)/go' ]; do sleep 0.02; done; echo late; exit 4")
        watch.stop()
        let seen = Notices()
        let next = try HostsWatch(directory: scratch.path, keeping: 100) { seen.add($0) }
        let marks = ["MARK=\(scratch.path)"]
        let isAdopted = Mutex(false)
        next.perform { loop in
            let isThere = loop.adopt(1, process, marks: marks, log: nil)
            isAdopted.withLock { $0 = isThere }
        }
        // It would be gone before it is looked for.
        try await eventually { isAdopted.withLock { $0 } }
        try scratch.write("", to: "go")
        try await eventually { seen.ends.count == 1 }
        #expect(seen.ends.first?.2 == "late\n")
        let gone = Mutex<Bool?>(nil)
        next.perform { loop in
            let isThere = loop.adopt(2, process, marks: marks, log: nil)
            gone.withLock { $0 = !isThere }
        }
        try await eventually { gone.withLock { $0 } == true }
        next.stop()
    }

    @Test func attachment() async throws {
        #expect(!HostLock.isHeld("h", in: scratch.path))
        var locks = [
            try HostLock(of: "h", in: scratch.path), try HostLock(of: "h", in: scratch.path),
        ]
        #expect(HostLock.isHeld("h", in: scratch.path))
        locks.removeLast()
        #expect(HostLock.isHeld("h", in: scratch.path))
        locks.removeAll()
        #expect(!HostLock.isHeld("h", in: scratch.path))
    }

    @Test func obstacles() throws {
        #expect(Executable.obstacle("/bin/sh") == nil)
        #expect(Executable.obstacle("/no/such") == .missing)
        #expect(Executable.obstacle("/bin") == .notExecutable)
        #expect(Executable.obstacle(try scratch.write("x", to: "plain")) == .notExecutable)
    }
}
