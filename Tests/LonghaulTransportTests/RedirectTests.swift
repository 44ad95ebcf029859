import LonghaulCore
import LonghaulTransport
import Testing

@Suite(.timeLimit(.minutes(60)))
struct RedirectTests {
    private static let fields = [
        ("Range", "bytes=5-"), ("If-Range", "\"tag\""), ("Accept-Encoding", "identity"),
        ("Cache-Control", "no-cache"), ("Referer", "http://h/page?sig=1"),
        ("Authorization", "Bearer secret"), ("Cookie", "id=secret"), ("X-Token", "secret"),
    ]

    private func redirect(
        to location: String, status: String = "302 Found", body: [UInt8] = [1, 2, 3]
    ) -> [ScriptedServer.Step] {
        [answer(status, ["Location: \(location)"], body: body)]
    }

    @Test func aRelativeOneIsFollowedWithAllFields() async throws {
        let server = try ScriptedServer { request in
            request.path == "/a/b?q" ? redirect(to: "../c d#part") : [answer(body: [9])]
        }
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(
            wire.request(server.url("/a/b?q"), part, headers: Self.fields))
        #expect(outcome.failure == nil)
        #expect(outcome.heads == 1)
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.effectiveURL == server.url("/c%20d#part"))
        #expect(part.content == [9])
        #expect(server.requests.map(\.path) == ["/a/b?q", "/c%20d"])
        for (name, value) in Self.fields { #expect(server.requests[1].value(name) == value) }
        // The redirect's body was short enough to be taken, and so the connection is used again.
        #expect(server.connections == 1)
    }

    @Test func theHeadSaysWhereItWas() async throws {
        let other = try ScriptedServer { _ in [answer("500 Oops", body: [9])] }
        let target = other.url("/other")
        let server = try ScriptedServer { request in
            switch request.path {
            case "/there": redirect(to: target)
            case "/here": redirect(to: "/500")
            case "/plain": redirect(to: "http://\(request.value("Host")!)/500")
            default: [answer("500 Oops", body: [9])]
            }
        }
        let wire = try Wire()
        for (path, isElsewhere) in [("/there", true), ("/here", false), ("/500", false)] {
            let outcome = try await wire.run(wire.request(server.url(path), PartFile()))
            #expect(outcome.head?.status == 500)
            #expect(outcome.head?.isElsewhere == isElsewhere, "\(path)")
        }
        // Who asks is no part of an origin.
        let named = "http://me:pw@127.0.0.1:\(server.port)/plain"
        #expect(try await wire.run(wire.request(named, PartFile())).head?.isElsewhere == false)
    }

    @Test func anotherOriginGetsNoSecrets() async throws {
        let other = try ScriptedServer { _ in [answer(body: [9])] }
        let target = other.url("/other")
        let server = try ScriptedServer { _ in redirect(to: target) }
        let wire = try Wire()
        var connection = ConnectionSettings()
        connection.user = "me:secret"
        let outcome = try await wire.run(
            wire.request(
                server.url(), PartFile(), headers: Self.fields, connection: connection))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.effectiveURL == target)
        let sent = try #require(other.requests.first)
        #expect(sent.value("Range") == "bytes=5-")
        #expect(sent.value("If-Range") == "\"tag\"")
        #expect(sent.value("Accept-Encoding") == "identity")
        // The answer to ask past is the one that a cache over there holds.
        #expect(sent.value("Cache-Control") == "no-cache")
        // Servers that keep others from linking to their files ask for it.
        #expect(sent.value("Referer") == "http://h/page")
        #expect(sent.fields.contains { $0.contains("secret") || $0.contains("bWU6") } == false)
    }

    @Test func anotherNameOfTheSameServerIsAnotherOrigin() async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/1":
                redirect(
                    to: "http://LOCALHOST:\(request.value("Host")!.split(separator: ":")[1])/2")
            case "/2": redirect(to: "/3")
            default: [answer(body: [9])]
            }
        }
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request(server.url("/1"), PartFile(), headers: Self.fields))
        #expect(outcome.failure == nil)
        #expect(server.requests.map { $0.value("Authorization") } == ["Bearer secret", nil, nil])
    }

    @Test func backAtTheFirstOriginTheFieldsReturn() async throws {
        let server = try ScriptedServer { request in
            let port = request.value("Host")!.split(separator: ":")[1]
            switch request.path {
            case "/1": return redirect(to: "http://localhost:\(port)/2")
            case "/2": return redirect(to: "http://127.0.0.1:\(port)/3")
            default: return [answer(body: [9])]
            }
        }
        let wire = try Wire()
        _ = try await wire.run(wire.request(server.url("/1"), PartFile(), headers: Self.fields))
        #expect(
            server.requests.map { $0.value("Cookie") } == ["id=secret", nil, "id=secret"])
    }

    /// Of an absolute URL that does not repeat it.
    @Test func userInfoOfTheURLGoesAlongAtItsOwnOrigin() async throws {
        let server = try ScriptedServer { request in
            let port = request.value("Host")!.split(separator: ":")[1]
            switch request.path {
            case "/1": return redirect(to: "http://127.0.0.1:\(port)/2")
            case "/2": return redirect(to: "http://localhost:\(port)/3")
            case "/3": return redirect(to: "http://127.0.0.1:\(port)/4")
            case "/4": return redirect(to: "http://other:word@127.0.0.1:\(port)/5")
            default: return [answer(body: [9])]
            }
        }
        let wire = try Wire()
        let url = "http://me:s%20e@127.0.0.1:\(server.port)/1"
        let outcome = try await wire.run(wire.request(url, PartFile()))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.effectiveURL == server.url("/5"))
        let (own, other) = ("Basic bWU6cyBl", "Basic b3RoZXI6d29yZA==")
        #expect(
            server.requests.map { $0.value("Authorization") } == [own, own, nil, own, other])
    }

    /// And for the hops of one request only, though the next one has its handle.
    @Test func aCookieIsSentBackOnTheNextHop() async throws {
        let server = try ScriptedServer { request in
            let port = request.value("Host")!.split(separator: ":")[1]
            switch request.path {
            case "/1":
                return [
                    answer("302 Found", ["Location: /2", "Set-Cookie: id=1; Path=/"], body: [])
                ]
            case "/2": return redirect(to: "http://localhost:\(port)/3")
            default: return [answer(body: [9])]
            }
        }
        let wire = try Wire()
        for _ in 0..<2 {
            let outcome = try await wire.run(
                wire.request(server.url("/1"), PartFile(), headers: [("Cookie", "mine=2")]))
            #expect(outcome.failure == nil)
        }
        let sent = server.requests.map { request in
            request.fields.filter { $0.lowercased().hasPrefix("cookie:") }
        }
        let all = [["Cookie: mine=2"], ["Cookie: id=1; mine=2"], []]
        #expect(sent == all + all)
    }

    /// One without a value is not sent, and takes away what would be sent of that name.
    @Test func aFieldWithoutAValueIsNotSent() async throws {
        let server = try ScriptedServer { _ in [answer(body: [9])] }
        let wire = try Wire()
        let fields = [("User-Agent", ""), ("Accept", ""), ("X-A", ""), ("X-B", "1")]
        let outcome = try await wire.run(wire.request(server.url(), PartFile(), headers: fields))
        #expect(outcome.failure == nil)
        let sent = try #require(server.requests.first)
        for name in ["User-Agent", "Accept", "X-A"] { #expect(sent.value(name) == nil) }
        #expect(sent.value("X-B") == "1")
    }

    @Test func aLongRedirectBodyIsNotRead() async throws {
        let server = try ScriptedServer { request in
            guard request.path == "/1" else { return [answer(body: [9])] }
            return [
                .send(
                    "HTTP/1.1 307 Go\r\nLocation: /2\r\nContent-Length: 1000000\r\n\r\nbeginning"),
                .hang,
            ]
        }
        let part = PartFile()
        let wire = try Wire()
        #expect(try await wire.run(wire.request(server.url("/1"), part)).failure == nil)
        #expect(part.content == [9])
    }

    @Test func aCircleEnds() async throws {
        let server = try ScriptedServer { _ in redirect(to: "/again") }
        let wire = try Wire { $0.maxRedirects = 3 }
        let outcome = try await wire.run(wire.request(server.url(), PartFile()))
        #expect(outcome.failure == .redirect(.tooMany))
        #expect(outcome.verdict == .redirect)
        #expect(outcome.heads == 1)
        #expect(server.requests.count == 4)
    }

    @Test(arguments: [
        ("ftp://127.0.0.1/x", RedirectProblem.scheme("ftp")),
        ("file:///etc/passwd", .scheme("file")), ("javascript:alert(1)", .scheme("javascript")),
        ("", .missingLocation), ("http://", .missingLocation),
    ])
    func badTargetsAreRefused(location: String, problem: RedirectProblem) async throws {
        let server = try ScriptedServer { _ in redirect(to: location) }
        let wire = try Wire()
        let outcome = try await wire.run(wire.request(server.url(), PartFile()))
        #expect(outcome.failure == .redirect(problem))
        #expect(server.requests.count == 1)
    }

    @Test func withoutALocationThereIsNothingToFollow() async throws {
        let server = try ScriptedServer { _ in [answer("302 Found", body: [])] }
        let wire = try Wire()
        let outcome = try await wire.run(wire.request(server.url(), PartFile()))
        #expect(outcome.failure == .redirect(.missingLocation))
        #expect(outcome.head?.status == 302)
    }
}
