import Foundation
import Glibc
import LonghaulTestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct ProcessTests {
    private func shell(
        _ script: String, environment: [String: String]? = nil, directory: String? = nil,
        input: String? = nil
    ) throws -> CLIProcess {
        try CLIProcess(
            "/bin/sh", ["-c", script], environment: environment, directory: directory,
            input: input.map { Data($0.utf8) })
    }

    @Test func whatAChildSaysAndHowItEnds() async throws {
        let result = try await shell("echo out; echo err >&2; exit 7").wait()
        #expect(result.output == "out\n")
        #expect(result.errors == "err\n")
        #expect(result.ending == .exited(7))
        #expect(result.status == 7)
    }

    @Test func aChildSeesWhatItIsGivenAndNothingElse() async throws {
        let scratch = try Scratch()
        let result = try await shell(
            "echo $A; pwd; cat; ls /proc/self/fd | wc -l; echo ${HOME:-none}",
            environment: ["A": "b", "PATH": "/usr/bin:/bin"], directory: scratch.path,
            input: "hello\n"
        ).wait()
        // The three streams, and the descriptor with which ls reads the directory.
        #expect(result.output == "b\n\(scratch.path)\nhello\n4\nnone\n")
    }

    @Test func signalsArriveAndAreReported() async throws {
        let polite = try shell(
            "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
        try await polite.waitForOutput("ready")
        polite.send(SIGTERM)
        let result = try await polite.wait()
        #expect(result.ending == .exited(3))
        #expect(result.output == "ready\nbye\n")

        let killed = try shell("echo ready; sleep 100")
        try await killed.waitForOutput("ready")
        killed.sendToGroup(SIGKILL)
        #expect(try await killed.wait().ending == .signalled(SIGKILL))
    }

    @Test func waitingIsBounded() async throws {
        let process = try shell("sleep 100")
        await #expect(throws: TimedOut.self) {
            try await process.wait(within: .milliseconds(50))
        }
        #expect(try await process.wait().ending == .signalled(SIGKILL))
    }

    @Test func nothingIsLeftBehind() async throws {
        var path = ""
        var pid: pid_t = 0
        do {
            let scratch = try Scratch()
            try scratch.write("x", to: "a")
            path = scratch.path
            let process = try shell("sleep 100")
            pid = process.pid
            #expect(process.isRunning)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(kill(pid, 0) == -1)
    }

    @Test func aMissingProgramIsAnError() {
        #expect(throws: SystemFailure.self) { try CLIProcess("/nowhere/at/all") }
        #expect(throws: BuiltBinary.NotBuilt.self) { try BuiltBinary.named("no-such-program") }
    }

    @Test func theServerRunsAsAProgram() async throws {
        let process = try CLIProcess(BuiltBinary.named("LonghaulTestServer"), ["--port", "0"])
        try await process.waitForOutput("\n")
        let words = process.output.split(whereSeparator: \.isWhitespace)
        #expect(words.prefix(2) == ["listening", "on"])
        let port = try #require(words.last.flatMap { Int($0) })
        guard CurlAnswer.isInstalled else { return }
        let url = "http://127.0.0.1:\(port)/f/a?size=5"
        #expect(try await CurlAnswer.get(url).body == ByteOracle(seed: 0).bytes(0..<5))
        try await process.waitForOutput("bodyBytesSent")
        let line = try JSONValue(process.output.split(separator: "\n")[1])
        #expect(line["target"] == "/f/a?size=5")
        #expect(line["status"] == 200)
        #expect(line["outcome"] == "sent")
        process.send(SIGTERM)
        #expect(try await process.wait().ending == .signalled(SIGTERM))
    }
}
