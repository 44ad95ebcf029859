import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Synchronization
import Testing

/// Secrets that are read for each request, and schemes that prove a password without sending it.
@Suite(.timeLimit(.minutes(60)))
struct SecretTests {
    private func secrets(
        _ fields: [String] = [], user: String? = nil, cookies: String = ""
    ) throws -> RequestSecrets {
        let texts = [
            "h": fields.joined(separator: "\n"), "u": user ?? "", "c": cookies,
        ]
        let files = SecretFiles(headers: "h", user: user == nil ? nil : "u", cookies: "c")
        return try files.secrets { path throws(SecretFileProblem) in texts[path] }
    }

    @Test func theyGoToTheFirstOriginAlone() async throws {
        let other = try ScriptedServer { _ in [answer(body: [2])] }
        let target = other.url("/there")
        let server = try ScriptedServer { _ in
            [answer("302 Found", ["Location: \(target)"], body: [])]
        }
        let wire = try Wire()
        var request = wire.request(server.url(), PartFile())
        let found = try secrets(["Authorization: Bearer one", "X-Key: two"])
        request.secrets = { .success(found) }
        #expect(try await wire.run(request).failure == nil)
        #expect(server.requests.first?.value("Authorization") == "Bearer one")
        #expect(server.requests.first?.value("X-Key") == "two")
        #expect(other.requests.count == 1)
        #expect(other.requests.first?.value("Authorization") == nil)
        #expect(other.requests.first?.value("X-Key") == nil)
    }

    @Test func cookiesGoWhereTheySay() async throws {
        let server = try ScriptedServer { request in
            request.path == "/a"
                ? [answer("302 Found", ["Location: /b/c"], body: [])] : [answer(body: [2])]
        }
        let wire = try Wire()
        let found = try secrets(
            cookies: """
                # Netscape HTTP Cookie File
                127.0.0.1\tFALSE\t/\tFALSE\t0\tall\t1
                #HttpOnly_127.0.0.1\tFALSE\t/b\tFALSE\t0\tbelow\t2
                other.example\tFALSE\t/\tFALSE\t0\tother\t4
                127.0.0.1\tFALSE\t/\tFALSE\t86400\told\t5
                """)
        var request = wire.request(server.url("/a"), PartFile())
        request.secrets = { .success(found) }
        #expect(try await wire.run(request).failure == nil)
        #expect(server.requests.map { $0.value("Cookie") } == ["all=1", "below=2; all=1"])
        // The handle forgets them with the request.
        #expect(try await wire.run(wire.request(server.url("/c"), PartFile())).failure == nil)
        #expect(server.requests.last?.value("Cookie") == nil)
    }

    @Test func aFileThatCannotBeReadSendsNothing() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        var request = wire.request(server.url(), PartFile())
        request.secrets = { .failure(.secretFile(.missing("/none"))) }
        #expect(try await wire.run(request).failure == .secretFile(.missing("/none")))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [HTTPAuthentication.digest, .any])
    func aDigestIsAnsweredWithoutThePassword(_ scheme: HTTPAuthentication) async throws {
        let server = try ScriptedServer { request in
            guard request.value("Authorization")?.hasPrefix("Digest ") == true else {
                return [
                    answer(
                        "401 Unauthorized",
                        ["WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""],
                        body: [9, 9])
                ]
            }
            return [answer(body: [1, 2, 3])]
        }
        let wire = try Wire()
        let file = PartFile()
        var connection = ConnectionSettings()
        connection.authentication = scheme
        var request = wire.request(server.url(), file, connection: connection)
        let found = try secrets(user: "me:secret")
        request.secrets = { .success(found) }
        let outcome = try await wire.run(request)
        #expect(outcome.failure == nil)
        #expect(outcome.heads == 1)
        #expect(file.content == [1, 2, 3])
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { !$0.fields.joined().contains("secret") })
    }

    @Test func aRefusedDigestIsTheAnswer() async throws {
        let server = try ScriptedServer { _ in
            [
                answer(
                    "401 Unauthorized",
                    ["WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""], body: [9])
            ]
        }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.user = "me:wrong"
        connection.authentication = .digest
        let outcome = try await wire.run(
            wire.request(server.url(), PartFile(), connection: connection))
        #expect(outcome.head?.status == 401)
        #expect(server.requests.count == 2)
    }
}
