import Foundation
import LonghaulTestSupport
import Testing

/// The page in a browser.
@Suite(
    .enabled(
        if: InstalledProgram.find("chromium") != nil, "skipped: no chromium (Debian: chromium)"))
struct PageTests {
    @Test func itAddsWatchesPausesAndSaysWhy() async throws {
        guard await PythonEnvironment.isReady else { return }
        let chromium = try #require(InstalledProgram.find("chromium"))
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            var words = [chromium, "\(served.port)", server.url("slow.bin?size=20M")]
            let environment = ProcessInfo.processInfo.environment
            if let pictures = environment["LONGHAUL_PICTURES"] { words.append(pictures) }
            let end = try await PythonEnvironment.run("page-client.py", words)
            #expect(end.output == "OK\n", "\(end.errors)\(end.output)\(served.process.errors)")
            try await served.stop()
        }
    }
}
