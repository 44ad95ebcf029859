import Foundation
import LonghaulTestSupport
import Testing

/// `longhaul upload` against a server that misbehaves: the server's file is right in the end, or
/// there is none and the error says why.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct UploadTests {
    /// One upload and what is to come of it.
    struct Case: CustomTestStringConvertible, Sendable {
        var path: String
        var arguments: [String] = []
        /// The requests with their methods, in order.
        var methods: String
        var status: Int32 = 0

        init(_ path: String, _ arguments: String..., to methods: String, status: Int32 = 0) {
            self.path = path
            self.arguments = arguments
            self.methods = methods
            self.status = status
        }

        var testDescription: String { "\(path) \(arguments.joined(separator: " "))" }
    }

    /// A server that does not tell what it speaks.
    private static let silence = "OPTIONS OPTIONS OPTIONS"

    static let plain = [
        Case("plain/a", to: "\(silence) PUT"),
        Case("plain/a?cut=3000000", to: "\(silence) PUT PUT"),
        Case("plain/a?lost=1", to: "\(silence) PUT PUT"),
        Case("plain/a", "--method", "post", to: "\(silence) POST"),
        Case("plain/a", "--protocol", "post", to: "POST"),
        Case("plain/a?cut=3000000", "--protocol", "post", to: "POST", status: 1),
        Case("plain/a?lost=1", "--protocol", "post", to: "POST", status: 1),
        Case("plain/a?lost=1", "--protocol", "post", "--repeatable", to: "POST POST"),
        Case("plain/a?redirect=308", "--protocol", "put", to: "PUT PUT"),
        Case("plain/a?status=413", "--protocol", "put", to: "PUT", status: 1),
        Case("plain/a?status=503&retry=1", "--protocol", "put", to: "PUT PUT"),
        Case("plain/a?417=1", "--protocol", "put", to: "PUT PUT"),
        Case("plain/a?417=1", "--protocol", "post", to: "POST POST"),
        Case("plain/a?417=1&redirect=307", "--protocol", "put", to: "PUT PUT PUT"),
        Case("plain/a?417=1", to: "\(silence) PUT PUT"),
    ]

    /// The answer comes in the place of "100 Continue", and no byte of the file has gone out.
    static let early = [
        Case("plain/a?status=200", "--protocol", "put", to: "PUT PUT"),
        Case("plain/a?status=201&redirect=307", "--protocol", "put", to: "PUT PUT PUT PUT"),
        Case("plain/a?status=200", to: "\(silence) PUT PUT"),
        Case("plain/a?status=200", "--protocol", "post", to: "POST", status: 1),
        Case("plain/a?status=200", "--form", "file", to: "POST", status: 1),
        Case("plain/a?status=200", "--protocol", "post", "--repeatable", to: "POST POST"),
        Case("plain/a?redirect=303", "--protocol", "put", to: "PUT", status: 1),
        Case("plain/a?redirect=303", "--protocol", "post", to: "POST", status: 1),
        Case("plain/a?redirect=303&late=1", "--protocol", "put", to: "PUT", status: 1),
        Case("plain/a?redirect=303&late=1", to: "\(silence) PUT", status: 1),
        Case("tus/a?redirect=303", "--protocol", "tus", to: "OPTIONS POST", status: 1),
        Case("ietf/a", "--protocol", "ietf", "--method", "put", to: silence, status: 1),
    ]

    static let resumable =
        ["9", "8", "6"].flatMap { version in
            let ask = version == "9" ? "OPTIONS POST" : "OPTIONS OPTIONS POST"
            let way = "ietf/a?options=1&version=\(version)"
            return [
                Case(way, "--protocol", "ietf", to: "\(ask) PATCH"),
                Case("\(way)&cut=3000000", "--protocol", "ietf", to: "\(ask) PATCH HEAD PATCH"),
                Case("\(way)&lost=1", "--protocol", "ietf", to: "\(ask) PATCH HEAD"),
                Case(
                    "\(way)&cut=3000000&back=100000", "--protocol", "ietf",
                    to: "\(ask) PATCH HEAD PATCH"),
                Case(
                    "\(way)&cut=3000000&beyond=90000000", "--protocol", "ietf",
                    to: "\(ask) PATCH HEAD POST PATCH"),
                Case(
                    "\(way)&cut=3000000&gone=1", "--protocol", "ietf",
                    to: "\(ask) PATCH HEAD POST PATCH"),
                Case(
                    "\(way)&conflict=1", "--protocol", "ietf",
                    to: "\(ask) PATCH HEAD HEAD PATCH"),
                Case(
                    "\(way)&append=2500000", "--protocol", "ietf",
                    to: "\(ask) PATCH PATCH"),
            ]
        } + [
            Case("ietf/a", "--protocol", "ietf", to: "\(silence) POST PATCH"),
            Case(
                "ietf/a?options=1&proxy=3000000", "--protocol", "ietf",
                to: "OPTIONS POST PATCH PATCH PATCH"),
            Case("ietf/a?cut=3000000", to: "\(silence) PUT HEAD PATCH"),
            Case("ietf/a?lost=1", to: "\(silence) PUT HEAD"),
            Case("ietf/a?no104=1&cut=3000000", to: "\(silence) PUT PUT"),
            Case("ietf/a?options=1&append=2500000", to: "OPTIONS POST PATCH PATCH"),
            Case(
                "ietf/a?options=1&redirect=307", "--protocol", "ietf", to: "OPTIONS POST POST PATCH"
            ),
            Case(
                "ietf/a?options=1&version=8&ignore=1", "--protocol", "ietf",
                to: "OPTIONS OPTIONS POST PATCH"),
            Case("ietf/a?options=1&version=6&ignore=1", to: "\(silence) POST PATCH"),
            Case(
                "ietf/a?options=1&version=6&ignore=1&least=9000000", to: "\(silence) PUT"),
            Case("tus/a", "--protocol", "tus", to: "OPTIONS POST PATCH"),
            Case("tus/a?options=1", to: "OPTIONS POST PATCH"),
            Case(
                "tus/a?proxy=3000000", "--protocol", "tus", to: "OPTIONS POST PATCH PATCH PATCH"),
            Case(
                "tus/a", "--protocol", "tus", "--part-size", "2M",
                to: "OPTIONS POST PATCH PATCH PATCH"),
            Case("tus/a?options=1&checksum=1&damage=1", to: "OPTIONS POST PATCH HEAD PATCH"),
            Case(
                "tus/a?options=1&checksum=1&damage=2", "--protocol", "tus", "--part-size", "3M",
                to: "OPTIONS POST PATCH HEAD PATCH HEAD PATCH PATCH"),
            Case("tus/a?cut=3000000", "--protocol", "tus", to: "OPTIONS POST PATCH HEAD PATCH"),
            Case("tus/a?lost=1", "--protocol", "tus", to: "OPTIONS POST PATCH HEAD"),
            Case(
                "tus/a?cut=3000000&back=100000", "--protocol", "tus",
                to: "OPTIONS POST PATCH HEAD PATCH"),
            Case(
                "tus/a?cut=3000000&beyond=9000000", "--protocol", "tus",
                to: "OPTIONS POST PATCH HEAD POST PATCH"),
            Case(
                "tus/a?cut=3000000&gone=1", "--protocol", "tus",
                to: "OPTIONS POST PATCH HEAD POST PATCH"),
            Case("tus/a?conflict=1", "--protocol", "tus", to: "OPTIONS POST PATCH HEAD HEAD PATCH"),
            Case(
                "tus/a?cut=3000000&expired=1", "--protocol", "tus",
                to: "OPTIONS POST PATCH HEAD POST PATCH"),
            Case("tus/a?options=1&carry=9000000", "--repeatable", to: "OPTIONS POST PATCH"),
        ]

    /// Its offset moves for a while.
    static let conflicting = ["ietf", "tus"].map { way in
        Case(
            "\(way)/a?options=1&conflict=5", "--protocol", way,
            to: "OPTIONS POST PATCH HEAD"
                + String(repeating: " HEAD PATCH", count: 5))
    }

    @Test(arguments: plain + early + resumable + conflicting)
    func theServerHasTheFile(_ upload: Case) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let source = Representation(size: 5_000_000, seed: 7)
        try source.write(to: home.file("source"))
        let words = ["upload", "--wait", "-q", "source", server.url(upload.path)]
        let result = try await home.start(words + upload.arguments).wait()
        #expect(result.status == upload.status, "\(result.errors)")
        let methods = try server.methods.joined(separator: " ")
        #expect(methods == upload.methods)
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["kind"] == "upload")
        if upload.status == 0 {
            try source.verify(file: server.file("a"))
            #expect(shown["state"] == "completed")
            #expect(shown["bytesDone"] == 5_000_000)
        } else {
            #expect(shown["state"] == "failed")
        }
        // The user's file is never touched.
        try source.verify(file: home.file("source"))
    }

    /// People see what is sent; programs what the server has acknowledged.
    @Test(arguments: ["put", "tus"]) func whatIsSentIsShown(_ way: String) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 7).write(to: home.file("source"))
        let engine = try home.start("daemon")
        let url = server.url(way == "put" ? "plain/a" : "tus/a")
        let recorded = try await home.run(
            "upload", "--protocol", way, "--limit-rate", "30K", "source", url)
        #expect(recorded.status == 0, "\(recorded.errors)")
        try await eventually("its progress is in the table") {
            let row = try await home.run("list").output.split(separator: "\n").last ?? ""
            let percent = row.split(separator: " ").first { $0.hasSuffix("%") }?.dropLast()
            return (Int(percent ?? "") ?? 0) > 0 && row.contains("running") && row.contains("/s, ")
        }
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["state"] == "running" && shown["bytesDone"] == 0, "\(shown)")
        let text = try await home.run("show", "1").output
        #expect(text.contains("/4.8 MiB") && !text.contains("0%, 0 B/"), "\(text)")
        _ = try await home.run("set", "1", "--limit-rate", "none")
        #expect(try await home.run("wait", "1").status == 0)
        #expect(try await home.run("show", "1", "--json").rows[0]["bytesDone"] == 5_000_000)
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test func smallAndEmptyFilesArrive() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        for size in [0, 1, 70_000] {
            let source = Representation(size: size, seed: 3)
            try source.write(to: home.file("source"))
            for (path, way) in [
                ("plain/p", "put"), ("ietf/i", "ietf"), ("tus/t", "tus"), ("plain/o", "auto"),
            ] {
                let name = "\(path.suffix(1))\(size)"
                let url = server.url("\(path.dropLast())\(name)?options=1")
                let result = try await home.run(
                    "upload", "--wait", "-q", "--protocol", way, "source", url)
                #expect(result.status == 0, "\(way) \(size): \(result.errors)")
                try source.verify(file: server.file(name))
            }
        }
    }

    /// It may have been carried out.
    @Test(arguments: [["--protocol", "post"], ["--form", "f"], ["--method", "post"]])
    func aLostAnswerIsNotAskedForAgain(_ way: [String]) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try home.scratch.write("hello", to: "files/source")
        let words = ["upload", "source", server.url("plain/a?lost=1")] + way
        #expect(try await home.start(words + ["--wait", "-q"]).wait().status == 1)
        for again in [["retry", "1"], ["resume", "1"], words + ["--no-start"]] {
            let refusal = try await home.start(again).wait()
            #expect(refusal.status == 5, "\(again): \(refusal.output)")
            #expect(refusal.errors.contains("--repeatable"), "\(refusal.errors)")
        }
        #expect(try server.methods.count { $0 == "POST" } == 1)
        let again = try await home.start(words + ["--repeatable", "--wait", "-q"]).wait()
        #expect(again.status == 0, "\(again.errors)")
        #expect(try server.methods.count { $0 == "POST" } == 2)
    }

    /// `show` and the message have what the server says, and the last answer in full.
    @Test func theAnswerIsShown() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try home.scratch.write("hello", to: "files/source")
        let url = server.url("plain/a?status=413")
        let refused = try await home.run("upload", "--wait", "-q", "source", url)
        #expect(refused.errors.contains("(413), saying: {\"refused\":true}"), "\(refused.errors)")
        _ = try await home.run("upload", "--wait", "-q", "source", server.url("plain/b?big=1"))
        let text = try await home.run("show", "2").output
        #expect(text.contains("Answer:        HTTP 200 from \(server.url("plain/b"))"), "\(text)")
        #expect(text.contains("Answer:        xxxxx") && text.utf8.count < 10_000)
    }

    @Test func aFormHasTheFileAsItsPart() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try home.scratch.write("hello", to: "files/a \"b\".txt")
        let result = try await home.run(
            "upload", "--wait", "-q", "--form", "file", "--content-type", "text/plain",
            "a \"b\".txt", server.url("plain/f"))
        #expect(result.status == 0, "\(result.errors)")
        let body = try String(contentsOfFile: server.file("f"), encoding: .utf8)
        let lines = body.components(separatedBy: "\r\n")
        #expect(
            lines[1] == "Content-Disposition: form-data; name=\"file\"; filename=\"a %22b%22.txt\"")
        #expect(Array(lines[2...4]) == ["Content-Type: text/plain", "", "hello"])
        #expect(lines[5] == lines[0] + "--")
    }

    /// Some tus servers do not tell an offset where the type is missing.
    @Test(arguments: [nil, "text/plain"])
    func aTusServerIsToldNameAndType(_ type: String?) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try home.scratch.write("hello", to: "files/ä.longhaul")
        let words = [
            "upload", "--wait", "-q", "--protocol", "tus", "ä.longhaul", server.url("tus/a"),
        ]
        let options = type.map { ["--content-type", $0] } ?? []
        let result = try await home.start(words + options).wait()
        #expect(result.status == 0, "\(result.errors)")
        let creation = try #require(try server.log.first { $0["method"] == "POST" })
        let metadata = try #require(creation["headers"]["upload-metadata"].string)
        let told = metadata.split(separator: ",").map { pair in
            let parts = pair.split(separator: " ").map(String.init)
            let value = Data(base64Encoded: parts.last ?? "") ?? Data()
            return "\(parts.first ?? ""): \(String(decoding: value, as: UTF8.self))"
        }
        #expect(
            told == ["filename: ä.longhaul", "filetype: \(type ?? "application/octet-stream")"])
    }

    /// A machine without a list of types sends bytes of no type.
    @Test func theTypeIsThatOfTheName() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try home.scratch.write("hello", to: "files/a.tar.JPG")
        for (name, options) in [
            ("a", []), ("b", ["--header", "Content-Type: text/x-b"]),
            ("c", ["--content-type", "text/x-c"]),
        ] {
            let words = ["upload", "--wait", "-q", "--protocol", "put", "a.tar.JPG"]
            let result = try await home.start(words + [server.url("plain/\(name)")] + options)
                .wait()
            #expect(result.status == 0, "\(result.errors)")
        }
        let isKnown = FileManager.default.fileExists(atPath: "/etc/mime.types")
        let types = try server.log.map { $0["headers"]["content-type"].string }
        #expect(types.dropFirst() == ["text/x-b", "text/x-c"])
        if isKnown { #expect(types.first == "image/jpeg") }
    }

    // MARK: - The source

    @Test func aChangedFileFails() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 1).write(to: home.file("source"))
        let upload = try home.start(
            "upload", "--wait", "-q", "--protocol", "tus", "--limit-rate", "50K", "source",
            server.url("tus/a"))
        try await eventually("it moves") {
            try await home.run("show", "1", "--json").rows.first?["bytesFetched"].int ?? 0 > 50_000
        }
        try Representation(size: 5_000_000, seed: 2).write(to: home.file("source"))
        let result = try await upload.wait()
        #expect(result.status == 1)
        #expect(!server.has("a"))
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["error"]["code"] == "sourceChanged")
    }

    @Test func aChangedFileMayBeginAgain() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 1).write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--protocol", "tus", "--if-changed", "restart", "source", server.url("tus/a"))
        let changed = Representation(size: 4_000_000, seed: 2)
        try changed.write(to: home.file("source"))
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        try changed.verify(file: server.file("a"))
    }

    enum Replacement: CaseIterable { case directory, pipe }

    @Test(arguments: Replacement.allCases, ["fail", "restart"])
    func aFileThatIsNoneAnyMoreFails(_ replacement: Replacement, _ policy: String) async throws {
        let home = try LonghaulHome()
        try Representation(size: 1000, seed: 1).write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--if-changed", policy, "source", "http://127.0.0.1:9/a")
        try FileManager.default.removeItem(atPath: home.file("source"))
        switch replacement {
        case .directory: #expect(mkdir(home.file("source"), 0o700) == 0)
        case .pipe: #expect(mkfifo(home.file("source"), 0o600) == 0)
        }
        _ = try await home.run("run")
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["state"] == "failed")
        #expect(shown["error"]["code"] == "sourceChanged")
        let message = shown["error"]["message"].string ?? ""
        #expect(message.hasSuffix("bring the file back, then `resume`"), "\(message)")
    }

    @Test func whatIsNoFileIsRefused() async throws {
        let home = try LonghaulHome()
        for (name, target) in [("directory", "/tmp"), ("dangling", "nothing"), ("loop", "loop")] {
            try FileManager.default.createSymbolicLink(
                atPath: home.file(name), withDestinationPath: target)
        }
        let long = String(repeating: "n", count: 256)
        for source in ["missing", "/dev/null", "/tmp", "directory", "dangling", "loop", long] {
            let result = try await home.run("upload", source, "http://127.0.0.1:9/a")
            #expect(result.status == 64, "\(source): \(result)")
            #expect(!result.errors.contains("resume"), "\(result.errors)")
        }
        // The names of a bucket have no user and no password.
        try Representation(size: 1, seed: 1).write(to: home.file("source"))
        let user = try await home.run("upload", "--user", "k:s", "source", "s3://u:pass@bucket/a")
        #expect(user.status == 64 && !user.errors.contains("pass@"), "\(user)")
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
    }

    // MARK: - Cancelling

    enum End: CaseIterable, Sendable { case cancelled, cancelledWhileWaiting, removed }

    @Test(arguments: ["tus", "ietf"], End.allCases)
    func anUnwantedUploadIsDeletedAtTheServer(_ way: String, end: End) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 1).write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--protocol", way, "--limit-rate", "50K", "source",
            server.url("\(way)/a?options=1"))
        let engine = try home.start("daemon")
        try await eventually("it moves") {
            try await home.run("show", "1", "--json").rows.first?["bytesFetched"].int ?? 0 > 50_000
        }
        if end == .cancelledWhileWaiting {
            _ = try await home.run("pause", "1")
            try await eventually("it has stopped") { try server.methods.contains("PATCH") }
        }
        let keeps = end == .removed ? ["--keep-bytes"] : []
        _ = try await home.start(["cancel", "1"] + keeps).wait()
        try await eventually("it has ended") {
            try await home.run("show", "1", "--json").rows.first?["state"] == "cancelled"
        }
        if end == .removed {
            #expect(try !server.methods.contains("DELETE"))
            let removed = try await home.run("remove", "1")
            #expect(removed.status == 0, "\(removed.errors)")
        }
        try await eventually("it is deleted") {
            try server.methods.last == "DELETE" && server.leftOpen.isEmpty
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        #expect(!server.has("a"))
    }

    // MARK: - Answers and duplicates

    @Test func theAnswerIsKept() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 1000, seed: 1).write(to: home.file("source"))
        for (index, query) in ["", "?big=1", "?status=422"].enumerated() {
            _ = try await home.run(
                "upload", "--wait", "-q", "--protocol", "put", "source",
                server.url("plain/a\(index)\(query)"))
            let event = try #require(
                try await home.run("events", "--json").rows.last {
                    $0["transfer"]["kind"] == "upload"
                })
            let response = event["transfer"]["response"]
            #expect(response["status"] == [200, 200, 422][index], "\(event)")
            let body = response["body"].string ?? ""
            #expect(body.utf8.count == [15, 64 << 10, 16][index])
        }
    }

    /// A host can use them.
    @Test func whatIsSecretInAnAnswerIsShownToHostsAlone() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 1000, seed: 1).write(to: home.file("source"))
        let told = home.file("told")
        _ = try await home.run(
            "host", "add", "com.example.h", "--", "/bin/sh", "-c", "cat > \(told)")
        _ = try await home.run(
            "upload", "--protocol", "put", "--session", "s", "--host", "com.example.h", "source",
            server.url("plain/a?token=1"))
        _ = try await home.run("run")
        for words in [
            ["show", "1", "--json"], ["list", "--all", "--json"], ["events", "--json"],
        ] {
            let shown = try await home.start(words).wait().output
            #expect(shown.contains("?v=1&sig=REDACTED"), "\(shown)")
            #expect(!shown.contains("SIGNED"), "\(shown)")
        }
        let event = try JSONValue.lines(String(contentsOfFile: told, encoding: .utf8)).first
        let headers = event?["transfer"]["response"]["headers"]
        #expect(headers?["Location"].string?.hasSuffix("?v=1&sig=SIGNED") == true, "\(event)")
        #expect(headers?["Set-Cookie"] == "sid=SIGNED")
    }

    @Test func anEqualUploadIsOneTransfer() async throws {
        let home = try LonghaulHome()
        try Representation(size: 1000, seed: 1).write(to: home.file("source"))
        @Sendable func enqueue(_ url: String, _ more: String...) async throws -> String {
            try await home.start(["upload", "source", url] + more).wait().output
        }
        #expect(try await enqueue("http://127.0.0.1:9/a") == "1\n")
        #expect(try await enqueue("http://127.0.0.1:9/a") == "1\n")
        #expect(try await enqueue("http://127.0.0.1:9/b") == "2\n")
        #expect(try await enqueue("http://127.0.0.1:9/a", "--session", "other") == "3\n")
        // A download to the path of the file is another matter.
        let download = try await home.run(
            "enqueue", "http://127.0.0.1:9/a", "-o", "source", "--if-exists", "overwrite")
        #expect(download.output == "4\n", "\(download.errors)")
    }

    /// Whichever came last would stay at the server.
    @Test func anotherVersionOfTheFileIsAConflict() async throws {
        let home = try LonghaulHome()
        @Sendable func enqueue(_ size: Int, _ words: String...) async throws -> CLIProcess.Result {
            try Representation(size: size, seed: 1).write(to: home.file("source"))
            return try await home.start(
                ["upload", "source", "http://127.0.0.1:9/a"] + words
            ).wait()
        }
        #expect(try await enqueue(1000, "--snapshot").output == "1\n")
        for words in ["--snapshot", "-q"] {
            let refused = try await enqueue(1001, words)
            #expect(refused.status == 5 && refused.errors.contains("transfer 1"), "\(refused)")
        }
        // A resource of its own for each, and another session.
        #expect(try await enqueue(1002, "--protocol", "post").output == "2\n")
        #expect(try await enqueue(1003, "--protocol", "post").output == "3\n")
        #expect(try await enqueue(1004, "--session", "other").output == "4\n")
    }

    @Test func aNewerVersionHasThePlaceOfOneThatHasEnded() async throws {
        let home = try LonghaulHome()
        func enqueue(_ size: Int) async throws -> String {
            try Representation(size: size, seed: 1).write(to: home.file("source"))
            return try await home.run("upload", "source", "http://127.0.0.1:9/a").output
        }
        #expect(try await enqueue(1000) == "1\n")
        _ = try await home.run("cancel", "1")
        _ = try await home.run("run")
        #expect(try await enqueue(1001) == "2\n")
        let again = try await home.run("retry", "1")
        #expect(again.status == 5 && again.errors.contains("transfer 2"), "\(again)")
        // With other permissions it is another version.
        _ = try await home.run("cancel", "2")
        _ = try await home.run("run")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: home.file("source"))
        let changed = try await home.run("upload", "source", "http://127.0.0.1:9/a")
        #expect(changed.output == "3\n")
    }

    @Test func manyComeAsLines() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        var lines = ""
        for number in 1...20 {
            let source = Representation(size: 1000 * number, seed: UInt64(number))
            try source.write(to: home.file("source\(number)"))
            lines +=
                #"{"source":"source\#(number)","url":"\#(server.url("plain/a\(number)"))"}"# + "\n"
        }
        let result = try await home.run("upload", "--wait", "-q", "--input", "-", input: lines)
        #expect(result.status == 0, "\(result.errors)")
        for number in 1...20 {
            try Representation(size: 1000 * number, seed: UInt64(number))
                .verify(file: server.file("a\(number)"))
        }
    }
}
