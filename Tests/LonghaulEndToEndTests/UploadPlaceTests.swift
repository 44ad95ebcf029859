import Foundation
import LonghaulTestSupport
import Testing

/// Uploads to a URL that ends in a slash: each file has its own name there.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct UploadPlaceTests {
    private let home: LonghaulHome
    private let names = ["a%c", "b ä"]

    init() throws {
        home = try LonghaulHome()
        for name in names { try home.scratch.write("hello \(name)", to: "files/\(name)") }
    }

    private func encoded(_ name: String) -> String {
        name.replacing("%", with: "%25").replacing(" ", with: "%20").replacing("ä", with: "%C3%A4")
    }

    private func shown(_ id: Int) async throws -> JSONValue {
        try #require(try await home.run("show", "\(id)", "--json").rows.first)
    }

    private func check(_ server: UploadServer) throws {
        for name in names {
            let text = try String(contentsOfFile: server.file(encoded(name)), encoding: .utf8)
            #expect(text == "hello \(name)")
        }
    }

    @Test(arguments: [("put", ""), ("put", "?big=1"), ("auto", "")])
    func eachFileHasItsName(_ way: String, _ query: String) async throws {
        let server = try await UploadServer.start()
        let place = server.url("plain/\(query)")
        for (index, name) in names.enumerated() {
            let result = try await home.run(
                "upload", "--wait", "-q", "--protocol", way, name, place)
            #expect(result.status == 0, "\(result.errors)")
            let named = server.url("plain/\(encoded(name))\(query)")
            let transfer = try await shown(index + 1)
            #expect(transfer["url"].string == (way == "put" ? named : place))
            #expect(transfer["response"]["url"].string == named)
        }
        try check(server)
    }

    @Test(arguments: ["tus", "ietf"]) func aResourceIsMadeThere(_ way: String) async throws {
        let server = try await UploadServer.start()
        let place = server.url("\(way)/?options=1")
        for options in [[], ["--protocol", way]] {
            let words = ["upload", "--wait", "-q", names[0], place] + options
            // The server has no name for it.
            _ = try await home.start(words).wait()
        }
        let created = try server.log.filter { $0["method"] == "POST" }
        #expect(created.count >= 2)
        #expect(created.allSatisfy { $0["path"].string == "/\(way)/" })
    }

    @Test func listsAndOtherPlacesAreNamed() async throws {
        let keys = [
            "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        ]
        let places = ["s3://b/p/", "s3://b", "sftp://127.0.0.1:9/~/", "ftp://127.0.0.1:9"]
        let lines = names.flatMap { name in
            places.map { "{\"source\":\"\(name)\",\"url\":\"\($0)\"}\n" }
        }
        try home.scratch.write(lines.joined(), to: "files/list")
        let recorded = try await home.with(keys).run("upload", "--no-start", "--input", "list")
        #expect(recorded.status == 0, "\(recorded.errors)")
        let urls = try await home.run("list", "--json").rows.compactMap { $0["url"].string }
        let expected = names.flatMap { name in
            ["s3://b/p/", "s3://b/", "sftp://127.0.0.1:9/~/", "ftp://127.0.0.1:9/"].map {
                $0 + encoded(name)
            }
        }
        #expect(Set(urls) == Set(expected), "\(urls)")
        // The same again is the same transfer.
        let again = try await home.with(keys).run("upload", "--no-start", names[0], "s3://b/p/")
        #expect(again.output == "1\n", "\(again)")
    }

    @Test func anotherPlaceIsNamed() async throws {
        let keys = [
            "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        ]
        _ = try await home.run("upload", "--no-start", names[1], "http://127.0.0.1:9/x")
        for (place, url) in [
            ("ftp://127.0.0.1:9/d/", "ftp://127.0.0.1:9/d/b%20%C3%A4"),
            ("s3://b/", "s3://b/b%20%C3%A4"),
        ] {
            let set = try await home.with(keys).run("set", "1", "--url", place)
            #expect(set.status == 0, "\(set.errors)")
            #expect(try await shown(1)["url"].string == url)
        }
    }
}
