import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// Wake-ups from other machines: the token of a host, and what it allows.
@Suite struct WakeUpRouteTests {
    private let home: LonghaulHome
    private let path = "/v1/hosts/feed/wake"

    init() throws {
        home = try LonghaulHome()
    }

    private func addHost() async throws -> String {
        try home.scratch.write("#!/bin/sh\ncat > '\(home.scratch.path)/got'\n", to: "host.sh")
        let script = home.scratch("host.sh")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let added = try await home.run("host", "add", "feed", "--", script)
        #expect(added.status == 0, "\(added.errors)")
        return try await token()
    }

    private func token() async throws -> String {
        let made = try await home.run("host", "token", "feed")
        #expect(made.status == 0 && made.output.utf8.count == 65, "\(made.errors)")
        return String(made.output.dropLast())
    }

    private func wake(
        _ served: ServedHome, _ token: String?, _ body: String = "{}", _ fields: [String] = [],
        path: String? = nil, host: String = "nas.example:6800"
    ) throws -> ServedHome.Answer {
        let bearer = token.map { ["Authorization: Bearer " + $0] } ?? []
        return try served.send("POST", path ?? self.path, body, bearer + fields, host: host)
    }

    @Test func aTokenWakesItsHost() async throws {
        let token = try await addHost()
        #expect(
            try await home.stored("SELECT token FROM host").description.contains(token) == false)
        let served = try await ServedHome.start(home)
        let body = #"{"identifier":"mail","payload":{"n": 7},"urgent":true,"expires":"10m"}"#
        let answer = try wake(served, token, body)
        #expect(answer.status == 202, "\(answer)")
        #expect(try answer.json["identifier"] == "mail" && answer.json["urgent"] == true)
        try await eventually("it is handed over") {
            try (try? home.scratch.text(of: "got")).map { try JSONValue.lines($0) }?.first?[
                "payload"]["n"] == 7
        }
        let shown = try await home.run("host", "show", "feed", "--json")
        #expect(try shown.rows[0]["token"] == true)
        try await served.stop()
    }

    @Test func anotherSecretWakesNone() async throws {
        let old = try await addHost()
        let served = try await ServedHome.start(home)
        let token = try await token()
        let wrong = try wake(served, old)
        let unknown = try wake(served, token, path: "/v1/hosts/other/wake")
        #expect(wrong.status == 401 && unknown.status == 401)
        #expect(wrong.body == unknown.body)
        #expect(try wake(served, nil).status == 401)
        #expect(try wake(served, token).status == 202)
        // It allows nothing else: the name alone refuses that.
        let bearer = ["Authorization: Bearer " + token]
        for path in ["/v1/hosts", "/v1/status"] {
            #expect(try served.send("GET", path, "", bearer, host: "nas.example").status == 403)
        }
        #expect(try await home.run("host", "token", "feed", "--revoke").status == 0)
        #expect(try wake(served, token).status == 401)
        #expect(try await home.run("host", "token", "other").status == 4)
        try await served.stop()
    }

    @Test func aTokenIsNotTheSecretOfTheServer() async throws {
        let token = try await addHost()
        let file = try ServedHome.secretFile("tiger-tiger\n", home)
        let served = try await ServedHome.start(home, "--secret-file", file)
        #expect(try wake(served, token).status == 202)
        #expect(try wake(served, "tiger-tiger").status == 202)
        let unknown = try wake(served, "tiger-tiger", path: "/v1/hosts/other/wake")
        #expect(unknown.status == 404)
        let bearer = ["Authorization: Bearer " + token]
        #expect(try served.send("GET", "/v1/status", "", bearer).status == 401)
        try await served.stop()
    }

    @Test(arguments: [
        "Origin: http://nas.example:6800", "Origin: null", "Sec-Fetch-Site: none",
        "Sec-Fetch-Site: same-origin",
    ])
    func pagesWakeNone(field: String) async throws {
        let token = try await addHost()
        let served = try await ServedHome.start(home)
        #expect(try wake(served, token, "{}", [field]).status == 403)
        try await served.stop()
    }

    @Test func badInputIsRefused() async throws {
        let token = try await addHost()
        let served = try await ServedHome.start(home)
        let fits = "\"\(String(repeating: "x", count: 4094))\""
        #expect(try wake(served, token, #"{"payload":\#(fits)}"#).status == 202)
        let long = "\"\(String(repeating: "x", count: 4095))\""
        #expect(try wake(served, token, #"{"payload":\#(long)}"#).status == 413)
        #expect(try wake(served, token, String(repeating: " ", count: 20_000)).status == 413)
        let bad = [
            "[]", "{", #"{"urgent":1}"#, #"{"expires":"soon"}"#, #"{"expires":-1}"#,
            #"{"identifier":"a b"}"#, #"{"other":1}"#, #"{"payload":}"#,
        ]
        for body in bad { #expect(try wake(served, token, body).status == 400, "\(body)") }
        #expect(try wake(served, token, #"{"expires":0}"#).status == 202)
        #expect(try wake(served, token, "").status == 202)
        try await served.stop()
    }

    @Test func aServerThatOnlyReadsWakesNone() async throws {
        let token = try await addHost()
        let served = try await ServedHome.start(home, "--read-only")
        #expect(try wake(served, token).status == 403)
        #expect(try wake(served, "wrong").status == 401)
        try await served.stop()
    }

    @Test func aHostIsWokenSixtyTimesAMinute() async throws {
        let token = try await addHost()
        let served = try await ServedHome.start(home)
        // Well-formed or not, each counts. A machine that takes more than a minute for sixty has
        // more of them admitted.
        var admitted = 0
        var refusal: ServedHome.Answer?
        while refusal == nil, admitted < 600 {
            let isBad = admitted.isMultiple(of: 2)
            let answer = try wake(served, token, isBad ? #"{"payload":{"# : #"{"expires":0}"#)
            if answer.status == 429 {
                refusal = answer
            } else {
                #expect(answer.status == (isBad ? 400 : 202), "\(answer)")
                admitted += 1
            }
        }
        #expect(admitted >= 60)
        let refused = try #require(refusal)
        let field = try #require(refused.head.firstMatch(of: /\r\nRetry-After: ([0-9]+)(\r\n|$)/))
        let seconds = try #require(Int(field.1))
        #expect((1...60).contains(seconds))
        #expect(try refused.json["error"]["message"].string?.contains("\(seconds) s") == true)
        // A wrong token is not told of it, and another host has its own count.
        #expect(try wake(served, "wrong").status == 401)
        let other = try await home.run("host", "add", "other", "--", "/bin/true")
        #expect(other.status == 0, "\(other.errors)")
        let others = String(try await home.run("host", "token", "other").output.dropLast())
        #expect(try wake(served, others, path: "/v1/hosts/other/wake").status == 202)
        try await served.stop()
    }

    @Test func theCounterForgets() {
        let counter = WakeUpCounter()
        let start = Instant(nanoseconds: 0)
        for count in 0..<60 { #expect(counter.count("h", at: start + Double(count) / 2) == nil) }
        #expect(counter.count("h", at: start + 30) == 30)
        #expect(counter.count("i", at: start + 30) == nil)
        #expect(counter.count("h", at: start + 60) == nil)
        #expect(counter.count("h", at: start + 60.1) == 1)
    }
}
