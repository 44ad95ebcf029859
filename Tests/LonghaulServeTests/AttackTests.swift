import Foundation
import LonghaulTestSupport
import Testing

/// Requests of pages and programs that mean no good.
@Suite struct AttackTests {
    private static let add = #"{"url":"http://127.0.0.1:9/a"}"#

    /// A name of others that was bound to this address.
    @Test(arguments: [
        "evil.example", "evil.example:6800", "127.0.0.1.evil.example", "", "a b", "0.0.0.0:6800",
        "[::ffff:127.0.0.1]:6800", "[anything]",
    ])
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

    /// A link in a mail is a GET without an Origin, and not from another site.
    @Test func linksChangeNothing() async throws {
        let served = try await ServedHome.start()
        let url = #"["http://127.0.0.1:9/a"]"#
        let parameters: [(method: String, parameters: String)] = [
            ("aria2.addUri", "[\(url)]"), ("aria2.addUri", #"["token:x",\#(url)]"#),
            ("aria2.changeOption", #"["1",{"all-proxy":"http://127.0.0.1:9"}]"#),
            ("aria2.changeGlobalOption", #"[{"max-concurrent-downloads":"1"}]"#),
            ("aria2.pauseAll", "[]"), ("aria2.remove", #"["1"]"#), ("aria2.shutdown", "[]"),
            (
                "system.multicall",
                #"[[{"methodName":"aria2.getVersion"},"#
                    + #"{"methodName":"aria2.addUri","params":[\#(url)]}]]"#
            ),
        ]
        for (method, parameters) in parameters {
            let answer = try served.link(method, parameters)
            #expect(answer.status >= 400, "\(method): \(answer)")
            #expect(try answer.json["error"]["message"].string?.contains("POST") == true)
        }
        let batch = Data(#"[{"id":1,"method":"aria2.addUri","params":[\#(url)]}]"#.utf8)
        let query = "params=" + batch.base64EncodedString().replacing("+", with: "%2B")
        let answer = try served.send("GET", "/jsonrpc?\(query)")
        #expect(try answer.json[0]["error"]["code"] == 1, "\(answer)")
        #expect(try served.send("GET", "/v1/transfers").json["transfers"] == [])
        for read in ["aria2.getVersion", "aria2.tellActive", "system.listMethods"] {
            #expect(try served.link(read, "[]").status == 200)
        }
        let reads = #"[[{"methodName":"aria2.getVersion"},{"methodName":"aria2.tellActive"}]]"#
        #expect(try served.link("system.multicall", reads).status == 200)
        let navigation = ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"]
        #expect(try served.send("GET", "/v1/status", "", navigation).status == 403)
        let cross = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]
        let page = try served.send("GET", "/", "", cross + ["Sec-Fetch-Dest: document"])
        #expect(page.status == 200 && page.head.contains("X-Frame-Options: DENY"))
        #expect(try served.send("GET", "/", "", cross + ["Sec-Fetch-Dest: iframe"]).status == 403)
        #expect(try served.send("POST", "/", "", cross).status == 403)
        try await served.stop()
    }

    @Test func aLinkWithTheSecretMayChange() async throws {
        let served = try await ServedHome.start(secret: "s3cret")
        func url(_ name: String) -> String {
            #"["http://127.0.0.1:9/\#(name)"],{"pause":"true"}"#
        }
        let right = #""token:s3cret","#
        #expect(try served.link("aria2.addUri", "[\(right)\(url("a"))]").status == 200)
        #expect(try served.link("aria2.addUri", #"["token:wrong",\#(url("b"))]"#).status == 400)
        #expect(try served.link("aria2.addUri", "[\(url("c"))]").status == 400)
        func multicall(_ second: String) -> String {
            #"[[{"methodName":"aria2.addUri","params":[\#(right)\#(url("d"))]},"#
                + #"{"methodName":"aria2.addUri","params":[\#(second)\#(url("e"))]}]]"#
        }
        #expect(try served.link("system.multicall", multicall("")).status == 400)
        let both = try served.link("system.multicall", multicall(right))
        #expect(both.status == 200, "\(both)")
        let listed = try served.send(
            "GET", "/v1/transfers", "", ["Authorization: Bearer s3cret"])
        #expect(try listed.json["transfers"].items.count == 3)
        try await served.stop()
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
        #"{"url":"http://h/a","destination":".profile","ifExists":"overwrite"}"#,
        #"{"url":"http://h/a","destination":"sub/.config/autostart/x.desktop"}"#,
        #"{"url":"http://h/a","directory":".ssh"}"#,
        #"{"url":"http://h/a","directory":"keys"}"#,
        #"{"url":"http://h/a","source":".ssh/id_ed25519"}"#,
        #"{"url":"http://h/a","headersFrom":".netrc"}"#,
    ])
    func filesElsewhere(body: String) async throws {
        let served = try await ServedHome.start()
        try? FileManager.default.createSymbolicLink(
            atPath: served.home.file("link"), withDestinationPath: "/tmp")
        _ = try served.home.scratch.directory("files/.ssh")
        try? FileManager.default.createSymbolicLink(
            atPath: served.home.file("keys"), withDestinationPath: ".ssh")
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
        for option in [#"{"out":".bashrc"}"#, #"{"dir":".ssh","out":"authorized_keys"}"#] {
            let hidden = try served.call("aria2.addUri", #"[["http://h/a"],\#(option)]"#)
            #expect(hidden["message"].string?.contains("begin with a dot") == true, "\(hidden)")
        }
    }

    @Test func theSecretIsAskedFor() async throws {
        let home = try LonghaulHome()
        let secret = try ServedHome.secretFile("s3cret\n", home)
        let served = try await ServedHome.start(home, "--secret-file", secret)
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

    /// Before anything is built of the text, and in one pass.
    @Test func deepTextsCostNothing() async throws {
        let served = try await ServedHome.start(secret: "s3cret")
        let deep =
            String(repeating: "[", count: 500)
            + (0..<25_000).map { _ in "\"\"" }.joined(separator: ",")
            + String(repeating: "]", count: 500)
        let flat = "[" + (0..<25_000).map { _ in #"["",{"a":[]}]"# }.joined(separator: ",") + "]"
        for text in [deep, #"{"id":1,"method":"aria2.getVersion","params":\#(deep)}"#] {
            #expect(try served.send("POST", "/jsonrpc", text).status == 500)
        }
        let call = #"{"params":\#(flat),"id":1,"method":"aria2.tellStatus"}"#
        let refused = try served.send("POST", "/jsonrpc", call)
        #expect(try refused.json["error"]["message"] == "Unauthorized")
        let field = ["Authorization: Bearer s3cret"]
        #expect(try served.send("POST", "/v1/transfers", deep, field).status == 400)
        try await served.stop()
    }

    /// A batch ends at its first wrong secret, and a call over WebSocket waits as one over HTTP.
    @Test func eachGuessHasItsSecond() async throws {
        let served = try await ServedHome.start(secret: "s3cret")
        func call(_ token: String) -> String {
            #"{"id":1,"method":"aria2.getVersion","params":["token:\#(token)"]}"#
        }
        func multicall(_ tokens: [String]) -> String {
            let calls = tokens.map {
                #"{"methodName":"aria2.getVersion","params":["token:\#($0)"]}"#
            }
            let list = calls.joined(separator: ",")
            return #"{"id":1,"method":"system.multicall","params":[[\#(list)]]}"#
        }
        func slowAnswer(_ text: String) throws -> JSONValue {
            let began = ContinuousClock.now
            let answer = try served.send("POST", "/jsonrpc", text)
            #expect(ContinuousClock.now - began >= .milliseconds(990))
            return try answer.json
        }
        let (right, wrong) = (call("s3cret"), call("a"))
        let first = try slowAnswer("[\(wrong),\(right),\(wrong)]")
        #expect(first.items.count == 1 && first[0].has("error"))
        let second = try slowAnswer("[\(right),\(wrong),\(right)]")
        #expect(second.items.count == 2 && second[0].has("result") && second[1].has("error"))
        let inner = try slowAnswer("[\(multicall(["a"])),\(multicall(["s3cret"]))]")
        #expect(inner.items.count == 1 && inner[0].has("error"))
        for tokens in [["a", "s3cret"], ["s3cret", "a"]] {
            #expect(try slowAnswer(multicall(tokens)).has("error"))
        }

        let client = try Connection(served.port)
        try client.upgrade()
        let began = ContinuousClock.now
        for token in ["a", "s3cret"] { client.write(Connection.frame(call(token))) }
        #expect(client.read(until: "version").contains("Unauthorized"))
        #expect(ContinuousClock.now - began >= .milliseconds(990))
        // In the header of the upgrade it is a guess as well.
        let guess = try Connection(served.port)
        let upgrade = ContinuousClock.now
        guess.write(
            "GET /jsonrpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer x\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        #expect(guess.read().hasPrefix("HTTP/1.1 401"))
        #expect(ContinuousClock.now - upgrade >= .milliseconds(990))
        try await served.stop()
    }

    /// Nobody is locked out by connections that ask for nothing, and who is known stays.
    @Test func strangersKeepNobodyOut() async throws {
        let served = try await ServedHome.start(secret: "s3cret")
        let call = #"{"id":1,"method":"aria2.getVersion","params":["token:s3cret"]}"#
        let known = try Connection(served.port)
        try known.upgrade("Authorization: Bearer s3cret\r\n")
        var strangers: [Connection] = []
        for number in 0..<600 {
            let stranger = try Connection(served.port)
            if number % 3 == 1 { stranger.write("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\n") }
            if number % 99 == 2 { try stranger.upgrade() }
            strangers.append(stranger)
        }
        let field = ["Authorization: Bearer s3cret"]
        #expect(try served.send("GET", "/v1/status", "", field).status == 200)
        #expect(strangers[0].read() == "")
        known.write(Connection.frame(call))
        #expect(known.read(until: "version").contains("result"))
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
        let all = try await ServedHome.serve(home, ["--allow-origin", "*"]).wait()
        #expect(all.status == 5 && all.errors.contains("secret"), "\(all.errors)")
        for odd in [
            ["--listen", "odd"], ["--listen", "127.evil.example:0"], ["--allow-origin", "a"],
        ] {
            #expect(try await ServedHome.serve(home, odd).wait().status == 64, "\(odd)")
        }
        #expect(try await ServedHome.serve(home, ["--odd"]).wait().status == 64)
        let help = try await ServedHome.serve(home, ["--help"]).wait()
        #expect(help.status == 0 && help.output.contains("--secret-file"), "\(help.output)")
    }
}
