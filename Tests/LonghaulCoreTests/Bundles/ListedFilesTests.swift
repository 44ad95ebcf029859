import LonghaulCore
import Testing

/// `list:`: JSON Lines.
@Suite struct ListedFilesTests {
    private static let hex = String(repeating: "ab", count: 32)

    @Test func aListNamesFiles() throws {
        let manifest = try BundleFixture.manifest(
            of: "list:https://h/d/l.jsonl?x=1",
            from: """
                \u{FEFF}{"path":"a/b c","url":"https://other/b","size":5,"sha256":"\(Self.hex)"}\r

                {"path":"é","url":"x/y?z","md5":"\(String(repeating: "0", count: 32))"}
                {"path":"c","url":"/c","size":null}
                """)
        #expect(manifest.version == String(repeating: "e", count: 64))
        #expect(
            manifest.files == [
                ManifestFile(
                    path: "a/b c", url: "https://other/b", size: 5,
                    digest: Checksum(parsing: "sha256:\(Self.hex)")),
                ManifestFile(
                    path: "é", url: "https://h/d/x/y?z",
                    digest: Checksum(parsing: "md5:\(String(repeating: "0", count: 32))"),
                    sendsCredential: true),
                ManifestFile(path: "c", url: "https://h/c", sendsCredential: true),
            ])
    }

    @Test func aListOfThisMachineIsAskedByItsPath() throws {
        let talk = ManifestSources.conversation(for: try BundleFixture.source("list:/a b/é.l"))
        #expect(talk.next()?.url == "file:///a%20b/%C3%A9.l")
        let input = ManifestSources.conversation(for: try BundleFixture.source("list:-"))
        #expect(input.next()?.url == "-")
    }

    @Test func aRelativeURLNeedsAListWithAURL() throws {
        let error = try #require(throws: LonghaulError.self) {
            try BundleFixture.manifest(of: "list:/l", from: #"{"path":"a","url":"a"}"#)
        }
        #expect(error.code == .invalidRequest)
        #expect(error.message.contains("line 1"))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var line: String
        var says: String

        var testDescription: String { line }
    }

    static let broken = [
        Row(line: "{", says: "string"),
        Row(line: "[]", says: "object"),
        Row(line: #"{"path":"a","url":"b"} x"#, says: "follows"),
        Row(line: #"{"url":"b"}"#, says: "path is missing"),
        Row(line: #"{"path":"a"}"#, says: "url is missing"),
        Row(line: #"{"path":"a","url":"b","size":"5"}"#, says: "number"),
        Row(line: #"{"path":"a","url":"b","size":-5}"#, says: "negative"),
        Row(line: #"{"path":"a","url":"b","sha265":"00"}"#, says: "sha265"),
        Row(line: #"{"path":"a","url":"b","sha256":"00"}"#, says: "not a digest"),
        Row(line: #"{"path":"a","url":"gopher://h/a"}"#, says: "cannot be fetched"),
        Row(line: #"{"path":"../a","url":"b"}"#, says: "'..'"),
        Row(line: #"{"path":"/a","url":"b"}"#, says: "absolute"),
        Row(line: #"{"path":"a//b","url":"b"}"#, says: "empty part"),
        Row(line: #"{"path":"a\u0007","url":"b"}"#, says: "control"),
        Row(line: #"{"path":"","url":"b"}"#, says: "empty"),
        Row(line: String(repeating: "[", count: 100_000), says: "object"),
        Row(
            line: #"{"path":"# + String(repeating: "[", count: 100_000), says: "string"),
    ]

    @Test(arguments: broken) func aBrokenLineIsNamed(_ row: Row) throws {
        let error = try #require(throws: LonghaulError.self) {
            try BundleFixture.manifest(
                of: "list:https://h/l", from: "{\"path\":\"ok\",\"url\":\"ok\"}\n\n\(row.line)\n")
        }
        #expect(error.code == .invalidManifest)
        #expect(error.message.contains("line 3"), "\(error)")
        #expect(error.message.contains(row.says), "\(error)")
    }

    @Test func aPageOrNothingIsNoList() throws {
        for body in ["", "\n\n", " \n<!DOCTYPE HTML><p>", "\u{FEFF}<html>"] {
            let error = try #require(throws: LonghaulError.self) {
                try BundleFixture.manifest(of: "list:https://h/l", from: body)
            }
            #expect(error.code == .invalidManifest)
        }
    }

    @Test(arguments: [
        (401, LonghaulError.Code.unauthorized), (403, .forbidden), (404, .notFound),
        (418, .clientError),
    ])
    func aRefusalEndsTheCheck(_ status: Int, _ code: LonghaulError.Code) throws {
        var talk = ManifestSources.conversation(for: try BundleFixture.source("list:https://h/l"))
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(BundleFixture.answer("no", at: "https://h/l", status: status))
        }
        #expect(error.code == code)
        #expect(error.httpStatus == status)
        #expect(error.message.contains("list:https://h/l"), "\(error)")
    }

    @Test func aRefusalHidesSecretsOfTheURL() throws {
        let url = "https://h/l?token=5ecret"
        var talk = ManifestSources.conversation(for: try BundleFixture.source("list:\(url)"))
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(BundleFixture.answer("", at: url, status: 404))
        }
        #expect(!error.message.contains("5ecret"), "\(error)")
    }
}
