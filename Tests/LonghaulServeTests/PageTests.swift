import Foundation
import LonghaulTestSupport
import Testing

/// The page as it is sent.
@Suite struct PageTextTests {
    /// A proxy may serve it below a path of its own; it loads nothing but its data.
    @Test func itAsksRelativelyToItself() async throws {
        let served = try await ServedHome.start()
        let page = try served.send("GET", "/")
        #expect(page.body.contains("ask(\"v1/"))
        for absolute in ["\"/v1", "'/v1", "`/v1", "src=", "href=\"/", "href=\"http"] {
            #expect(!page.body.contains(absolute), "\(absolute)")
        }
        #expect(page.body.contains("<link rel=\"icon\" href=\"data:image/svg+xml,"))
        #expect(page.head.contains("img-src 'self' data:"))
        try await served.stop()
    }
}

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
