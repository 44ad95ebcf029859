import Foundation
import LonghaulTestSupport
import Testing

/// What servers tell of the bytes that they have received, and small files in one request.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct UploadDigestTests {
    private static let content = Representation(size: 70_000, seed: 9)
    private static let sum = ["--checksum", "sha256:\(content.sha256)"]

    private func upload(
        _ home: LonghaulHome, _ arguments: [String]
    ) async throws -> (status: Int32, shown: JSONValue) {
        try Self.content.write(to: home.file("source"))
        let result = try await home.start(["upload", "--wait", "-q", "source"] + arguments).wait()
        return (
            result.status, try #require(try await home.run("show", "1", "--json").rows.first)
        )
    }

    // MARK: - Digests

    @Test(
        arguments: [("plain", "put"), ("plain", "post"), ("ietf", "ietf"), ("tus", "tus")],
        ["right", "wrong", "body"])
    func whatTheServerTellsIsCompared(
        _ way: (place: String, name: String), _ digest: String
    ) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let url = server.url("\(way.place)/a?options=1&digest=\(digest)")
        let (status, shown) = try await upload(home, ["--protocol", way.name, url] + Self.sum)
        let isWrong = digest == "wrong"
        #expect(status == (isWrong ? 1 : 0), "\(shown)")
        #expect(shown["error"]["code"].string == (isWrong ? "checksumMismatch" : nil), "\(shown)")
        try Self.content.verify(file: server.file("a"))
        guard isWrong else { return }
        // All of it goes again.
        _ = try await home.run("retry", "1")
        _ = try await home.run("run")
        #expect(try server.bytes == 2 * Self.content.size)
    }

    /// Nothing is sent of a file that is not the expected one.
    @Test(
        arguments: [("plain", "put"), ("plain", "post"), ("plain", "auto"), ("tus", "tus")],
        [("sha256", 64), ("sha512", 128), ("sha1", 40), ("md5", 32)])
    func theFileIsComparedFirst(
        _ way: (place: String, name: String), _ digest: (name: String, length: Int)
    ) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let sum = "\(digest.name):" + String(repeating: "0", count: digest.length)
        var words = ["--protocol", way.name, server.url("\(way.place)/a"), "--checksum", sum]
        if digest.name == "md5" { words.append("--snapshot") }
        for attempt in 1...2 {
            let (status, shown) = try await upload(home, words)
            #expect(status == 1 && shown["error"]["code"] == "checksumMismatch", "\(shown)")
            let message = shown["error"]["message"].string ?? ""
            #expect(message.contains("nothing was sent"), "\(message)")
            #expect(try server.log.isEmpty, "attempt \(attempt)")
        }
    }

    @Test func withoutAnExpectedOneNothingIsCompared() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let url = server.url("plain/a?digest=wrong")
        let (status, shown) = try await upload(home, ["--protocol", "put", url])
        #expect(status == 0, "\(shown)")
    }

    /// (bucket, the digest that is expected, status)
    @Test(
        arguments: [
            ("bucket", content.sha256, nil), ("other-1", content.sha256, "checksumMismatch"),
            ("bucket", String(repeating: "0", count: 64), "checksumMismatch"),
        ] as [(String, String, String?)])
    func s3IsToldTheDigestOfAWholeObject(
        _ bucket: String, _ expected: String, _ code: String?
    ) async throws {
        let server = try await UploadServer.start(.s3)
        let home = try LonghaulHome()
        let (status, shown) = try await upload(
            home,
            [
                "--protocol", "s3", "--user", "key:secret", server.url("\(bucket)/a"),
                "--checksum", "sha256:\(expected)",
            ])
        #expect(status == (code == nil ? 0 : 1))
        #expect(shown["error"]["code"].string == code, "\(shown)")
    }

    // MARK: - Creation With Upload

    /// (knobs, options, the requests)
    @Test(
        arguments: [
            ("carry=100000", ["--repeatable"], "OPTIONS POST"),
            ("carry=100000", [], "OPTIONS POST PATCH"),
            ("carry=1000", ["--repeatable"], "OPTIONS POST PATCH"),
            ("carry=100000&mute=1", ["--repeatable"], "OPTIONS POST HEAD"),
            ("carry=100000&lost=1", ["--repeatable"], "OPTIONS POST POST"),
            ("carry=100000&cut=30000", ["--repeatable"], "OPTIONS POST POST"),
        ] as [(String, [String], String)])
    func aSmallFileGoesWithItsCreation(
        _ knobs: String, _ options: [String], _ methods: String
    ) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        let url = server.url("tus/a?options=1&\(knobs)")
        let (status, shown) = try await upload(home, [url] + options)
        #expect(status == 0, "\(shown)")
        #expect(try server.methods.joined(separator: " ") == methods)
        try Self.content.verify(file: server.file("a"))
    }
}
