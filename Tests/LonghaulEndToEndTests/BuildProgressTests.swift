import Foundation
import LonghaulTestSupport
import Testing

/// What `scripts/longhaul` says while it builds.
@Suite(.timeLimit(.minutes(60))) struct BuildProgressTests {
    private static let library = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../scripts/lib.sh").standardized.path(percentEncoded: false)

    private static let first = """
        Fetching https://example.com/swift-log
        Fetched https://example.com/swift-log from cache (1.02s)
        Creating working copy for https://example.com/swift-log
        Building for production...
        [0/395] Copying PrivacyInfo.xcprivacy
        [12/395] Write swift-version-6A52383ED409C6A7.txt
        [13/395] Compiling CSystemd systemd.c
        [17/398] Compiling LonghaulCore Bisection.swift
        [403/404] Linking longhaul
        Build of product 'longhaul' complete! (373.80s)

        """
    private static let none = """
        [0/1] Planning build
        Building for production...
        [0/3] Write swift-version-6A52383ED409C6A7.txt
        Build of product 'longhaul' complete! (0.80s)

        """

    private func said(of log: String, _ setting: String = "build_seconds=0") async throws
        -> CLIProcess.Result
    {
        try await CLIProcess.run(
            "/bin/bash", ["-c", "source '\(Self.library)'; \(setting); build_progress"],
            input: Data(log.utf8))
    }

    @Test func tellsHowFarItIs() async throws {
        let result = try await said(of: Self.first)
        #expect(result.status == 0)
        #expect(result.output.isEmpty)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.first == "longhaul: fetching what it is built with")
        #expect(lines.contains("longhaul: building, step 17 of 398"))
        #expect(lines.last == "longhaul: building, step 403 of 404")
    }

    @Test func saysALineNowAndThen() async throws {
        let result = try await said(of: Self.first, ":")
        #expect(result.errors == "longhaul: fetching what it is built with\n")
    }

    @Test func saysNothingWhereNothingIsBuilt() async throws {
        let result = try await said(of: Self.none)
        #expect(result.errors.isEmpty && result.output.isEmpty && result.status == 0)
    }

    @Test func isOneLineOnATerminal() async throws {
        let scratch = try Scratch("progress")
        try scratch.write(Self.first, to: "log")
        let shell = "source '\(Self.library)'; build_progress < '\(scratch("log"))'"
        let result = try await CLIProcess.run(
            "/usr/bin/script", ["-qec", "bash -c \"\(shell)\"", "/dev/null"],
            environment: ["TERM": "xterm", "PATH": "/usr/bin:/bin"])
        #expect(!result.output.contains("\n"))
        #expect(result.output.contains("\r\u{1B}[Klonghaul: building, step 17 of 398 ("))
        #expect(result.output.hasSuffix("\r\u{1B}[K"))
    }
}
