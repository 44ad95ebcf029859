import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// What goes out.
@Suite(.timeLimit(.minutes(60)))
struct RequestTests {
    @Test func fieldsGoOutAsGiven() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        let request = wire.request(
            server.url("/a?b=c"), PartFile(),
            headers: [
                ("Range", "bytes=5-"), ("If-Range", "\"tag\""), ("Accept-Encoding", "identity"),
                ("X-Empty", ""),
            ])
        #expect(try await wire.run(request).failure == nil)
        let sent = try #require(server.requests.first)
        #expect(sent.line == "GET /a?b=c HTTP/1.1")
        #expect(
            sent.fields.filter { !$0.hasPrefix("Host:") && !$0.hasPrefix("Accept: ") } == [
                "User-Agent: longhaul/test", "Range: bytes=5-", "If-Range: \"tag\"",
                "Accept-Encoding: identity",
            ])
    }

    @Test func theUsersOwnUserAgentStands() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        _ = try await wire.run(
            wire.request(server.url(), PartFile(), headers: [("user-agent", "mine")]))
        let fields = try #require(server.requests.first).fields
        #expect(fields.filter { $0.lowercased().hasPrefix("user-agent") } == ["user-agent: mine"])
    }

    @Test func credentialsGoToTheServer() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.user = "me:secret"
        _ = try await wire.run(wire.request(server.url(), PartFile(), connection: connection))
        #expect(server.requests.first?.value("Authorization") == "Basic bWU6c2VjcmV0")
    }

    @Test func userInfoOfTheURLIsUsedAndNotShown() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        let url = "http://me:secret@127.0.0.1:\(server.port)/file"
        let outcome = try await wire.run(wire.request(url, PartFile()))
        #expect(server.requests.first?.value("Authorization") == "Basic bWU6c2VjcmV0")
        #expect(outcome.head?.effectiveURL == server.url())
    }

    /// What stands before a server gives up a kept connection, and its answer has crossed with the
    /// request. Over a new connection it is an answer like any other.
    @Test(arguments: [0, 3, 5]) func aKeptConnectionThatIsGivenUp(length: Int) async throws {
        let body = Array(repeating: UInt8(ascii: "x"), count: length)
        let server = try ScriptedServer { request in
            let isKept = request.connection == 1 && request.path == "/file"
            if !isKept && request.path != "/late" { return [answer(body: [1, 2])] }
            return [answer("408 Request Timeout", ["Connection: close"], body: body), .close]
        }
        let wire = try Wire()
        #expect(try await wire.run(wire.request(server.url("/first"), PartFile())).failure == nil)
        let part = PartFile()
        let outcome = try await wire.run(wire.request(server.url(), part))
        #expect(outcome.failure == nil && outcome.head?.status == 200)
        #expect(part.content == [1, 2])
        #expect(server.requests.map(\.connection) == [1, 1, 2])
        let late = try await wire.run(wire.request(server.url("/late"), PartFile()))
        #expect(late.head?.status == 408)
        #expect(server.requests.map(\.connection).suffix(2) == [2, 3])
    }

    @Test(arguments: [
        ("X", "a\r\nInjected: b"), ("X", "a\nb"), ("X", "a\u{0}b"), ("X\r\nY", "a"), ("", "a"),
        ("X Y", "a"), ("X:", "a"),
    ])
    func fieldsThatWouldBecomeOthersAreNotSent(name: String, value: String) async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request(server.url(), PartFile(), headers: [(name, value)]))
        guard case .curl(code: 43, let text, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(!text.isEmpty && !text.contains("Injected"))
        #expect(server.requests.isEmpty)
    }

    @Test func aProxyIsAsked() async throws {
        let proxy = try ScriptedServer { request in
            request.line.hasPrefix("CONNECT")
                ? [answer("403 Forbidden", ["X: of the proxy"], body: [1])] : [answer(body: [2])]
        }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.proxy = "http://me:secret@127.0.0.1:\(proxy.port)"
        let fields = [("Authorization", "Bearer token")]
        let plain = try await wire.run(
            wire.request(
                "http://server.invalid/x", PartFile(), headers: fields, connection: connection))
        #expect(plain.failure == nil)
        #expect(plain.head?.effectiveURL == "http://server.invalid/x")
        #expect(proxy.requests.map(\.line) == ["GET http://server.invalid/x HTTP/1.1"])
        let tunnel = try await wire.run(
            wire.request(
                "https://server.invalid/x", PartFile(), headers: fields, connection: connection))
        // The proxy's refusal is not the server's answer, and the server's secret not the proxy's.
        #expect(tunnel.heads == 0)
        #expect(tunnel.failure == .proxyRefused(status: 403))
        #expect(proxy.requests.map { $0.value("Authorization") } == ["Bearer token", nil])
        #expect(proxy.requests.allSatisfy { $0.value("Proxy-Authorization") != nil })
    }

    /// Each server behind it has its connections, as without a proxy.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func slowOnesDoNotKeepOthersFromTheProxy(host: String) async throws {
        let proxy = try ScriptedServer { request in
            request.line.contains("//slow") ? [.hang] : [answer(body: [2])]
        }
        let wire = try Wire { $0.maxConnectionsPerHost = 2 }
        var connection = ConnectionSettings()
        connection.proxy = "http://\(host):\(proxy.port)"
        let through = connection
        func request(_ url: String) -> SegmentRequest {
            wire.request(url, PartFile(), connection: through)
        }
        // Another spelling is the same server.
        let slow = ["http://slow.invalid/", "http://me@slow.invalid/", "http://slow.invalid/"]
            .map(request)
        wire.transport.start(slow)
        try await eventually("two are out") { proxy.requests.count == 2 }
        #expect(try await wire.run(request("http://other.invalid/")).failure == nil)
        #expect(proxy.requests.count == 3)
        wire.transport.stop(slow.map(\.key))
    }

    /// Whose they are is told with the request; who names a proxy means it.
    @Test func variablesCountWhereNoProxyIsNamed() async throws {
        let proxy = try ScriptedServer { _ in [answer(body: [2])] }
        let server = try ScriptedServer { request in
            let port = request.value("Host")!.split(separator: ":")[1]
            return request.path == "/away"
                ? [answer("302 Found", ["Location: http://localhost:\(port)/"], body: [])]
                : [answer(body: [1])]
        }
        let wire = try Wire()
        var connection = ConnectionSettings()
        let address = "http://127.0.0.1:\(proxy.port)"
        connection.proxyVariables = ProxyVariables {
            ["http_proxy": address, "no_proxy": "127.0.0.0/8"][$0]
        }
        func isProxied(_ url: String) async throws -> Bool {
            let outcome = try await wire.run(
                wire.request(url, PartFile(), connection: connection))
            #expect(outcome.failure == nil)
            #expect(outcome.end.isProxied == outcome.head?.isProxied)
            return outcome.end.isProxied
        }
        #expect(try await !isProxied(server.url()))
        #expect(server.requests.count == 1 && proxy.requests.isEmpty)
        // Each hop has its own way.
        #expect(try await isProxied(server.url("/away")))
        #expect(server.requests.count == 2 && proxy.requests.count == 1)
        connection.proxy = address
        #expect(try await isProxied(server.url()))
        connection.proxy = ""
        #expect(try await !isProxied("http://localhost:\(server.port)/"))
        #expect(server.requests.count == 3 && proxy.requests.count == 2)
    }

    /// A cache must not answer with what it has stored, for FTP either.
    @Test func anHTTPProxyForFTPGetsTheFields() async throws {
        let proxy = try ScriptedServer { _ in [answer(body: [2])] }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.proxy = "http://127.0.0.1:\(proxy.port)"
        let outcome = try await wire.run(
            wire.request(
                "ftp://server.invalid/x", PartFile(), headers: [("Cache-Control", "no-cache")],
                connection: connection))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.isProxied == true && outcome.end.isProxied)
        #expect(proxy.requests.map { $0.value("Cache-Control") } == ["no-cache"])
    }

    /// Whatever the process's own locale is: tests run in C.
    @Test func namesThatAreNotASCIIAreConverted() async throws {
        let proxy = try ScriptedServer { _ in [answer(body: [2])] }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.proxy = "http://127.0.0.1:\(proxy.port)"
        let outcome = try await wire.run(
            wire.request("http://b\u{FC}cher.example/x", PartFile(), connection: connection))
        #expect(outcome.failure == nil)
        #expect(proxy.requests.map(\.line) == ["GET http://xn--bcher-kva.example/x HTTP/1.1"])
    }

    @Test func twoRequestsInARowShareTheConnection() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        for _ in 0..<3 {
            #expect(try await wire.run(wire.request(server.url(), PartFile())).failure == nil)
        }
        #expect(server.connections == 1)
    }

    @Test func aSmallErrorPageDoesNotCostTheConnection() async throws {
        let server = try ScriptedServer { _ in [answer("404 Not Found", body: [1, 2, 3])] }
        let wire = try Wire()
        for _ in 0..<3 {
            #expect(try await wire.run(wire.request(server.url(), PartFile())).failure == .refused)
        }
        #expect(server.connections == 1)
    }

    @Test func anOwnConnectionIsANewOne() async throws {
        let server = try ScriptedServer { _ in [answer(body: [1])] }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.ownConnection = true
        for _ in 0..<2 {
            _ = try await wire.run(wire.request(server.url(), PartFile(), connection: connection))
        }
        #expect(server.connections == 2)
    }

    @Test func manySmallRequestsKeepToTheConnectionLimit() async throws {
        let server = try ScriptedServer { request in
            [answer(body: Array(request.path.utf8))]
        }
        let wire = try Wire()
        let parts = (0..<500).map { _ in PartFile() }
        let requests = parts.enumerated().map { index, part in
            wire.request(server.url("/\(index)"), part)
        }
        wire.transport.start(requests)
        for request in requests { #expect(try await wire.outcome(of: request).failure == nil) }
        for (index, part) in parts.enumerated() { #expect(part.content == Array("/\(index)".utf8)) }
        #expect(server.connections <= 6)
    }

    @Test func whatWaitsCanBeStopped() async throws {
        let server = try ScriptedServer { _ in [.hang] }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let requests = (0..<3).map { _ in wire.request(server.url(), PartFile()) }
        wire.transport.start(requests)
        wire.transport.stop([requests[2].key, requests[1].key])
        #expect(try await wire.outcome(of: requests[1]).failure == .stopped)
        #expect(try await wire.outcome(of: requests[2]).failure == .stopped)
        wire.transport.stop([requests[0].key])
        #expect(try await wire.outcome(of: requests[0]).failure == .stopped)
        #expect(server.requests.count <= 1)
    }

    @Test func whatHasNotGoneOutCanBeTakenBack() async throws {
        let server = try ScriptedServer { _ in [.hang] }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let requests = (0..<3).map { _ in wire.request(server.url(), PartFile()) }
        wire.transport.start(requests)
        try await eventually("the first is out") { server.requests.count == 1 }
        wire.transport.withdraw(requests.map(\.key))
        #expect(try await wire.outcome(of: requests[1]).failure == .withdrawn)
        #expect(try await wire.outcome(of: requests[2]).failure == .withdrawn)
        wire.transport.stop([requests[0].key])
        #expect(try await wire.outcome(of: requests[0]).failure == .stopped)
        #expect(server.requests.count == 1)
    }

    @Test func shutdownEndsEverything() async throws {
        let server = try ScriptedServer { _ in [.hang] }
        let wire = try Wire { $0.maxConnectionsPerHost = 1 }
        let requests = (0..<3).map { _ in wire.request(server.url(), PartFile()) }
        wire.transport.start(requests)
        wire.transport.shutdown()
        wire.transport.shutdown()
        // All facts are there when it returns.
        let ended = wire.facts.count {
            if case .ended(_, let end) = $0 { end.failure == .stopped } else { false }
        }
        #expect(ended == 3)
        wire.transport.start([wire.request(server.url(), PartFile())])
        #expect(wire.facts.count == 3)
    }
}
