import Foundation
import LonghaulTestSupport
import Testing

/// A discretionary transfer on a line of its own making: network namespaces need root.
@Suite(.timeLimit(.minutes(60)), .serialized) struct YieldTests {
    static let missing: [String] = {
        let tools = ["ip", "tc", "ethtool", "nginx", "curl", "python3"]
        let places = ["/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/", "/usr/local/bin/"]
        let absent = tools.filter { tool in
            !places.contains { access($0 + tool, X_OK) == 0 }
        }
        return (geteuid() == 0 ? [] : ["root"]) + absent
    }()

    @Test(
        .enabled(if: missing.isEmpty, "skipped: there is no \(missing.joined(separator: ", "))"),
        arguments: [[], ["--uploads"]])
    func aDiscretionaryTransferGivesWayAndComesBack(_ direction: [String]) async throws {
        let script = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("scripts/bench.d/yield.py")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "python3", script.path, "--check", "--binary", try BuiltBinary.longhaul,
            ] + direction
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
    }
}
