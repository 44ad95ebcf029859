import Foundation
import LonghaulTestSupport
import Testing

@testable import LonghaulServe

/// Files of completed downloads, and attempts to get others.
@Suite struct FileRouteTests {
    /// A server with one completed download of these bytes.
    private func withFile(
        _ name: String = "a.bin", size: String = "700K", secret: String? = nil,
        _ body: (ServedHome, [String], [UInt8]) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { server in
            let served =
                if let secret { try await ServedHome.start(secret: secret) } else {
                    try await ServedHome.start()
                }
            let fields = secret.map { ["Authorization: Bearer \($0)"] } ?? []
            let url = server.url("\(name)?size=\(size)")
            let added = try served.send("POST", "/v1/transfers", #"{"url":"\#(url)"}"#, fields)
            #expect(added.status == 201, "\(added)")
            try await eventually("it completes") {
                try served.send("GET", "/v1/transfers/1", "", fields).json["state"] == "completed"
            }
            let path = try #require(try added.json["transfers"][0]["destination"].string)
            let bytes = try #require(FileManager.default.contents(atPath: path))
            try await body(served, fields, Array(bytes))
            try await served.stop()
        }
    }

    /// The body as bytes: ``ServedHome/send`` has it as text.
    private func fetch(
        _ served: ServedHome, _ fields: [String], _ path: String = "/v1/transfers/1/file"
    ) throws -> (head: String, body: [UInt8]) {
        let lines =
            ["GET \(path) HTTP/1.1", "Host: 127.0.0.1:\(served.port)", "Connection: close"] + fields
        let client = try Connection(served.port)
        client.write(lines.joined(separator: "\r\n") + "\r\n\r\n")
        let bytes = client.readBytes()
        let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8)))
        return (
            String(decoding: bytes[..<end.lowerBound], as: UTF8.self),
            Array(bytes[end.upperBound...])
        )
    }

    @Test func aFileIsSentAsAnAttachment() async throws {
        try await withFile("page.html") { served, _, bytes in
            let whole = try fetch(served, [])
            #expect(whole.head.hasPrefix("HTTP/1.1 200"), "\(whole.head)")
            #expect(whole.body == bytes)
            for field in [
                "Content-Disposition: attachment; filename*=UTF-8''page.html",
                "Content-Type: application/octet-stream", "X-Content-Type-Options: nosniff",
                "Content-Security-Policy: sandbox; default-src 'none'",
                "Content-Length: \(bytes.count)",
            ] {
                #expect(whole.head.contains(field), "\(whole.head)")
            }
            let head = try served.send("HEAD", "/v1/transfers/1/file")
            #expect(head.head.contains("Content-Length: \(bytes.count)") && head.body.isEmpty)
            let part = try fetch(served, ["Range: bytes=300000-300099"])
            #expect(part.head.hasPrefix("HTTP/1.1 206"), "\(part.head)")
            #expect(part.head.contains("Content-Range: bytes 300000-300099/\(bytes.count)"))
            #expect(part.body == Array(bytes[300_000..<300_100]))
            let end = try fetch(served, ["Range: bytes=-5"])
            #expect(end.body == Array(bytes.suffix(5)))
            let beyond = try fetch(served, ["Range: bytes=\(bytes.count)-"])
            #expect(beyond.head.hasPrefix("HTTP/1.1 416"), "\(beyond.head)")
            let conditional = try fetch(served, ["Range: bytes=0-1", "If-Range: \"x\""])
            #expect(conditional.body == bytes)
        }
    }

    @Test(
        arguments: [
            ([], .all), (["bytes=0-0"], .part(0..<1)), (["bytes=5-"], .part(5..<10)),
            (["bytes=5-99"], .part(5..<10)), (["bytes=-3"], .part(7..<10)),
            (["bytes=-99"], .part(0..<10)), (["bytes=10-"], .unsatisfiable),
            (["bytes=-0"], .unsatisfiable), (["bytes=3-2"], .all), (["bytes=0-1,3-4"], .all),
            (["items=0-1"], .all), (["bytes=a-b"], .all), (["bytes=0-1", "bytes=2-3"], .all),
            (["bytes=0-9223372036854775807"], .part(0..<10)),
        ] as [([String], ByteRange)])
    func ranges(fields: [String], range: ByteRange) {
        #expect(ByteRange(fields, size: 10) == range)
    }

    @Test func onlyCompletedDownloadsHaveAFile() async throws {
        let served = try await ServedHome.start()
        let body = #"{"url":"http://127.0.0.1:9/a","earliestBegin":"2099-01-01T00:00:00Z"}"#
        _ = try served.send("POST", "/v1/transfers", body)
        try Data("early".utf8).write(to: URL(filePath: served.home.file("a")))
        #expect(try served.send("GET", "/v1/transfers/1/file").status == 409)
        #expect(try served.send("GET", "/v1/transfers/2/file").status == 404)
        try await served.stop()
    }

    /// What a command has put elsewhere stays there, and a link leads nowhere.
    @Test func filesElsewhereAreNotHandedOut() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let url = server.url("a.bin?size=1K")
            for path in [served.home.scratch("outside.bin"), served.home.file(".hidden")] {
                let got = try await served.home.run("get", "-q", url, "-o", path)
                #expect(got.status == 0, "\(got.errors)")
            }
            _ = try served.home.scratch.directory("files/dir")
            let linked = try await served.home.run("get", "-q", url, "-o", "dir/linked.bin")
            #expect(linked.status == 0, "\(linked.errors)")
            for id in [1, 2] {
                #expect(try served.send("GET", "/v1/transfers/\(id)/file").status == 403, "\(id)")
                #expect(try served.send("POST", "/v1/transfers/\(id)/file").status == 403)
            }
            #expect(try served.send("GET", "/v1/transfers/3/file").status == 200)
            let manager = FileManager.default
            let secret = try served.home.scratch.write("secret", to: "secret.txt")
            // The file, and then its directory, is replaced by a link that leads out.
            try manager.removeItem(atPath: served.home.file("dir/linked.bin"))
            try manager.createSymbolicLink(
                atPath: served.home.file("dir/linked.bin"), withDestinationPath: secret)
            let file = try served.send("GET", "/v1/transfers/3/file")
            #expect(file.status == 403 && !file.body.contains("secret"), "\(file)")
            try manager.removeItem(atPath: served.home.file("dir"))
            _ = try served.home.scratch.directory("elsewhere")
            try served.home.scratch.write("secret", to: "elsewhere/linked.bin")
            try manager.createSymbolicLink(
                atPath: served.home.file("dir"),
                withDestinationPath: served.home.scratch("elsewhere"))
            let directory = try served.send("GET", "/v1/transfers/3/file")
            #expect(directory.status == 403 && !directory.body.contains("secret"), "\(directory)")
            // A pipe would keep a thread waiting.
            try manager.removeItem(atPath: served.home.file("dir"))
            _ = try served.home.scratch.directory("files/dir")
            mkfifo(served.home.file("dir/linked.bin"), 0o600)
            #expect(try served.send("GET", "/v1/transfers/3/file").status == 409)
            try await served.stop()
        }
    }

    /// Only the page's own link is followed; other sites have no file, whatever they send.
    @Test func filesAreNotForOtherSites() async throws {
        try await withFile(size: "1K") { (served, _, _) async throws -> Void in
            func status(_ fields: String...) throws -> Int {
                try served.send("GET", "/v1/transfers/1/file", "", fields).status
            }
            let document = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
            #expect(try status("Sec-Fetch-Site: same-origin", document[0], document[1]) == 200)
            #expect(try status("Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: no-cors") == 200)
            let saving = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: empty"]
            #expect(try status("Sec-Fetch-Site: same-origin", saving[0], saving[1]) == 200)
            #expect(try status("Sec-Fetch-Site: cross-site", saving[0], saving[1]) == 403)
            for site in ["none", "same-site", "cross-site"] {
                #expect(try status("Sec-Fetch-Site: \(site)", document[0], document[1]) == 403)
            }
            #expect(try status("Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image") == 403)
            #expect(try status("Origin: http://evil.example") == 403)
            for frame in ["iframe", "embed", "object"] {
                let dest = "Sec-Fetch-Dest: \(frame)"
                #expect(try status("Sec-Fetch-Site: same-origin", document[0], dest) == 403)
            }
        }
    }

    /// A ticket stands for the secret, for its one file and nothing else.
    @Test func aTicketIsForOneFile() async throws {
        try await withFile(size: "1K", secret: "s3cret") { served, fields, bytes in
            #expect(try served.send("GET", "/v1/transfers/1/file").status == 401)
            #expect(try served.send("POST", "/v1/transfers/1/file").status == 401)
            let answer = try served.send("POST", "/v1/transfers/1/file", "", fields).json
            let ticket = try #require(answer["ticket"].string)
            let query = "?ticket=" + ticket
            #expect(try fetch(served, [], "/v1/transfers/1/file" + query).body == bytes)
            for path in [
                "/v1/transfers/2/file" + query, "/v1/transfers/1" + query, "/v1/transfers" + query,
                "/v1/transfers/1/file?ticket=", "/v1/transfers/1/file?ticket=" + ticket.dropLast(),
            ] {
                #expect(try served.send("GET", path).status == 401, "\(path)")
            }
            #expect(try served.send("DELETE", "/v1/transfers/1" + query).status == 401)
            #expect(try served.send("POST", "/v1/transfers/1/file" + query).status == 401)
        }
    }
}
