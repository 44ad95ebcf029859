import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

/// Packages of somebody else's, with nothing but what the documents say. Their build folders stay
/// beside the tests' own, so that only the first time takes minutes.
@Suite(.timeLimit(.minutes(60))) struct SeparatePackageTests {
    @Test func thePageIsEnough() async throws {
        let scratch = try Scratch("embedder")
        let folder = try await SeparatePackage("fetch", of: Article("docs/swift.md"))
            .build(into: ".build/embedder")

        try await LoopbackServer.run { server in
            func run(_ arguments: String...) async throws -> CLIProcess.Result {
                try await start("\(folder)/debug/fetch", arguments, scratch).wait()
            }
            // What failed is said and done with; the next runs go on.
            let refused = try await run(server.url("x.bin?status=404"), scratch("x.bin"))
            #expect(refused.status == 0, "\(refused.errors)")
            #expect(refused.output.contains("failed: the server has no such file (404)"))
            #expect(!refused.output.contains("--") && !refused.output.contains("`"))
            let idle = try await run()
            #expect(idle.status == 0 && idle.output.isEmpty, "\(idle)")
            let name = "a.bin?size=3M&etag=v1"
            let result = try await run(server.url(name), scratch("a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output.hasSuffix("done: \(scratch("a.bin"))\n"))
            try expect(scratch("a.bin"), isWhole: name, of: server)
        }
    }

    /// A server's program is shut down in the middle of a download, and its next run goes on. The
    /// package has the traits for metrics and traces; a program beside it prints them.
    @Test func aServerGoesOnAndReports() async throws {
        let scratch = try Scratch("server")
        let package = try SeparatePackage("mirror", of: Article("docs/beside-a-server.md"))
        func measured(_ name: String) throws -> String {
            try String(contentsOfFile: Fixture.path("measured/\(name)"), encoding: .utf8)
        }
        try package.write(
            package.text(of: "Package.swift") + measured("Package+Measured.swift"),
            to: "Package.swift")
        try package.write(measured("Measured.swift"), to: "Sources/measured/Measured.swift")
        let folder = try await package.build(into: ".build/embedder-server")
        let mirror = "\(folder)/debug/mirror"
        try await goesOnAfterAShutdown(mirror, scratch)
        try await uploads(mirror, scratch)
        try await reports("\(folder)/debug/measured", scratch)
    }

    private func goesOnAfterAShutdown(_ mirror: String, _ scratch: Scratch) async throws {
        try await LoopbackServer.run { server in
            let name = "a.bin?size=8M&stall=4M&stalls=1&etag=v1"
            let queue = try TransferQueue(directory: scratch("state"))
            let id = TransferID(rawValue: 1)
            let first = try start(mirror, ["get", server.url(name), scratch("a.bin")], scratch)
            try await eventually("half of the file\n\(first.errors)") {
                try (queue.transfer(id)?.bytesDone ?? 0) >= 4 << 20
            }
            first.send(SIGTERM)
            let shut = try await first.wait()
            #expect(shut.status == 0, "\(shut.errors)")
            #expect(try queue.transfer(id)?.state == .waiting)

            let second = try start(mirror, [], scratch)
            try await second.waitForOutput("transferCompleted \(server.url(name))")
            second.send(SIGTERM)
            #expect(try await second.wait().status == 0)
            try expect(scratch("a.bin"), isWhole: name, of: server)
            #expect(try queue.transfer(id)?.bytesFetched == 8 << 20)
        }
    }

    private func uploads(_ mirror: String, _ scratch: Scratch) async throws {
        guard UploadServer.isInstalled else { return }
        let server = try await UploadServer.start()
        try scratch.write("content", to: "source")
        let url = server.url("plain/a")
        let process = try start(mirror, ["put", url, scratch("source")], scratch)
        try await process.waitForOutput("transferCompleted \(url)")
        process.send(SIGTERM)
        #expect(try await process.wait().status == 0)
        #expect(try String(contentsOfFile: server.file("a"), encoding: .utf8) == "content")
    }

    /// The first request is refused, the second one has the file.
    private func reports(_ measured: String, _ scratch: Scratch) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("b.bin?size=1M&status=503&statuses=1&etag=v1")
            let process = try start(
                measured, [url, scratch("b.bin")], scratch, state: "measured-state")
            let result = try await process.wait()
            try #require(result.status == 0, "\(result.errors)")
            let lines = Set(result.output.split(separator: "\n").map(String.init))
            let expected: Set = [
                "longhaul_transfers_completed 1", "longhaul_transfers_failed 0",
                "longhaul_requests 2", "longhaul_requests_failed 1", "longhaul_restarts 0",
                "longhaul_body_bytes \(1 << 20)", "longhaul_transfers waiting 0",
                "longhaul_transfers running 0", "longhaul_transfers paused 0",
                "longhaul_transfers completed 1", "longhaul_transfers failed 0",
                "longhaul_transfers cancelled 0",
            ]
            #expect(expected.subtracting(lines).isEmpty, "\(result.output)")
            let spans = lines.filter { $0.hasPrefix("longhaul.attempt client ") }.sorted()
            try #require(spans.count == 2, "\(result.output)")
            #expect(spans[0].hasPrefix("longhaul.attempt client error "), "\(spans)")
            #expect(spans[0].contains("http.response.status_code=int64(503)"), "\(spans)")
            #expect(spans[1].hasPrefix("longhaul.attempt client well "), "\(spans)")
            #expect(spans[1].contains("longhaul.body.bytes=int64(\(1 << 20))"), "\(spans)")
            // The page names each of them, and no other.
            let page = try String(
                contentsOf: Article.root.appending(path: "docs/beside-a-server.md"),
                encoding: .utf8)
            let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `longhaul_") }
            let named = Set(rows.compactMap { $0.split(separator: "`").dropFirst().first })
            #expect(named == Set(expected.compactMap { $0.split(separator: " ").first }))
        }
    }

    /// On a machine without the libraries the compiler says what to install, and so does the
    /// README.
    @Test(arguments: [
        ("CLibcurl/include/CLibcurl.h", "libcurl4-openssl-dev"),
        ("CLibcrypto/include/CLibcrypto.h", "libssl-dev"),
        ("CSQLite/CSQLite.h", "libsqlite3-dev"),
    ]) func whatIsMissingIsNamed(header: String, package: String) async throws {
        let clang = try #require(InstalledProgram.find("clang"))
        let result = try await CLIProcess.run(
            clang,
            ["-fsyntax-only", "-nostdinc", "-x", "c", Article.root.path + "/Sources/" + header])
        #expect(result.status != 0 && result.errors.contains("install \(package)"))
        let readme = try String(
            contentsOf: Article.root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.contains("`\(package)`"))
    }

    // MARK: -

    private func start(
        _ program: String, _ arguments: [String], _ scratch: Scratch, state: String = "state"
    ) throws -> CLIProcess {
        try CLIProcess(
            program, arguments,
            environment: ["PATH": "/usr/bin:/bin", "LONGHAUL_HOME": scratch(state)])
    }

    func expect(_ file: String, isWhole name: String, of server: LoopbackServer) throws {
        let content = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(try [UInt8](content) == server.expected(name).bytes)
    }
}
