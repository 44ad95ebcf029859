import Foundation
import LonghaulTestSupport
import Testing

/// Some of the cases of `scripts/torture`, chosen anew each day: the command is killed at one of
/// its system calls, or the call fails, and everything comes to a right end all the same.
@Suite(.serialized, .timeLimit(.minutes(60))) struct TortureTests {
    private static let missing = ["clang", "curl", "python3"].filter {
        InstalledProgram.find($0) == nil
    }

    @Test(.enabled(if: missing.isEmpty, "skipped: there is no \(missing.joined(separator: ", "))"))
    func aSampleOfCallsKilledOrFailing() throws {
        // Cases that wait for space to come back take half a minute each.
        try torture("--sample", "24", "--without", "ENOSPC")
    }

    @Test(
        .enabled(if: missing.isEmpty, "skipped: there is no \(missing.joined(separator: ", "))"),
        .enabled(if: OwnDisk.hasLoops, "skipped: no ext4 in a file can be mounted"))
    func aSampleOfPowerCuts() throws {
        try torture("--power", "ext4", "--sample", "12")
    }

    private func torture(_ options: String...) throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let binary = try BuiltBinary.longhaul
        let server = URL(fileURLWithPath: binary).deletingLastPathComponent()
            .appendingPathComponent("LonghaulTestServer").path
        let day = Int(Date().timeIntervalSince1970 / 86_400)
        let process = Process()
        process.executableURL = root.appendingPathComponent("scripts/torture")
        process.arguments = options + ["--seed", String(day), "--jobs", "1"]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "LONGHAUL_BINARY": binary, "LONGHAUL_TEST_SERVER": server,
        ]) { _, new in new }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "seed \(day): \(text)")
    }
}
