import Foundation
import LonghaulTestSupport
import Testing

/// Uploads over FTP to vsftpd and over SFTP to OpenSSH: killed on the way, the file is whole in the
/// end, and nothing else is left beside it.
@Suite(.serialized, .timeLimit(.minutes(60))) struct FileUploadTests {
    private static let content = Representation(size: 8 << 20, seed: 6)
    private static let small = Representation(size: 10_000, seed: 7)

    /// One of the servers, and what is needed to get in.
    private struct Site {
        let root: String
        let options: [String]
        let home: LonghaulHome
        let url: (String) -> String
        let stop: () async -> Void
    }

    private func ftp() async throws -> Site {
        let server = try await FTPServer.start()
        return try Site(
            root: server.root + "/in", options: [], home: LonghaulHome(),
            url: { server.url("in/" + $0) }, stop: { await server.stop() })
    }

    private func sftp() async throws -> Site {
        let server = try await SFTPServer.start()
        let home = try LonghaulHome()
        _ = try home.scratch.directory(".ssh")
        try FileManager.default.copyItem(
            atPath: server.knownHosts, toPath: home.scratch(".ssh/known_hosts"))
        return Site(
            root: server.root, options: ["--key", server.key], home: home,
            url: { server.url($0) }, stop: { await server.stop() })
    }

    @Test(.enabled(if: FTPServer.isInstalled, "skipped: no vsftpd, or not root"))
    func filesArriveOverFTP() async throws {
        let site = try await ftp()
        try await check(site)
        await site.stop()
    }

    @Test(.enabled(if: SFTPServer.isInstalled, "skipped: no sshd"))
    func filesArriveOverSFTP() async throws {
        let site = try await sftp()
        try await check(site)
        await site.stop()
    }

    private func check(_ site: Site) async throws {
        try await upload(site, "a b.bin", Self.small)
        try await upload(site, "empty", Representation(size: 0, seed: 1))
        // What stands there is replaced.
        try await upload(site, "a b.bin", Representation(size: 20_000, seed: 8))
        try await survivesAKill(site)
        try await isDeletedWhenUnwanted(site, isRemoved: false)
        try await isDeletedWhenUnwanted(site, isRemoved: true)
        let missing = try await run(site, "upload", "--wait", "--json", "small", "no/a")
        #expect(missing.status == 1)
        let error = try #require(try missing.rows.last?["error"])
        #expect(error["message"].string?.contains("no such directory") == true, "\(error)")
        #expect(Set(try names(site)) == ["a b.bin", "empty", "killed.bin"])
    }

    private func upload(_ site: Site, _ name: String, _ file: Representation) async throws {
        try file.write(to: site.home.file("small"))
        let target = name.replacingOccurrences(of: " ", with: "%20")
        let result = try await run(site, "upload", "--wait", "-q", "small", target)
        #expect(result.status == 0, "\(name): \(result.errors)")
        try file.verify(file: "\(site.root)/\(name)")
    }

    private func survivesAKill(_ site: Site) async throws {
        try Self.content.write(to: site.home.file("large"))
        let enqueued = try await run(
            site, "upload", "--json", "--limit-rate", "2M", "large", "killed.bin")
        let id = try #require(try enqueued.rows.first?["id"].int)
        let first = try site.home.start("run")
        try await eventually("some bytes; \(first.errors)") { try size(site) > 1 << 20 }
        first.send(SIGKILL)
        _ = try await first.wait()
        #expect(try await site.home.run("set", "\(id)", "--limit-rate", "none").status == 0)
        let second = try await site.home.start("run").wait()
        #expect(second.status == 0, "\(second.errors)")
        try Self.content.verify(file: "\(site.root)/killed.bin")
        let shown = try #require(try await site.home.run("show", "\(id)", "--json").rows.first)
        #expect(shown["state"] == "completed" && shown["restarts"] == 0, "\(shown)")
        // No byte that the server had was sent again, but for what the kernel had taken.
        #expect(shown["bytesFetched"].int ?? .max <= Self.content.size + 1 << 20, "\(shown)")
    }

    private func isDeletedWhenUnwanted(_ site: Site, isRemoved: Bool) async throws {
        let enqueued = try await run(
            site, "upload", "--json", "--limit-rate", "500K", "large", "cancelled.bin")
        let id = try #require(try enqueued.rows.first?["id"].int)
        let engine = try site.home.start("daemon")
        try await eventually("some bytes; \(engine.errors)") { try size(site) > 100_000 }
        let keeps = isRemoved ? ["--keep-bytes"] : []
        _ = try await site.home.start(["cancel", "\(id)"] + keeps).wait()
        if isRemoved {
            try await eventually("it is removed") {
                try await site.home.run("remove", "\(id)").status == 0
            }
        }
        try await eventually("it is deleted") { try temporary(site) == nil }
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    // MARK: - Files at the server

    private func names(_ site: Site) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: site.root)
    }

    private func temporary(_ site: Site) throws -> String? {
        try names(site).first { $0.hasSuffix(".longhaul-part") }
    }

    private func size(_ site: Site) throws -> Int {
        guard let name = try temporary(site) else { return 0 }
        let facts = try FileManager.default.attributesOfItem(atPath: "\(site.root)/\(name)")
        return facts[.size] as? Int ?? 0
    }

    /// - Parameter words: The last one is the name at the server.
    private func run(_ site: Site, _ words: String...) async throws -> CLIProcess.Result {
        let url = site.url(words.last ?? "")
        return try await site.home.start(words.dropLast() + [url] + site.options).wait()
    }
}
