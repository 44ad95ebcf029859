import Foundation
import LonghaulTestSupport
import Testing

/// What is not plain HTTP: FTP and SFTP resume by size, time and overlap, TLS identities and
/// redirects out of TLS are refused.
@Suite(.serialized, .timeLimit(.minutes(60))) struct ProtocolTests {
    private static let content = Representation(size: 8 << 20, seed: 6)
    private static let changed = Representation(size: 8 << 20, seed: 7)

    // MARK: - FTP and SFTP

    /// What becomes of the file while the first engine is dead.
    enum Change: CaseIterable, Sendable {
        case none
        case another
        /// Of the same size, and with the old one's time, as `cp -p` leaves it.
        case anotherOfTheSameTime

        static let before: Double = 1_700_000_000
        var time: Double { self == .another ? Self.before + 900 : Self.before }
    }

    @Test(
        .enabled(if: FTPServer.isInstalled, "skipped: no vsftpd, or not root"),
        arguments: Change.allCases)
    func ftp(change: Change) async throws {
        let server = try await FTPServer.start()
        try server.add("a.bin", Self.content)
        try date("\(server.root)/a.bin", Change.before)
        try await resumes(server.url("a.bin"), [], LonghaulHome(), changes: change != .none) {
            try server.add("a.bin", Self.changed)
            try date("\(server.root)/a.bin", change.time)
        }
        #expect(server.log.contains("REST "))
        await server.stop()
    }

    @Test(.enabled(if: SFTPServer.isInstalled, "skipped: no sshd"), arguments: Change.allCases)
    func sftp(change: Change) async throws {
        let server = try await SFTPServer.start()
        let path = "\(server.root)/a.bin"
        try Self.content.write(to: path)
        try date(path, Change.before)
        let home = try LonghaulHome()
        _ = try home.scratch.directory(".ssh")
        try FileManager.default.copyItem(
            atPath: server.knownHosts, toPath: home.scratch(".ssh/known_hosts"))
        let options = ["--key", server.key]
        try await resumes(server.url("a.bin"), options, home, changes: change != .none) {
            try Self.changed.write(to: path)
            try date(path, change.time)
        }
        // A host that nobody vouched for.
        try home.scratch.write("", to: ".ssh/known_hosts")
        let refused = try await home.start(
            ["get", "--json", server.url("a.bin"), "-o", home.file("b.bin")] + options
        ).wait()
        #expect(refused.status == 1)
        #expect(try refused.rows.last?["error"]["code"] == "tls", "\(refused.output)")
        await server.stop()
    }

    /// Killed on the way, which is long for the first engine, and taken up by the next.
    private func resumes(
        _ url: String, _ options: [String], _ home: LonghaulHome, changes: Bool,
        _ change: () throws -> Void
    ) async throws {
        let enqueued = try await home.start(
            ["enqueue", url, "-o", home.file("a.bin"), "--limit-rate", "512K"] + options
        ).wait()
        #expect(enqueued.status == 0, "\(enqueued.errors)")
        let first = try home.start("run")
        let part = "files/.a.bin.1.longhaul-part"
        try await eventually("some bytes; \(first.errors)") {
            home.scratch.size(of: part) ?? 0 > 1 << 20
        }
        first.send(SIGKILL)
        _ = try await first.wait()
        #expect(try await home.run("set", "1", "--limit-rate", "none").status == 0)
        if changes { try change() }
        let second = try await home.start("run").wait()
        #expect(second.status == 0, "\(second.errors)")
        try (changes ? Self.changed : Self.content).verify(file: home.file("a.bin"))
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["state"] == "completed" && shown["restarts"] == (changes ? 1 : 0))
        if !changes {
            #expect(shown["bytesFetched"].int ?? 0 <= Self.content.size + 1 << 20, "\(shown)")
        }
    }

    private func date(_ path: String, _ seconds: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: path)
    }

    // MARK: - TLS

    @Test(
        .enabled(if: NginxServer.isInstalled, "skipped: no nginx"),
        arguments: [TestAuthority.Fault.wrongName, .expired, nil])
    func aServerThatIsNotWhoItSays(_ fault: TestAuthority.Fault?) async throws {
        var options = NginxServer.Options()
        if let fault { options.fault = fault }
        let nginx = try await NginxServer.start(options: options)
        try Self.content.write(to: nginx.root + "/a.bin")
        let home = try LonghaulHome()
        // Without its authority nobody vouches for the third.
        let trust = fault == nil ? [] : ["--cacert", nginx.authority.certificate]
        let result = try await home.start(
            ["get", "--json", nginx.https("a.bin"), "-o", home.file("a.bin")] + trust
        ).wait()
        #expect(result.status == 1)
        let error = try #require(try result.rows.last?["error"])
        #expect(error["code"] == "tls" && error["retryable"] == false, "\(error)")
        #expect(try nginx.accessLog.isEmpty)
        // It is trusted when the user says so.
        #expect(try await home.run("set", "1", "--insecure").status == 0)
        #expect(try await home.run("retry", "1").status == 0)
        #expect(try await home.run("run").status == 0)
        try Self.content.verify(file: home.file("a.bin"))
        await nginx.stop()
    }

    /// Neither the file nor a password is asked for in the clear, because a server says so.
    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    func aRedirectOutOfTLSIsRefused() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { plain in
            var options = NginxServer.Options()
            options.extra = "location /down { return 302 \(plain.url("a.bin?size=10K")); }"
            let nginx = try await NginxServer.start(options: options)
            let result = try await home.run(
                "get", "--json", nginx.https("down"), "-o", home.file("a.bin"), "--cacert",
                nginx.authority.certificate, "--user", "me:secret")
            #expect(result.status == 1)
            let error = try #require(try result.rows.last?["error"])
            #expect(error["code"] == "unsupported", "\(error)")
            #expect(error["message"].string?.contains("from https to http") == true)
            #expect(plain.log.all.isEmpty)
            await nginx.stop()
        }
    }

    // MARK: - Segments

    /// The file changes while several connections fetch it: one that sees it stops all.
    @Test(arguments: [2, 4]) func aChangeUnderSegmentsIsNeverSpliced(connections: Int) async throws
    {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(
                "a.bin?size=64M&seed=4&etag=v1&rate=8M&stall=8M&changeafter=\(connections)")
            let get = try home.start(
                "get", "--json", url, "-o", home.file("a.bin"), "--connections",
                "\(connections)")
            try await server.log.waitForCount(connections)
            // All begun under the first version: what is cut now comes back under the second.
            await server.dropConnections()
            server.goOn()
            let result = try await get.wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url, request: 100).verify(file: home.file("a.bin"))
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"] == 1, "\(shown)")
        }
        #expect(try home.scratch.names(in: "files") == ["a.bin"])
    }

    /// A range that says 200 is a part all the same, for each of several connections.
    @Test func rangesThatForgetTheirStatusAreNotSpliced() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=20M&seed=4&etag=v1&rate=8M&contentrange200")
            let get = try home.start(
                "get", "-q", url, "-o", home.file("a.bin"), "--connections", "2")
            try await server.log.waitForCount(2)
            server.goOn()
            let result = try await get.wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"] == 0, "\(shown)")
        }
    }

    /// Several servers behind one name may call the same file by different tags: the connection
    /// that meets another one brings nothing, and the first one brings it all.
    @Test(arguments: ["othertagat=2", "othertags"])
    func anotherTagForOneOfTwoLosesNothing(knob: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=64M&seed=4&etag=v1&rate=16M&\(knob)")
            let result = try await home.start(
                "get", "-q", url, "-o", home.file("a.bin"), "--connections", "2"
            ).wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url, request: 1).verify(file: home.file("a.bin"))
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"] == 0, "\(shown)")
            #expect(shown["bytesFetched"].int == 64 << 20)
            #expect(server.log.count == 2)
        }
    }
}
