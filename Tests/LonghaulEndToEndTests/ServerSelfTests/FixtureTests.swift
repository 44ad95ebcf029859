import LonghaulTestSupport
import Testing

/// The borrowed servers, asked by `curl`.
@Suite(.enabled(if: CurlAnswer.isInstalled, "skipped: no curl"), .timeLimit(.minutes(60)))
struct FixtureTests {
    private let file = Representation(size: 200_000, seed: 5)

    @Suite(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    struct Nginx {
        private let file = Representation(size: 200_000, seed: 5)

        @Test func speaksPlainAndEncryptedHTTP() async throws {
            let nginx = try await NginxServer.start()
            try file.write(to: nginx.root + "/a.bin")
            #expect(try await CurlAnswer.get(nginx.http("a.bin")).body == file.bytes)

            let authority = nginx.authority.certificate
            let secure = try await CurlAnswer.get(
                nginx.https("a.bin"), "--cacert", authority, "--http2", "-r", "100-199")
            #expect(secure.status == 206)
            #expect(secure.body == file.oracle.bytes(100..<200))

            let log = try await nginx.waitForRequests(2)
            #expect(log.map { $0["protocol"] } == ["HTTP/1.1", "HTTP/2.0"])
            #expect(log[1]["range"] == "bytes=100-199")
            #expect(log[0]["bodyBytes"] == 200_000)
            #expect(try await CurlAnswer.get(nginx.https("a.bin")).exit == 60)
            await nginx.stop()
            #expect(try await CurlAnswer.get(nginx.http("a.bin")).exit == 7)
        }

        @Test(arguments: [TestAuthority.Fault.wrongName, .expired])
        func certificatesThatAreNoGood(fault: TestAuthority.Fault) async throws {
            var options = NginxServer.Options()
            options.fault = fault
            let nginx = try await NginxServer.start(options: options)
            let authority = nginx.authority.certificate
            let answer = try await CurlAnswer.get(nginx.https("a"), "--cacert", authority)
            #expect(answer.exit == 60)
            #expect(try await CurlAnswer.get(nginx.https("a"), "-k").status == 404)
        }

        @Test func clientsMayHaveToShowACertificate() async throws {
            var options = NginxServer.Options()
            options.requiresClientCertificate = true
            options.rate = 1 << 20
            let nginx = try await NginxServer.start(options: options)
            try file.write(to: nginx.root + "/a.bin")
            let authority = nginx.authority
            let url = nginx.https("a.bin")
            let refused = try await CurlAnswer.get(url, "--cacert", authority.certificate)
            #expect(refused.status == 400)
            let admitted = try await CurlAnswer.get(
                url, "--cacert", authority.certificate, "--cert", authority.client.certificate,
                "--key", authority.client.key)
            #expect(admitted.body == file.bytes)
        }
    }

    @Test(.enabled(if: FTPServer.isInstalled, "skipped: no vsftpd, or not root"))
    func ftpResumes() async throws {
        let server = try await FTPServer.start()
        try server.add("a.bin", file)
        let answer = try await CurlAnswer.get(server.url("a.bin"), "-r", "150000-")
        #expect(answer.exit == 0)
        #expect(answer.body == file.oracle.bytes(150_000..<200_000))
        #expect(server.log.contains("REST 150000"))
        #expect(try await CurlAnswer.get(server.url("none")).exit == 78)
        await server.stop()
    }

    @Test(.enabled(if: SFTPServer.isInstalled, "skipped: no sshd"))
    func sftpResumes() async throws {
        let server = try await SFTPServer.start()
        try file.write(to: server.root + "/a.bin")
        let answer = try await CurlAnswer.get(
            server.url("a.bin"), "--key", server.key, "--pubkey", server.key + ".pub",
            "--insecure", "-r", "150000-")
        #expect(answer.exit == 0)
        #expect(answer.body == file.oracle.bytes(150_000..<200_000))
        await server.stop()
    }
}
