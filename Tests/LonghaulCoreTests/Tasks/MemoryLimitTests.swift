import LonghaulCore
import Testing

/// What is said about a launch that failed under a limit of its memory.
@Suite struct MemoryLimitTests {
    private let host = LaunchedProgram.host(HostSettings(argv: ["/h"], maxMemory: 1 << 20))
    private let line = "longhaul: it may have exceeded its memory of 1048576 bytes (--max-memory)\n"

    @Test(
        arguments: [
            (LaunchEnding.exited, 0, false), (.exited, 1, true), (.signalled, 9, true),
            (.expired, nil, false), (.exceededMemory, nil, false), (.notStarted, nil, false),
            (.unknown, nil, false),
        ] as [(LaunchEnding, Int?, Bool)])
    func aHost(_ ending: LaunchEnding, _ status: Int?, says: Bool) {
        #expect(host.explained("", ending, status: status) == (says ? line : ""))
        #expect(host.explained("a", ending, status: status) == (says ? "a\n" + line : "a"))
        #expect(host.explained("a\n", ending, status: status) == "a\n" + (says ? line : ""))
        let free = LaunchedProgram.host(HostSettings(argv: ["/h"]))
        #expect(free.explained("a", ending, status: status) == "a")
    }

    /// The log of a job says it.
    @Test func aJob() {
        var settings = JobSettings(directory: "/", environment: [:])
        settings.maxMemory = 1 << 20
        let job = LaunchedProgram.job(argv: ["/j"], settings)
        #expect(job.maxMemory == 1 << 20 && job.explained("a", .exited, status: 1) == "a")
    }
}
