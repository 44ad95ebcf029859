import Foundation
import LonghaulTestSupport
import Testing

/// Jobs of an engine in somebody else's program: the supervisor is `longhaul`, never that program.
@Suite(.timeLimit(.minutes(60))) struct EmbeddedJobTests {
    private static let embedder = "LonghaulTestSession"

    @Test func anotherProgramsEngineRunsThem() async throws {
        let jobs = try JobHome()
        try await jobs.run(
            "job", "add", "j", "--no-start", "--", "sh", "-c",
            "readlink /proc/$PPID/exe; exit 3")
        let engine = try CLIProcess(
            BuiltBinary.named(Self.embedder), [jobs.home.state, "stay"],
            environment: jobs.home.environment)
        try await eventually("it has failed by itself") {
            try await jobs.lastRun("j")["exitStatus"] == 3
        }
        #expect(try await jobs.log("j").first?.hasSuffix("/longhaul") == true)
        engine.send(SIGKILL)
        try await engine.wait()
    }

    /// Without `longhaul` the run could not be started, and says what to install.
    @Test func aMissingSupervisorIsNamed() async throws {
        let jobs = try JobHome()
        try await jobs.run(
            "job", "add", "j", "--no-start", "--env", "PATH=/nowhere", "--", "/bin/sh", "-c",
            "exit 3")
        let alone = jobs.home.scratch(Self.embedder)
        try await BuiltBinary.copy(BuiltBinary.named(Self.embedder), to: alone)
        var environment = jobs.home.environment
        environment["PATH"] = "/usr/bin:/bin"
        let engine = try CLIProcess(alone, [jobs.home.state, "stay"], environment: environment)
        try await eventually("it was not started") {
            try await jobs.run("host", "show", "j", "--json").output.contains("install it")
        }
        #expect(jobs.lines("started").isEmpty)
        engine.send(SIGKILL)
        try await engine.wait()
    }

    /// The argument of a supervisor means nothing to a program that links the library.
    @Test(arguments: [[], ["--", "x"]]) func noOtherProgramBecomesASupervisor(
        before: [String]
    ) async throws {
        let scratch = try Scratch("supervisor")
        let supervised =
            ["--longhaul-job-run", "1000", "0", "/", "/bin/touch", scratch("supervised")]
        let program = try CLIProcess(
            BuiltBinary.named(Self.embedder), before + supervised, directory: scratch.path)
        #expect(try await program.wait().status != 0)
        #expect(!FileManager.default.fileExists(atPath: scratch("supervised")))
    }
}
