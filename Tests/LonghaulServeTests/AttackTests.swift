import Foundation
import LonghaulTestSupport
import Testing

/// Requests of pages and programs that mean no good.
@Suite struct AttackTests {
    private static let add = #"{"url":"http://127.0.0.1:9/a"}"#

    /// A name of others that was bound to this address.
    @Test(arguments: ["evil.example", "evil.example:6800", "127.0.0.1.evil.example", "", "a b"])
    func rebinding(host: String) async throws {
        let served = try await ServedHome.start()
        let answer = try served.send("GET", "/v1/status", host: host)
        #expect(answer.status == 403 || answer.status == 400, "\(answer)")
    }

    @Test(arguments: ["127.0.0.1", "localhost:1", "[::1]:80", "192.168.1.2"])
    func ownNames(host: String) async throws {
        let served = try await ServedHome.start()
        #expect(try served.send("GET", "/v1/status", host: host).status == 200)
    }

    @Test(arguments: [
        ["Origin: https://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"],
        ["Sec-Fetch-Site: same-site"], ["Origin: http://127.0.0.1:1"],
    ])
    func requestsOfOtherSites(fields: [String]) async throws {
        let served = try await ServedHome.start()
        for (method, path, body) in [
            ("GET", "/v1/status", ""), ("POST", "/v1/transfers", Self.add),
            ("POST", "/jsonrpc", #"{"id":1,"method":"aria2.pauseAll"}"#), ("GET", "/", ""),
        ] {
            let answer = try served.send(
                method, path, body, fields + ["Content-Type: text/plain"])
            #expect(answer.status == 403, "\(method) \(path): \(answer)")
            #expect(!answer.head.contains("Access-Control-Allow-Origin"))
        }
        let socket = try served.send(
            "GET", "/jsonrpc", "",
            fields + [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ])
        #expect(socket.status == 403, "\(socket)")
    }

    @Test func anAllowedOriginMayRead() async throws {
        let served = try await ServedHome.start(nil, "--allow-origin", "https://ariang.example")
        let fields = ["Origin: https://ariang.example", "Sec-Fetch-Site: cross-site"]
        let answer = try served.send("GET", "/v1/status", "", fields)
        #expect(answer.status == 200)
        #expect(answer.head.contains("Access-Control-Allow-Origin: https://ariang.example"))
        #expect(try served.send("OPTIONS", "/jsonrpc", "", fields).status == 204)
        try await served.stop()
    }

    @Test(arguments: [
        #"{"url":"http://h/a","destination":"/etc/passwd"}"#,
        #"{"url":"http://h/a","destination":"../../a"}"#,
        #"{"url":"http://h/a","directory":"/tmp"}"#,
        #"{"url":"http://h/a","directory":"link"}"#,
        #"{"url":"http://h/a","destination":"link/a"}"#,
        #"{"url":"http://h/a","source":"/etc/passwd"}"#,
        #"{"url":"http://h/a","headersFrom":"/etc/passwd"}"#,
        #"{"url":"http://h/a","cookies":"/etc/passwd"}"#,
    ])
    func filesElsewhere(body: String) async throws {
        let served = try await ServedHome.start()
        try? FileManager.default.createSymbolicLink(
            atPath: served.home.file("link"), withDestinationPath: "/tmp")
        let answer = try served.send("POST", "/v1/transfers", body)
        #expect(answer.status == 403, "\(answer)")
        #expect(try answer.json["error"]["code"] == "notPermitted")
    }

    @Test func filesElsewhereOverRPC() async throws {
        let served = try await ServedHome.start()
        let error = try served.call("aria2.addUri", #"[["http://h/a"],{"dir":"/etc"}]"#)
        #expect(error["code"] == 1 && error["message"].string?.contains("not below") == true)
        let global = try served.call("aria2.changeGlobalOption", #"[{"dir":"/etc"}]"#)
        #expect(global["code"] == 1)
    }

    @Test func theSecretIsAskedFor() async throws {
        let home = try LonghaulHome()
        try Data("s3cret\n".utf8).write(to: URL(filePath: home.file("secret")))
        let served = try await ServedHome.start(home, "--secret-file", home.file("secret"))
        #expect(try served.send("GET", "/v1/status").status == 401)
        #expect(try served.send("GET", "/metrics").status == 401)
        #expect(try served.send("GET", "/").status == 200)
        let right = try served.send("GET", "/v1/status", "", ["Authorization: Bearer s3cret"])
        #expect(right.status == 200)
        for wrong in ["x", "s3cre", "s3cret0"] {
            let began = ContinuousClock.now
            let answer = try served.send(
                "GET", "/v1/status", "", ["Authorization: Bearer \(wrong)"])
            #expect(answer.status == 401)
            #expect(ContinuousClock.now - began >= .milliseconds(990))
        }
        let began = ContinuousClock.now
        let call = #"{"id":"q","method":"aria2.getVersion","params":["token:no"]}"#
        let refused = try served.send("POST", "/jsonrpc", call)
        #expect(refused.status == 400)
        #expect(try refused.json["error"]["message"] == "Unauthorized")
        #expect(ContinuousClock.now - began >= .milliseconds(990))
        let version = try served.call("aria2.getVersion", #"["token:s3cret"]"#)
        #expect(version["version"].string != nil)
        try await served.stop()
    }

    @Test func nothingIsChangedReadOnly() async throws {
        let served = try await ServedHome.start(nil, "--read-only")
        #expect(try served.send("POST", "/v1/transfers", Self.add).status == 403)
        #expect(try served.call("aria2.addUri", #"[["http://h/a"]]"#)["code"] == 1)
        for method in ["pauseAll", "shutdown", "purgeDownloadResult", "unpauseAll"] {
            #expect(try served.call("aria2.\(method)")["code"] == 1, "\(method)")
        }
        #expect(try served.send("GET", "/v1/transfers").json["transfers"] == [])
        try await served.stop()
    }

    @Test func largeRequestsAreRefused() async throws {
        let served = try await ServedHome.start()
        let large = try served.raw(
            "POST /v1/transfers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n{")
        #expect(large.hasPrefix("HTTP/1.1 413"))
        let chunk = String(repeating: "a", count: 60_000)
        let field = "X-A: \(chunk)\r\n"
        let header = try served.raw("GET / HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n")
        #expect(header.hasPrefix("HTTP/1.1 400") || header.isEmpty, "\(header.prefix(200))")
    }

    @Test func manyConnectionsAreBounded() async throws {
        let served = try await ServedHome.start()
        let clients = try (0..<520).map { _ in try Connection(served.port) }
        try await eventually("the last are closed") {
            let client = try Connection(served.port)
            client.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return client.read().isEmpty
        }
        _ = clients.count
        try await served.stop()
    }

    @Test func anAddressOfOthersNeedsASecret() async throws {
        let home = try LonghaulHome()
        let open = try await ServedHome.serve(home, ["--listen", "0.0.0.0:0"]).wait()
        #expect(open.status == 5 && open.errors.contains("secret"), "\(open.errors)")
        let served = try await ServedHome.start()
        let taken = try await ServedHome.serve(home, ["--listen", "127.0.0.1:\(served.port)"])
            .wait()
        #expect(taken.status == 5 && taken.errors.contains("taken"), "\(taken.errors)")
        #expect(try await ServedHome.serve(home, ["--listen", "odd"]).wait().status == 64)
        #expect(try await ServedHome.serve(home, ["--odd"]).wait().status == 64)
        let help = try await ServedHome.serve(home, ["--help"]).wait()
        #expect(help.status == 0 && help.output.contains("--secret-file"), "\(help.output)")
    }
}
