import Foundation
import LonghaulTestSupport
import Testing

/// Transfers over HTTP.
@Suite struct TransferRouteTests {
    @Test func aDownloadIsAddedAndCarriedOut() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let url = server.url("a.bin?size=100K")
            let added = try served.send("POST", "/v1/transfers", #"{"url":"\#(url)"}"#)
            #expect(added.status == 201, "\(added)")
            let path = try #require(try added.json["transfers"][0]["destination"].string)
            #expect(path == served.home.file("a.bin"))
            try await eventually("it completes; \(served.process.errors)") {
                try served.send("GET", "/v1/transfers/1").json["state"] == "completed"
            }
            try server.expected("a.bin?size=100K").verify(file: path)
            let status = try served.send("GET", "/v1/status").json
            #expect(status["engine"]["mode"] == "serve")
            #expect(status["counts"]["completed"] == 1)
            #expect(try served.send("DELETE", "/v1/transfers/1").status == 200)
            #expect(try served.send("GET", "/v1/transfers/1").status == 404)
            #expect(FileManager.default.fileExists(atPath: path))
            try await served.stop()
        }
    }

    @Test func aTransferIsChangedAndSaysWhyItWaits() async throws {
        let served = try await ServedHome.start()
        let body = #"[{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}]"#
        #expect(try served.send("POST", "/v1/transfers", body).status == 201)
        let why = try served.send("GET", "/v1/transfers/1/why").json
        #expect(why["waitingFor"][0]["reason"] == "earliestBegin", "\(why)")
        #expect(why["forecast"]["startsAt"] == "2099-01-01T00:00:00.000Z")
        let paused = try served.send("POST", "/v1/transfers/1/pause").json
        #expect(paused["state"] == "paused")
        let changed = try served.send(
            "PATCH", "/v1/transfers/1",
            #"{"priority":"high","limitRate":"1M","earliestBegin":null,"headers":{"X-A":"b"}}"#)
        #expect(changed.status == 200, "\(changed)")
        #expect(try changed.json["priority"] == "high")
        #expect(try changed.json["options"]["limitRate"] == 1_048_576)
        #expect(try changed.json["earliestBegin"] == nil)
        #expect(try changed.json["options"]["headers"] == ["X-A"])
        #expect(try served.send("DELETE", "/v1/transfers/1").status == 409)
        #expect(try served.send("POST", "/v1/transfers/1/cancel").status == 200)
        #expect(try served.send("DELETE", "/v1/transfers/1").status == 200)
        try await served.stop()
    }

    @Test func aListComesInPages() async throws {
        let served = try await ServedHome.start()
        let lines = (1...7).map {
            #"{"url":"http://127.0.0.1:9/\#($0)","earliestBegin":"2099-01-01T00:00:00Z"}"#
        }
        let body = "[" + lines.joined(separator: ",") + "]"
        #expect(try served.send("POST", "/v1/transfers", body).status == 201)
        var path = "/v1/transfers?state=waiting&limit=3"
        var seen: [[Int?]] = []
        for _ in 0..<3 {
            let page = try served.send("GET", path).json
            seen.append(page["transfers"].items.map { $0["id"].int })
            path = "/v1/transfers?state=waiting&limit=3&after=\(page["next"].int ?? 0)"
        }
        #expect(seen == [[7, 6, 5], [4, 3, 2], [1]])
        try await served.stop()
    }

    @Test(arguments: [
        ("GET", "/v1/transfers/9", "", 404), ("GET", "/v1/transfers/x", "", 404),
        ("GET", "/v1/transfers?state=odd", "", 400), ("GET", "/v1/transfers?limit=0", "", 400),
        ("GET", "/nothing", "", 404), ("PUT", "/v1/transfers", "", 405),
        ("POST", "/v1/transfers", "{", 400), ("POST", "/v1/transfers", "[]", 400),
        ("POST", "/v1/transfers", #"{"url":"http://h/a","odd":1}"#, 400),
        ("POST", "/v1/transfers", #"{"url":"file:///etc/passwd"}"#, 400),
        ("PATCH", "/v1/transfers/9", #"{"priority":"high"}"#, 404),
        ("POST", "/v1/events/ack", "{}", 400), ("POST", "/v1/events/ack", #"{"seq":9}"#, 404),
        ("GET", "/v1/jobs/none", "", 404), ("POST", "/v1/transfers/9/odd", "", 404),
    ])
    func refusals(method: String, path: String, body: String, status: Int) async throws {
        let served = try await ServedHome.start()
        let answer = try served.send(method, path, body)
        #expect(answer.status == status, "\(answer)")
        #expect(try answer.json["error"]["message"].string != nil)
    }

    /// Each documented path answers with the keys that are documented, and with no others.
    @Test func theDescriptionHolds() async throws {
        let served = try await ServedHome.start()
        let request = #"{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}"#
        try served.home.scratch.write("up", to: "files/up")
        let upload =
            #"{"kind":"upload","url":"http://127.0.0.1:9/a","source":"\#(served.home.file("up"))","#
            + #""earliestBegin":"2099-01-01T00:00:00Z"}"#
        #expect(
            try served.send("POST", "/v1/transfers", "[\(request),\(upload)]").status == 201)
        try await served.addJob()
        try await served.addBundle()
        try await served.addFolder()
        let document = try served.send("GET", "/v1/openapi.json").json
        #expect(document["openapi"] == "3.1.0")
        var count = 0
        for pattern in document["paths"].keys.sorted() where !pattern.hasSuffix("/file") {
            let operation = document["paths"][pattern]["get"]
            guard operation.has("responses") else { continue }
            count += 1
            let path = pattern.replacingOccurrences(of: "{id}", with: "1")
                .replacingOccurrences(of: "{name}", with: "job")
            let answer = try served.send("GET", path)
            #expect(answer.status == 200, "\(pattern): \(answer)")
            let content = operation["responses"]["200"]["content"]
            #expect(
                content.keys.contains { answer.head.contains($0) }, "\(pattern): \(answer.head)")
            guard content.has("application/json") else { continue }
            let schema = content["application/json"]["schema"]
            #expect(try differences(answer.json, schema, document) == [], "\(pattern)")
        }
        #expect(count >= 14, "\(count)")
        try await served.stop()
    }

    /// Keys of a value that its schema lacks, and required keys that the value lacks.
    private func differences(
        _ value: JSONValue, _ reference: JSONValue, _ document: JSONValue
    ) -> [String] {
        var schema = reference
        if let name = reference["$ref"].string?.split(separator: "/").last {
            schema = document["components"]["schemas"][String(name)]
        }
        var found = value.items.flatMap { differences($0, schema["items"], document) }
        let members = schema["properties"]
        if value.keys.isEmpty || !schema.has("properties") { return found }
        found += schema["required"].items.compactMap(\.string).filter { !value.has($0) }
        for key in value.keys {
            found +=
                members.has(key) || key == "next"
                ? differences(value[key], members[key], document) : [key]
        }
        return found
    }

    /// A client that others wrote asks all that the document has, and much that it has not.
    @Test func theDescriptionHoldsForOthers() async throws {
        guard await PythonEnvironment.isReady else { return }
        let served = try await ServedHome.start()
        let request = #"{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}"#
        #expect(try served.send("POST", "/v1/transfers", request).status == 201)
        try await served.addJob()
        // Some 1,800 requests: minutes beside other tests.
        let end = try await PythonEnvironment.run(
            "openapi-client.py", ["\(served.port)"], within: .seconds(300))
        #expect(end.status == 0, "\(end.output)\(end.errors)\n\(served.process.errors)")
        try await served.stop()
    }
}

extension ServedHome {
    fileprivate func addJob() async throws {
        let job = try await home.run(
            "job", "add", "job", "--every", "1d", "--require", "idle", "--", "/bin/true")
        #expect(job.status == 0, "\(job.errors)")
    }

    /// Adds a folder of the job's name.
    fileprivate func addFolder() async throws {
        _ = try home.scratch.directory("files/in")
        let folder = try await home.run("folder", "add", "job", "in", "http://127.0.0.1:9/")
        #expect(folder.status == 0, "\(folder.errors)")
    }

    /// Adds a bundle of the job's name.
    fileprivate func addBundle() async throws {
        let line = #"{"path":"a","url":"http://127.0.0.1:9/a"}"#
        try home.scratch.write(line, to: "files/list")
        let bundle = try await home.run(
            "bundle", "add", "job", "list:\(home.file("list"))", "--to", home.file("job"),
            "--policy", "on-demand")
        #expect(bundle.status == 0, "\(bundle.errors)")
    }
}
