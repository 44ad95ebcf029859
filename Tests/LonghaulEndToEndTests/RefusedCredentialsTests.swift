import Foundation
import LonghaulTestSupport
import Testing

/// A wrong password is not tried by the hundred: servers lock those out who do that.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RefusedCredentialsTests {
    private func states(_ home: LonghaulHome) async throws -> [String: Int] {
        let rows = try await home.run("list", "--all", "--json").rows
        return rows.reduce(into: [:]) { $0[$1["state"].string ?? "", default: 0] += 1 }
    }

    private func wait(of id: Int, _ home: LonghaulHome) async throws -> JSONValue? {
        try await home.run("why", "\(id)", "--json").rows.first?["waitingFor"].items.first {
            $0["required"] == "other credentials"
        }
    }

    @Test func theRestOfDownloadsWaits() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let urls = (1...24).map { server.url("f\($0).bin?size=10K&auth=me:right") }
            let asked = ["enqueue", "--no-start", "-d", home.file(""), "--user", "me:wrong"]
            #expect(try await home.start(asked + urls).wait().status == 0)
            // What has no credentials goes on.
            let free = server.url("free.bin?size=10K")
            let added = try await home.run("enqueue", "--no-start", free, "-o", home.file("free"))
            #expect(added.status == 0)
            #expect(try await home.run("run").status == 1)
            #expect(server.log.all.count <= 12)
            let after = try await states(home)
            #expect(after["completed"] == 1)
            #expect(after["waiting"] ?? 0 >= 12)
            let wait = try #require(try await wait(of: 24, home))
            #expect(wait["reason"] == "originCooldown")
            #expect(wait["current"].string?.contains("with the same credentials") == true)
            let hint = try await home.run("why", "24").output
            #expect(hint.contains("`longhaul now 24` runs it now"))
            // The right one for one of them shows that all may be asked about once more.
            #expect(try await home.run("set", "24", "--user", "me:right").status == 0)
            let before = server.log.all.count
            #expect(try await home.run("run").status == 1)
            #expect(server.log.all.count > before + 1)
            #expect(try home.scratch.names(in: "files").contains("f24.bin"))
        }
    }

    @Test(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
    func theRestOfUploadsWaits() async throws {
        let home = try LonghaulHome()
        let server = try await UploadServer.start()
        for number in 1...16 {
            try Data("text".utf8).write(to: URL(fileURLWithPath: home.file("u\(number)")))
            let sent = try await home.run(
                "upload", "--no-start", home.file("u\(number)"),
                server.url("plain/u\(number)?status=403"), "--protocol", "put", "--header",
                "Authorization: Bearer old")
            #expect(sent.status == 0, "\(sent.errors)")
        }
        #expect(try await home.run("run").status == 1)
        #expect(try server.log.count <= 10)
        #expect(try await wait(of: 16, home)?["reason"] == "originCooldown")
        // Whoever wants one of them to go on has it asked.
        let before = try server.log.count
        #expect(try await home.run("now", "16", "--no-start").status == 0)
        _ = try await home.run("run")
        #expect(try server.log.contains { $0["path"].string?.contains("u16") == true })
        #expect(try server.log.count > before)
    }

    @Test func aRenewedFileTakesAllUp() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let path = home.scratch("user")
            try Data("me:old\n".utf8).write(to: URL(fileURLWithPath: path))
            let urls = (1...12).map { server.url("f\($0).bin?size=10K&auth=me:new") }
            let asked = ["enqueue", "--no-start", "-d", home.file(""), "--user-from", path]
            #expect(try await home.start(asked + urls).wait().status == 0)
            _ = try await home.run("run")
            #expect(server.log.all.count <= 12)
            #expect(try await wait(of: 12, home)?["nextCheck"].string != nil)
            try Data("me:new\n".utf8).write(to: URL(fileURLWithPath: path))
            #expect(try await home.run("resume", "12", "--no-start").status == 0)
            _ = try await home.run("resume", "--all", "--no-start")
            #expect(try await home.run("run").status == 0)
            #expect(try await states(home) == ["completed": 12])
        }
    }

    /// A command that waits for the end of its transfers hears it at once.
    @Test func getFails() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let urls = (1...24).map { server.url("f\($0).bin?size=10K&auth=me:right") }
            let get = try await home.start(
                ["get", "--json", "-d", home.file(""), "--user", "me:wrong"] + urls
            ).wait()
            #expect(get.status == 1)
            #expect(server.log.all.count <= 12)
            #expect(try await states(home) == ["failed": 24])
        }
    }
}
