import Foundation
import LonghaulTestSupport
import Testing

/// Changes over HTTP of transfers that commands have recorded.
@Suite struct ChangeAttackTests {
    private static let later = ["--earliest", "2099-01-01T00:00:00Z"]

    /// A server, with a transfer that a command has recorded.
    private static func serving(_ words: [String]) async throws -> ServedHome {
        let home = try LonghaulHome()
        _ = try home.scratch.directory("outside")
        for name in ["outside/fields", "outside/send", "files/fields"] {
            try Data("X-Key: s3cret\n".utf8).write(to: URL(filePath: home.scratch(name)))
        }
        try Data("127.0.0.1\tFALSE\t/\tFALSE\t0\tname\ts3cret\n".utf8).write(
            to: URL(filePath: home.file("cookies")))
        let arguments = words.map { $0.replacingOccurrences(of: "HOME", with: home.scratch.path) }
        let recorded = try await home.start(arguments).wait()
        #expect(recorded.status == 0, "\(recorded.errors)")
        return try await ServedHome.start(home)
    }

    private static let url = "http://127.0.0.1:9/a"

    /// Bytes that go to, come from, or are proven by files outside of the served directories.
    @Test(arguments: [
        ["enqueue", url, "-o", "HOME/outside/a"] + later,
        ["upload", "HOME/outside/send", url] + later,
        ["enqueue", url, "--header-from", "HOME/outside/fields"] + later,
        ["enqueue", url, "--cacert", "HOME/outside/fields"] + later,
        ["enqueue", url, "--netrc"] + later,
    ])
    func filesOutsideStayAsTheyAre(recorded: [String]) async throws {
        let served = try await Self.serving(recorded)
        let before = try served.send("GET", "/v1/transfers/1").json
        for change in [
            #"{"url":"http://127.0.0.1:9/evil"}"#, #"{"priority":"high"}"#,
            #"{"destination":"inside"}"#, #"{"limitRate":"1M"}"#,
        ] {
            let answer = try served.send("PATCH", "/v1/transfers/1", change)
            let refused = [403, 400]
            #expect(refused.contains(answer.status), "\(change): \(answer)")
        }
        let patched = try served.send("PATCH", "/v1/transfers/1", #"{"priority":"high"}"#)
        #expect(try patched.json["error"]["code"] == "notPermitted", "\(patched)")
        for (method, parameters) in [
            ("changeUri", #"["1",1,["\#(Self.url)"],["http://127.0.0.1:9/evil"]]"#),
            ("changeOption", #"["1",{"out":"inside"}]"#),
            ("changeOption", #"["1",{"max-tries":"3"}]"#),
        ] {
            let error = try served.call("aria2.\(method)", parameters)
            #expect(error["code"] == 1, "\(method): \(error)")
        }
        let after = try served.send("GET", "/v1/transfers/1").json
        for key in ["url", "priority", "destination", "source", "options"] {
            #expect(after[key] == before[key], "\(key)")
        }
        // To stop it leads no byte anywhere.
        for verb in ["pause", "resume", "cancel"] {
            let answer = try served.send("POST", "/v1/transfers/1/\(verb)")
            #expect(answer.status == 200, "\(verb): \(answer)")
        }
        try await served.stop()
    }

    private static let proxied: [(String, String)] = [
        ("proxy", #"{"proxy":"http://127.0.0.1:8"}"#), ("insecure", #"{"insecure":true}"#),
        ("url", #"{"url":"http://127.0.0.1:8/a"}"#), ("https", #"{"url":"https://127.0.0.1:9/a"}"#),
        ("mirror", #"{"mirrors":["http://127.0.0.1:8/a"]}"#),
        ("authority", #"{"cacert":"fields"}"#),
    ]

    /// Secrets go to no server, proxy or eavesdropper that they were not given for.
    @Test(arguments: [
        ["--header", "Authorization: Bearer s3cret"], ["--user", "u:s3cret"],
        ["--header-from", "HOME/files/fields"], ["--cookies", "HOME/files/cookies"],
    ])
    func secretsStayWithTheirServer(secret: [String]) async throws {
        let served = try await Self.serving(
            ["enqueue", Self.url, "-o", "HOME/files/a"] + secret + Self.later)
        for (name, change) in Self.proxied {
            let answer = try served.send("PATCH", "/v1/transfers/1", change)
            #expect(answer.status == 409, "\(name): \(answer)")
            #expect(!answer.body.contains("s3cret"), "\(answer)")
        }
        for options in [
            #"{"all-proxy":"http://127.0.0.1:8"}"#, #"{"check-certificate":"false"}"#,
        ] {
            let error = try served.call("aria2.changeOption", #"["1",\#(options)]"#)
            #expect(error["code"] == 1, "\(options): \(error)")
        }
        let uris = try served.call(
            "aria2.changeUri", #"["1",1,["\#(Self.url)"],["http://127.0.0.1:8/a"]]"#)
        #expect(uris["code"] == 1, "\(uris)")
        // The same request again would change it as well.
        for change in [#""proxy":"http://127.0.0.1:8""#, #""insecure":true"#] {
            let body = #"{"url":"\#(Self.url)","destination":"a",\#(change)}"#
            let answer = try served.send("POST", "/v1/transfers", body)
            #expect(answer.status == 409, "\(answer)")
        }
        let free = try served.send("PATCH", "/v1/transfers/1", #"{"priority":"high"}"#)
        #expect(free.status == 200, "\(free)")
        let same = try served.send(
            "PATCH", "/v1/transfers/1", #"{"url":"http://127.0.0.1:9/other"}"#)
        #expect(same.status == 200, "\(same)")
        try await served.stop()
    }

    @Test func whatIsGivenAgainMayGo() async throws {
        let served = try await Self.serving(
            ["enqueue", Self.url, "-o", "HOME/files/a", "--header", "X-Key: old"] + Self.later)
        let change = #"{"url":"http://127.0.0.1:8/a","headers":{"x-key":"new"}}"#
        #expect(try served.send("PATCH", "/v1/transfers/1", change).status == 200)
        let without = #"{"url":"http://127.0.0.1:7/a","headers":{"X-Key":""}}"#
        #expect(try served.send("PATCH", "/v1/transfers/1", without).status == 200)
        let next = try served.send("PATCH", "/v1/transfers/1", #"{"proxy":"http://127.0.0.1:8"}"#)
        #expect(next.status == 200, "\(next)")
        try await served.stop()
    }

    /// A header of an ended download goes with its copy only where it went before.
    @Test func aCopyOfAnEndedOneKeepsItsSecrets() async throws {
        let served = try await Self.serving(
            ["enqueue", Self.url, "-o", "HOME/files/a", "--header", "X-Key: k"] + Self.later)
        _ = try served.send("POST", "/v1/transfers/1/cancel")
        for options in [
            #"{"all-proxy":"http://127.0.0.1:8"}"#, #"{"check-certificate":"false"}"#,
        ] {
            let error = try served.call("aria2.requeueDownloadResult", #"["1",\#(options)]"#)
            #expect(error["code"] == 1, "\(error)")
        }
        let copy = try served.call("aria2.requeueDownloadResult", #"["1",{"pause":"true"}]"#)
        #expect(copy["gid"] == "0000000000000002", "\(copy)")
        let shown = try served.send("GET", "/v1/transfers/2").json
        #expect(shown["options"]["headers"] == ["X-Key"])
        try await served.stop()
    }

    @Test(arguments: [
        #"{"url":"http://127.0.0.1:9/a","netrc":true}"#,
        #"{"kind":"upload","url":"s3://bucket/key","source":"send"}"#,
    ])
    func keysOfTheHomeDirectoryStayThere(body: String) async throws {
        let home = try LonghaulHome()
        _ = try home.scratch.directory(".aws")
        let profile = "[default]\naws_access_key_id=AK\naws_secret_access_key=SK\n"
        try Data(profile.utf8).write(to: URL(filePath: home.scratch(".aws/credentials")))
        try Data("default login l password p\n".utf8).write(
            to: URL(filePath: home.scratch(".netrc")))
        try Data("x".utf8).write(to: URL(filePath: home.file("send")))
        let served = try await ServedHome.start(home)
        let answer = try served.send("POST", "/v1/transfers", body)
        #expect(answer.status == 403, "\(answer)")
        #expect(try served.send("GET", "/v1/transfers").json["transfers"] == [])
        let plain = #"{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}"#
        #expect(try served.send("POST", "/v1/transfers", plain).status == 201)
        let change = try served.send("PATCH", "/v1/transfers/1", #"{"netrc":true}"#)
        #expect(change.status == 403, "\(change)")
        try await served.stop()
    }

    /// As the output of hosts.
    @Test func logsOfJobsHideSecrets() async throws {
        let home = try LonghaulHome()
        let script = """
            echo "GET https://u:s3cret@h.example/f?token=s3cret failed"; \
            echo '{"url":"https://h.example/?sig=s3cret","headers":{"A":"s3cret"}}' >&2
            """
        let added = try await home.run("job", "add", "j", "--", "/bin/sh", "-c", script)
        #expect(added.status == 0, "\(added.errors)")
        let served = try await ServedHome.start(home)
        var log = ""
        try await eventually("it has run; \(served.process.errors)") {
            log = try served.send("GET", "/v1/jobs/j/log").body
            return log.contains("headers") && log.contains("failed")
        }
        #expect(!log.contains("s3cret"), "\(log)")
        #expect(log.contains("h.example"))
        try await served.stop()
    }
}
