import Foundation
import LonghaulTestSupport
import Testing

/// Secrets that stand in files of the user, and other options about what a server answers.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SecretFileTests {
    private func write(_ text: String, _ name: String, _ home: LonghaulHome) throws -> String {
        let path = home.scratch(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func theyAreReadAtEachAttemptAndNeverStored() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let headers = try write("X-Key: old\n", "headers", home)
            let user = try write("me:pass-1\n", "user", home)
            let url = server.url("a.bin?size=10K&auth=me:pass-2&needheader=X-Key:new")
            let options = ["--header-from", headers, "--user-from", user]
            let first = try await home.start(["get", url, "-o", home.file("a")] + options).wait()
            #expect(first.status == 1)
            // Renewed secrets need no other request.
            _ = try write("# renewed\nX-Key: new\r\n", "headers", home)
            _ = try write("me:pass-2\n", "user", home)
            #expect(try await home.run("retry", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(try home.scratch.names(in: "files") == ["a"])
            for name in try home.scratch.names(in: "state") {
                let file = URL(fileURLWithPath: home.state + "/" + name)
                guard let bytes = try? Data(contentsOf: file) else { continue }
                #expect(bytes.range(of: Data("pass-1".utf8)) == nil, "\(name)")
            }
            let shown = try await home.run("show", "1", "--json").rows.first
            #expect(shown?["options"]["headersFrom"] == .string(headers))
            #expect(shown?["options"]["userFrom"] == .string(user))
        }
    }

    /// Another program renews the secret just now: it is read again before the transfer fails.
    @Test(arguments: ["user", "headers"]) func aSecretIsRenewedMeanwhile(kind: String) async throws
    {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let (old, new, option, knob) =
                kind == "user"
                ? ("me:1\n", "me:2\n", "--user-from", "auth=me:2")
                : ("Authorization: 1\n", "Authorization: 2\n", "--header-from", "status=401")
            let path = try write(old, "secret", home)
            let url = server.url("a.bin?size=10K&\(knob)")
            let get = try home.start(["get", url, "-o", home.file("a"), option, path])
            try await eventually("it is refused") { !server.log.all.isEmpty }
            _ = try write(new, "secret", home)
            if kind == "user" {
                #expect(try await get.wait().status == 0)
            } else {
                #expect(try await get.wait().status == 1)
                #expect(server.log.all.count == 3)
            }
        }
    }

    @Test func aMissingFileIsRefusedOrFailsTheAttempt() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let missing = home.scratch("none")
            let refused = try await home.run(
                "enqueue", server.url("a"), "-o", home.file("a"), "--cookies", missing)
            #expect(refused.status == 64)
            #expect(refused.errors.contains("there is no file \(missing)"))
            let cookies = try write("", "cookies", home)
            let url = server.url("a?size=1M&etag=v1&cut=300K&cuts=1")
            #expect(
                try await home.run(
                    "enqueue", "--no-start", url, "-o", home.file("a"), "--cookies", cookies
                ).status == 0)
            try FileManager.default.removeItem(atPath: cookies)
            #expect(try await home.run("run").status == 1)
            let row = try await home.run("show", "1", "--json").rows.first
            #expect(row?["state"] == "failed" && row?["error"]["code"] == "unauthorized")
            #expect(row?["error"]["message"].string?.contains(cookies) == true)
            #expect(server.log.all.isEmpty)
        }
    }

    /// Of 1970, too, which servers send that build their files reproducibly.
    @Test(arguments: [1_000_000_000, 0]) func theFileHasTheServersTime(time: Int) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=2M&etag=v1&lastmod=\(time)&cut=1M&cuts=1")
            for (name, options, expected) in [
                ("a", ["--remote-time"], true), ("b", [], false),
            ] {
                let get = try await home.start(["get", url, "-o", home.file(name)] + options).wait()
                #expect(get.status == 0)
                let modified =
                    try FileManager.default.attributesOfItem(atPath: home.file(name))[
                        .modificationDate] as? Date
                #expect((modified == Date(timeIntervalSince1970: Double(time))) == expected)
            }
        }
    }

    @Test func statusesOfTheUserAreTriedAgain() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K&status=403&statuses=2")
            let get = try await home.run(
                "get", "--json", url, "-o", home.file("a"), "--retry-status", "403,404")
            #expect(get.status == 0)
            #expect(server.log.all.count == 3)
            let bad = try await home.run(
                "get", url, "-o", home.file("b"), "--retry-status", "200")
            #expect(bad.status == 64)
        }
    }
}
