import LonghaulCore
import Testing

/// `github:` and `zenodo:`: a release's assets, a record's files.
@Suite struct ReleaseFilesTests {
    private static let hex = String(repeating: "ab", count: 32)
    private static let api = "https://api.github.com/repos/o/r/releases"

    private static func asset(_ name: String, _ number: Int = 7, _ more: String = "") -> String {
        """
        {"id":\(number),"name":"\(name)","size":5,"state":"uploaded","digest":"sha256:\(hex)",
        "url":"\(api)/assets/\(number)","uploader":{"id":1},
        "browser_download_url":"https://github.com/o/r/releases/download/v1/\(name)"\(more)}
        """
    }

    private static func release(_ assets: String...) -> String {
        """
        {"tag_name":"v/1","name":"One","assets":[\(assets.joined(separator: ","))],"body":"x"}
        """
    }

    private func manifest(
        _ body: String, hasCredential: Bool = false, from source: String = "github:o/r@v/1"
    ) throws -> Manifest {
        var talk = ManifestSources.conversation(
            for: try BundleFixture.source(source), hasCredential: hasCredential)
        let request = try #require(talk.next())
        try talk.judge(BundleFixture.answer(body, at: request.url))
        #expect(talk.next() == nil)
        return try #require(talk.manifest)
    }

    @Test(arguments: [
        ("github:o/r", "/latest"), ("github:o/r@v/1", "/tags/v%2F1"),
    ])
    func aReleaseIsAskedFor(_ source: String, _ path: String) throws {
        let talk = ManifestSources.conversation(for: try BundleFixture.source(source))
        let request = try #require(talk.next())
        #expect(request.url == Self.api + path)
        #expect(request.credential == .source)
    }

    @Test func assetsAreFiles() throws {
        let manifest = try manifest(Self.release(Self.asset("a.zip")))
        #expect(
            manifest.files == [
                ManifestFile(
                    path: "a.zip", url: "https://github.com/o/r/releases/download/v1/a.zip",
                    size: 5, digest: Checksum(parsing: "sha256:\(Self.hex)"))
            ])
        #expect(manifest.version.hasPrefix("v-1-"))
    }

    @Test func withATokenAssetsAreAskedAtTheAPI() throws {
        let file = try #require(
            try manifest(Self.release(Self.asset("a.zip")), hasCredential: true).files.first)
        #expect(file.url == "\(Self.api)/assets/7")
        #expect(file.headers["Accept"] == "application/octet-stream")
        #expect(file.sendsCredential)
    }

    @Test func anotherAssetIsAnotherVersion() throws {
        let one = try manifest(Self.release(Self.asset("a.zip"))).version
        #expect(try manifest(Self.release(Self.asset("a.zip"))).version == one)
        #expect(try manifest(Self.release(Self.asset("a.zip", 8))).version != one)
        #expect(try manifest(Self.release(Self.asset("a.zip"), Self.asset("b", 9))).version != one)
    }

    @Test func anAssetWithoutADigestIsUnproved() throws {
        let asset = Self.asset("a").replacing("\"sha256:\(Self.hex)\"", with: "null")
        let open = Self.asset("b").replacing("\"uploaded\"", with: "\"starter\"")
        let files = try manifest(Self.release(asset, open)).files
        #expect(files.map(\.path) == ["a"])
        #expect(files.first?.digest == nil)
    }

    @Test(arguments: [
        "{}", "[]", "", "<html>", "{\"tag_name\":\"v1\",\"assets\":[]}",
        "{\"tag_name\":\"v1\",\"assets\":[{\"name\":\"a\",\"state\":\"uploaded\"}]}",
        "{\"tag_name\":\"v1\",\"assets\":" + String(repeating: "[", count: 10_000),
    ])
    func anAnswerWithoutAssetsIsRefused(_ body: String) throws {
        let error = try #require(throws: LonghaulError.self) { try manifest(body) }
        #expect(error.code == .invalidManifest)
    }

    @Test func aRefusalNamesThePage() throws {
        for (environment, page) in [
            ([:], "https://github.com/o/r"),
            (["GITHUB_API_URL": "https://ghe/api/v3"], "https://ghe/o/r"),
        ] {
            var talk = ManifestSources.conversation(
                for: try BundleFixture.source("github:o/r", environment))
            let error = try #require(throws: LonghaulError.self) {
                try talk.judge(BundleFixture.answer("{}", at: "https://h/", status: 404))
            }
            #expect(error.code == .notFound)
            #expect(error.message.contains(page), "\(error)")
        }
    }

    /// A rate limit that is used up is waited for, and is not a refusal.
    @Test func aUsedUpRateLimitIsWaitedFor() {
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        var headers = HeaderFields()
        headers["x-ratelimit-remaining"] = "0"
        headers["x-ratelimit-reset"] = "1700000060"
        #expect(headers.retryAfter(now: now) == 60)
        let failure = FailureTable.classify(
            status: 403, retryAfter: headers.retryAfter(now: now))
        #expect(failure.kind == .transient)
        headers["x-ratelimit-remaining"] = "1"
        #expect(headers.retryAfter(now: now) == nil)
        headers["x-ratelimit-remaining"] = "0"
        headers["x-ratelimit-reset"] = "999999999999999"
        #expect(headers.retryAfter(now: now) == 86_400)
    }

    // MARK: - Zenodo

    private static let md5 = String(repeating: "01", count: 16)

    private static func record(_ files: String) -> String {
        "{\"id\":124,\"conceptrecid\":\"123\",\"files\":[\(files)],\"metadata\":{}}"
    }

    private static let file = """
        {"id":"x","key":"a b.zip","size":5,"checksum":"md5:\(md5)",
        "links":{"self":"https://zenodo.org/api/records/124/files/a%20b.zip/content"}}
        """

    @Test func aRecordHasFiles() throws {
        let source = try BundleFixture.source("zenodo:123")
        let talk = ManifestSources.conversation(for: source)
        #expect(talk.next()?.url == "https://zenodo.org/api/records/123")
        #expect(!source.isAuthentic)
        #expect(source.filesAtOnce == 2)
        let manifest = try manifest(Self.record(Self.file), from: "zenodo:123")
        #expect(manifest.version.hasPrefix("124-"))
        #expect(
            manifest.files == [
                ManifestFile(
                    path: "a b.zip",
                    url: "https://zenodo.org/api/records/124/files/a%20b.zip/content", size: 5,
                    digest: Checksum(parsing: "md5:\(Self.md5)"), sendsCredential: true)
            ])
        let elsewhere = Self.file.replacing("https://zenodo.org", with: "https://other")
        let other = try self.manifest(Self.record(elsewhere), from: "zenodo:123")
        #expect(other.files.map(\.sendsCredential) == [false])
    }

    @Test(arguments: [
        "{}", "{\"id\":\"../x\",\"files\":[]}", record(""), record("{\"key\":\"a\",\"size\":1}"),
        record("{\"key\":\"a\",\"links\":{\"self\":\"file:///etc/passwd\"}}"), "<html>",
    ])
    func aRecordWithoutFilesIsRefused(_ body: String) throws {
        let error = try #require(throws: LonghaulError.self) {
            try manifest(body, from: "zenodo:1")
        }
        #expect(error.code == .invalidManifest)
    }
}
