import Foundation
import LonghaulTestSupport
import Testing

@testable import LonghaulServe

/// The page as it is sent.
@Suite struct PageTextTests {
    /// A proxy may serve it below a path of its own; it loads nothing but its data.
    @Test func itAsksRelativelyToItself() async throws {
        let served = try await ServedHome.start()
        let page = try served.send("GET", "/")
        #expect(page.body.contains("ask(\"v1/"))
        for absolute in ["\"/v1", "'/v1", "`/v1", "src=", "href=\"/", "href=\"http", "@import"] {
            #expect(!page.body.contains(absolute), "\(absolute)")
        }
        #expect(page.body.contains("<link rel=\"icon\" href=\"data:image/svg+xml,"))
        #expect(page.head.contains("img-src 'self' data:"))
        try await served.stop()
    }

    /// Small enough for a slow line, and without what would make markup of texts from elsewhere.
    @Test func itIsSmallAndMakesNoMarkup() {
        #expect(pageText.utf8.count <= 150 << 10, "\(pageText.utf8.count)")
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            #expect(!pageText.contains(way), "\(way)")
        }
        #expect(!pageText.contains("longhaul job"))
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
            let job = try await served.home.run(
                "job", "add", "job", "--every", "1d", "--require", "power", "--", "/bin/true")
            #expect(job.status == 0, "\(job.errors)")
            let named = try await served.home.run(
                "job", "add", "named", "--on", "power,path=/srv/in", "--settle", "30s", "--slot",
                "disk=2", "--require", "idle,network=home|office,battery=40", "--", "/bin/true")
            #expect(named.status == 0, "\(named.errors)")
            _ = try served.home.scratch.directory("files/in")
            let folder = try await served.home.run(
                "folder", "add", "scans", served.home.file("in"), server.url("in/"))
            #expect(folder.status == 0, "\(folder.errors)")
            var words = [chromium, "\(served.port)", server.url("slow.bin?size=20M")]
            let environment = ProcessInfo.processInfo.environment
            if let pictures = environment["LONGHAUL_PICTURES"] { words.append(pictures) }
            let end = try await PythonEnvironment.run(
                "page-client.py", words, within: .seconds(300))
            #expect(end.output == "OK\n", "\(end.errors)\(end.output)\(served.process.errors)")
            try await served.stop()
        }
    }

    /// As many as a queue of years may have: the page stays quick, and is used by keys.
    @Test func itKeepsTwentyThousandRows() async throws {
        guard await PythonEnvironment.isReady else { return }
        let chromium = try #require(InstalledProgram.find("chromium"))
        let served = try await ServedHome.start()
        let end = try await PythonEnvironment.run(
            "page-rows.py", [chromium, "\(served.port)", "20000"], within: .seconds(600))
        #expect(end.output == "OK\n", "\(end.errors)\(end.output)\(served.process.errors)")
        try await served.stop()
    }
}
