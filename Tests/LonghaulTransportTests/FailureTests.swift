import Glibc
import LonghaulCore
import LonghaulTransport
import Testing

/// How requests end early.
@Suite(.timeLimit(.minutes(60)))
struct FailureTests {
    private func run(
        _ steps: [ScriptedServer.Step], on part: PartFile = PartFile(),
        stall: Double = 20
    ) async throws -> Outcome {
        let server = try ScriptedServer { _ in steps }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.stallTimeout = stall
        return try await wire.run(wire.request(server.url(), part, connection: connection))
    }

    private func code(_ outcome: Outcome) -> Int32? {
        guard case .curl(let code, _, _) = outcome.failure else { return nil }
        return code
    }

    @Test func aBodyThatIsCutKeepsItsBytes() async throws {
        let part = PartFile()
        let outcome = try await run(
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"), .close], on: part)
        #expect(code(outcome) == 18)  // PARTIAL_FILE
        #expect(outcome.end.writtenThrough == 10)
        #expect(part.content == Array("0123456789".utf8))
        #expect(part.segmentCell(ProgressCell.written) == 10)
    }

    @Test func aConnectionThatIsResetTellsTheErrno() async throws {
        let server = try ScriptedServer { _ in
            [
                .send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"), .await, .reset,
            ]
        }
        let wire = try Wire()
        let request = wire.request(server.url(), PartFile())
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        server.release()
        let outcome = try await wire.outcome(of: request)
        #expect(code(outcome) == 56)  // RECV_ERROR
        #expect(outcome.end.writtenThrough == 10)
    }

    @Test func aBrokenChunkEndsTheBody() async throws {
        let part = PartFile()
        let outcome = try await run(
            [
                .send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\nno"),
                .hang,
            ], on: part)
        #expect(code(outcome) == 56)
        #expect(part.content == Array("hello".utf8))
    }

    @Test func aChunkedBodyWithoutItsEndIsPartial() async throws {
        let outcome = try await run([
            .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .close,
        ])
        #expect(code(outcome) == 18)
    }

    /// The words by which the table knows it.
    @Test func anAnswerWithoutAStatusLineIsNoAnswer() async throws {
        let outcome = try await run([.send("garbage here\n"), .close])
        guard case .curl(code: 1, let text, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(text.hasPrefix("Received HTTP/0.9"))
    }

    @Test func noAnswerIsAFailure() async throws {
        #expect(code(try await run([.close])) == 52)  // GOT_NOTHING
    }

    @Test func aServerThatAnswersNothingStalls() async throws {
        let outcome = try await run([.hang], stall: 0.2)
        #expect(outcome.failure == .stalled)
        #expect(outcome.heads == 0)
        #expect(outcome.end.seconds >= 0.2)
        #expect(outcome.end.seconds < 5)
    }

    @Test func aBodyThatStopsStalls() async throws {
        let part = PartFile()
        let outcome = try await run(
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"), .hang], on: part,
            stall: 0.2)
        #expect(outcome.failure == .stalled)
        #expect(outcome.heads == 1)
        #expect(part.content.count == 10)
    }

    @Test func whatIsHeldDoesNotStall() async throws {
        let body = pattern(0..<100)
        let server = try ScriptedServer { request in
            request.path == "/held" ? [answer(body: body)] : [.hang]
        }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.stallTimeout = 0.2
        let part = PartFile()
        let held = wire.request(server.url("/held"), part, connection: connection) { _ in .hold }
        wire.transport.start([held])
        _ = try await wire.head(of: held)
        // Started later with the same timeout, so that it ends after the held one would have.
        let silent = wire.request(server.url("/silent"), PartFile(), connection: connection)
        #expect(try await wire.run(silent).failure == .stalled)
        wire.transport.proceed(held.key, BodyPlan(position: 0))
        #expect(try await wire.outcome(of: held).failure == nil)
        #expect(part.content == body)
    }

    @Test func aClosedPortIsACurlFailure() async throws {
        let port = try ScriptedServer { _ in [] }.port
        let wire = try Wire()
        let outcome = try await wire.run(wire.request("http://127.0.0.1:\(port)/", PartFile()))
        guard case .curl(code: 7, let text, let osError) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(osError == ECONNREFUSED)
        #expect(text.contains("127.0.0.1"))
    }

    /// libcurl quotes it.
    @Test(arguments: ["bob:s3cret@127.0.0.1:99999", "http://bob:s3c \"r'et@127.0.0.1:1"])
    func aProxysPasswordIsNotTold(_ proxy: String) async throws {
        var connection = ConnectionSettings()
        connection.proxy = proxy
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("http://h.invalid/", PartFile(), connection: connection))
        guard case .curl(_, let text, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(text.contains("proxy") && !text.contains("s3c"), "\(text)")
    }

    @Test func aDeadProxyIsSaidToBe() async throws {
        let port = try ScriptedServer { _ in [] }.port
        var connection = ConnectionSettings()
        connection.proxy = "http://bob:s3cret@127.0.0.1:\(port)"
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("http://h.invalid/", PartFile(), connection: connection))
        guard case .curl(code: 7, let text, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(text.hasPrefix("of the proxy: ") && text.contains("\(port)"), "\(text)")
        #expect(!text.contains("s3cret"))
    }

    /// The proxy is well, and says so.
    @Test(arguments: [1, 3, 4, 5, 6] as [UInt8])
    func aSOCKSProxyCannotReachTheServer(reply: UInt8) async throws {
        let proxy = try RefusingSOCKSProxy([[5, 0], [5, reply, 0, 1, 0, 0, 0, 0, 0, 0], []])
        var connection = ConnectionSettings()
        connection.proxy = "socks5h://127.0.0.1:\(proxy.port)"
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("http://h.invalid/", PartFile(), connection: connection))
        let failure = outcome.failure.flatMap { FailureTable.classify($0) }
        #expect(failure?.kind == .transient && failure?.blamesOrigin == true)
        let message = failure?.error.message ?? ""
        #expect(message.contains("could not reach the server"), "\(outcome)")
        #expect(!message.contains("--proxy"))
    }

    /// A rule, and what the proxy cannot do: as a 403 to CONNECT.
    @Test(arguments: [2, 7, 8] as [UInt8])
    func aSOCKSProxyForbidsTheWay(reply: UInt8) async throws {
        let proxy = try RefusingSOCKSProxy([[5, 0], [5, reply, 0, 1, 0, 0, 0, 0, 0, 0], []])
        var connection = ConnectionSettings()
        connection.proxy = "socks5h://127.0.0.1:\(proxy.port)"
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("http://h.invalid/", PartFile(), connection: connection))
        let failure = outcome.failure.flatMap { FailureTable.classify($0) }
        #expect(failure?.kind == .permanent && failure?.blamesOrigin == false, "\(outcome)")
        #expect(failure?.error.message.contains("the proxy refuses the way") == true)
    }

    /// No better at the next try, unlike all else that may be wrong with one.
    @Test func aSOCKSProxyRefusesThePassword() async throws {
        let proxy = try RefusingSOCKSProxy()
        var connection = ConnectionSettings()
        connection.proxy = "socks5h://bob:s3cret@127.0.0.1:\(proxy.port)"
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("http://h.invalid/", PartFile(), connection: connection))
        guard case .proxyRefusedCredentials(let text) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(!text.isEmpty && !text.contains("s3c"), "\(text)")
        #expect(outcome.end.isProxied)
        let failure = outcome.failure.flatMap { FailureTable.classify($0) }
        #expect(failure?.kind == .needsInput && failure?.error.code == .unauthorized)
    }

    /// libcurl's own words say neither, and one as a timeout.
    @Test(
        arguments: [
            (67, ["220 hi", "331 pw", "530-Sorry.\r\n all gone\r\n530 Too many clients"]),
            (28, ["421 Too many clients"]), (28, ["220 hi", "421 Too many clients"]),
        ] as [(Int32, [String])])
    func whatAnFTPServerSaysIsTold(_ code: Int32, _ replies: [String]) async throws {
        let server = try ScriptedFTPServer(replies)
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("ftp://127.0.0.1:\(server.port)/f", PartFile()))
        let text =
            code == 67 ? "530-Sorry.  all gone 530 Too many clients" : "421 Too many clients"
        #expect(outcome.failure == .curl(code: code, text: text, osError: 0))
    }

    @Test(arguments: ["file:///etc/passwd", "gopher://127.0.0.1/", "nonsense://x/"])
    func otherSchemesAreNotFetched(_ url: String) async throws {
        let part = PartFile()
        let wire = try Wire()
        let outcome = try await wire.run(wire.request(url, part))
        #expect(code(outcome) == 1)  // UNSUPPORTED_PROTOCOL
        #expect(part.content.isEmpty)
    }

    @Test func aFullDiskIsTold() async throws {
        let outcome = try await run(
            [answer(body: pattern(0..<100_000))], on: PartFile(path: "/dev/full"))
        #expect(outcome.failure == .disk(errno: ENOSPC))
        #expect(outcome.end.writtenThrough == 0)
    }

    /// No further piece comes that could end the request.
    @Test func aFullDiskIsToldBeforeTheEnd() async throws {
        let begun = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nthe beginning"
        let outcome = try await run([.send(begun), .hang], on: PartFile(path: "/dev/full"))
        #expect(outcome.failure == .disk(errno: ENOSPC))
        #expect(outcome.end.writtenThrough == 0)
    }

    @Test func aDiskErrorAfterAHoldIsTold() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1, 2, 3])] }
        let wire = try Wire()
        let request = wire.request(server.url(), PartFile(path: "/dev/full")) { _ in .hold }
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.proceed(request.key, BodyPlan(position: 0))
        #expect(try await wire.outcome(of: request).failure == .disk(errno: ENOSPC))
    }

    @Test func aLargeErrorPageIsNotRead() async throws {
        let part = PartFile()
        let outcome = try await run(
            [
                .send("HTTP/1.1 500 Oops\r\nContent-Length: 1000000\r\n\r\nthe beginning"), .hang,
            ], on: part)
        #expect(outcome.failure == .refused)
        #expect(outcome.head?.status == 500)
        #expect(part.content.isEmpty)
    }
}
