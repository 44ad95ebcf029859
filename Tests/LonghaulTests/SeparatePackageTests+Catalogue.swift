import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

/// What the DocC catalogues show, done step by step.
extension SeparatePackageTests {
    /// The tutorial from its first command to its last, with a file that stops at its half until
    /// the program has been killed.
    @Test func theTutorialIsEnough() async throws {
        let scratch = try Scratch("tutorial")
        let package = try SeparatePackage("keep")
        // The build folder is kept. To the reader it is in its usual place.
        let built = Article.root.appending(path: ".build/embedder").path
        try FileManager.default.createSymbolicLink(
            atPath: "\(package.path)/.build", withDestinationPath: built)
        var environment = ProcessInfo.processInfo.environment
        environment["LONGHAUL_HOME"] = scratch("state")
        environment["SWIFTPM_BUILD_DIR"] = built
        let shell = try TypedShell(directory: SeparatePackage.parent, environment: environment)
        let queue = try TransferQueue(directory: scratch("state"))

        try await LoopbackServer.run { server in
            let small = "small.iso?size=1M&etag=v1"
            let big = "big.iso?size=8M&etag=v1&stall=4M&stalls=1"
            var lastRun = ""
            for step in try TutorialSteps(
                "Sources/Longhaul/Longhaul.docc/Tutorials/SurviveAKill.tutorial"
            ).steps {
                switch step {
                case .file(let path, let text): try package.write(text, to: path)
                case .commands(let commands):
                    if commands.contains("kill -9") {
                        try await eventually("half of the file has arrived") {
                            try queue.transfer(TransferID(rawValue: 2))?.bytesDone ?? 0 >= 4 << 20
                        }
                        #expect(!FileManager.default.fileExists(atPath: "\(package.path)/big.iso"))
                    }
                    let printed = shell.output.count
                    try await shell.type(
                        commands
                            .replacing(
                                "https://example.com/small.iso", with: "'\(server.url(small))'"
                            )
                            .replacing("https://example.com/big.iso", with: "'\(server.url(big))'"),
                        within: .seconds(25 * 60))
                    if commands == ".build/debug/keep\n" {
                        lastRun = String(shell.output.dropFirst(printed))
                    }
                }
            }
            try expect("\(package.path)/small.iso", isWhole: small, of: server)
            try expect("\(package.path)/big.iso", isWhole: big, of: server)
            let shown = lastRun.matches(of: /(\d+) of 8388608 bytes\n/).compactMap { Int($0.1) }
            #expect(!shown.isEmpty && shown.dropFirst().allSatisfy { $0 >= 4 << 20 }, "\(lastRun)")
            #expect(lastRun.hasSuffix("/keep/big.iso\n"), "\(lastRun)")
            // The second process has asked for the second half alone.
            let requests = server.log.requests(for: "big.iso")
            #expect(requests.map { $0["Range"] } == [nil, "bytes=4194304-"])
            #expect(requests.last?["If-Range"] == "\"v1\"")
            #expect(try queue.transfer(TransferID(rawValue: 2))?.bytesFetched == 8 << 20)
        }
    }

    /// Their programs are built, tested in the simulated world as the article does it, and run.
    @Test func theArticlesAreEnough() async throws {
        let catalogue = "Sources/Longhaul/Longhaul.docc"
        let home = try LonghaulHome().with([
            "LONGHAUL_CONDITIONS": "power=external,network=unmetered,idle=yes"
        ])
        let package = try SeparatePackage(
            "nightly", of: Article("\(catalogue)/UploadPhotos.md"),
            Article("\(catalogue)/WorkAtNight.md"),
            Article("Sources/LonghaulTesting/LonghaulTesting.docc/TestWithoutWaiting.md"))
        try package.write(
            """
            \(package.text(of: "Package.swift"))
            package.targets.append(
                .executableTarget(
                    name: "sendphotos",
                    dependencies: [.product(name: "Longhaul", package: "longhaul")]))
            """, to: "Package.swift")
        let folder = try await package.build(into: ".build/embedder", by: "test")

        let daemon = try home.start("daemon")
        try await copiesFiles("\(folder)/debug/nightly", home)
        try await sendsPhotos("\(folder)/debug/sendphotos", home)
        daemon.send(SIGTERM)
        try await daemon.wait()
    }

    private func copiesFiles(_ nightly: String, _ home: LonghaulHome) async throws {
        _ = try home.scratch.directory("files/documents")
        try home.scratch.write("a letter", to: "files/documents/letter")
        let submit = try await CLIProcess(
            nightly, [home.file("documents"), home.file("copies")], environment: home.environment
        ).wait()
        #expect(submit.status == 0, "\(submit.errors)")
        // The conditions hold, and the first run is due at once.
        try await eventually("the launch has ended") {
            let task = try TransferQueue(directory: home.state).tasks.find("backup", host: nil)
            return task?.runs.first?.result == .success
        }
        #expect(try home.scratch.text(of: "files/copies/letter") == "a letter")
    }

    private func sendsPhotos(_ sendphotos: String, _ home: LonghaulHome) async throws {
        guard UploadServer.isInstalled else { return }
        let server = try await UploadServer.start()
        _ = try home.scratch.directory("files/photos")
        for name in ["a.jpg", "b.jpg", "notes.txt"] {
            try home.scratch.write("content of \(name)", to: "files/photos/\(name)")
        }
        let send = try await CLIProcess(
            sendphotos, [home.file("photos"), server.url("plain/")],
            environment: home.environment
        ).wait()
        #expect(send.status == 0, "\(send.errors)")
        try await eventually("both photos have been sent and moved") {
            (try? home.scratch.names(in: "files/photos/sent")) == ["a.jpg", "b.jpg"]
        }
        #expect(try home.scratch.names(in: "files/photos") == ["notes.txt", "sent"])
        for name in ["a.jpg", "b.jpg"] {
            let sent = try String(contentsOfFile: server.file(name), encoding: .utf8)
            #expect(sent == "content of \(name)")
        }
    }
}
