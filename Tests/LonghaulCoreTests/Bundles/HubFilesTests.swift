import LonghaulCore
import Testing

/// `hf:`: revision, tree by pages, and the cache that the hub's own client opens.
@Suite struct HubFilesTests {
    private static let commit = String(repeating: "c0", count: 20)
    private static let blob = String(repeating: "ab", count: 20)
    private static let large = String(repeating: "cd", count: 32)
    private static let hub = ["HF_ENDPOINT": "http://127.0.0.1:8000"]
    private static let tree =
        "http://127.0.0.1:8000/api/models/o/m/tree/\(commit)?recursive=true"

    private static let page = """
        [{"type":"directory","oid":"\(blob)","size":0,"path":"a b"},
        {"type":"file","oid":"\(blob)","size":5,"path":"a b/é.json"},
        {"type":"file","oid":"\(blob)","size":9,"lfs":{"oid":"\(large)","size":9,
        "pointerSize":134},"xetHash":"00","path":"m.bin"},
        {"type":"commit","oid":"\(blob)","size":0,"path":"sub"}]
        """

    private func talk(
        _ source: String = "hf:o/m", answering page: String? = nil,
        _ headers: [String: String] = [:]
    ) throws -> any ManifestConversation {
        var talk = ManifestSources.conversation(
            for: try BundleFixture.source(source, Self.hub))
        let url = try #require(talk.next()?.url)
        try talk.judge(BundleFixture.answer("{\"id\":1,\"sha\":\"\(Self.commit)\"}", at: url))
        guard let page else { return talk }
        let tree = try #require(talk.next()?.url)
        try talk.judge(BundleFixture.answer(page, at: tree, headers: headers))
        return talk
    }

    @Test(arguments: [
        ("hf:o/m", "models/o/m/revision/main", "models/o/m"),
        ("hf:m@refs/pr/1", "models/m/revision/refs%2Fpr%2F1", "models/m"),
        ("hf:datasets/o/d@v1", "datasets/o/d/revision/v1", "datasets/o/d"),
        ("hf:spaces/o/s", "spaces/o/s/revision/main", "spaces/o/s"),
    ])
    func theRevisionIsAskedFirst(_ source: String, _ revision: String, _ tree: String) throws {
        let first = ManifestSources.conversation(for: try BundleFixture.source(source, Self.hub))
        let request = try #require(first.next())
        #expect(request.url == "http://127.0.0.1:8000/api/\(revision)")
        #expect(request.credential == .source)
        let second = try #require(try talk(source).next())
        #expect(
            second.url == "http://127.0.0.1:8000/api/\(tree)/tree/\(Self.commit)?recursive=true")
        #expect(second.maxSize < request.maxSize)
    }

    @Test func aTreeNamesFiles() throws {
        let manifest = try #require(try talk("hf:datasets/o/m", answering: Self.page).manifest)
        let base = "http://127.0.0.1:8000/datasets/o/m/resolve/\(Self.commit)/"
        #expect(manifest.version == Self.commit)
        #expect(manifest.passedOver == 1)
        #expect(
            manifest.files == [
                ManifestFile(
                    path: "a b/é.json", url: base + "a%20b/%C3%A9.json", size: 5,
                    digest: Checksum(parsing: "git-sha1:\(Self.blob)"), sendsCredential: true,
                    name: Self.blob),
                ManifestFile(
                    path: "m.bin", url: base + "m.bin", size: 9,
                    digest: Checksum(parsing: "sha256:\(Self.large)"), sendsCredential: true,
                    name: Self.large),
            ])
    }

    @Test func aTreeComesByPages() throws {
        let link = ["Link": "<\(Self.tree)&cursor=a,b>; rel=\"next\""]
        var talk = try talk(answering: Self.page, link)
        #expect(talk.manifest == nil)
        #expect(talk.next()?.url == "\(Self.tree)&cursor=a,b")
        let more = "[{\"type\":\"file\",\"oid\":\"\(Self.blob)\",\"size\":5,\"path\":\"z\"}]"
        try talk.judge(BundleFixture.answer(more, at: "\(Self.tree)&cursor=a,b"))
        #expect(talk.manifest?.files.map(\.path) == ["a b/é.json", "m.bin", "z"])
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var page = "[]"
        var headers: [String: String] = [:]

        var testDescription: String { name }
    }

    private static func entry(_ path: String, _ more: String = "") -> String {
        "[{\"type\":\"file\",\"oid\":\"\(blob)\",\"size\":5,\"path\":\"\(path)\"\(more)}]"
    }

    static let refused = [
        Row(name: "no file"),
        Row(name: "no list", page: "{}"),
        Row(name: "no JSON", page: "["),
        Row(name: "too deep", page: String(repeating: "[", count: 100_000)),
        Row(
            name: "too deep in an entry",
            page: entry("a", ",\"x\":" + String(repeating: "[", count: 100_000))),
        Row(name: "a page", page: "<!DOCTYPE html>"),
        Row(name: "a way out", page: entry("../a")),
        Row(name: "an absolute path", page: entry("/a")),
        Row(name: "a control character", page: entry("a\\u0000")),
        Row(
            name: "no digest",
            page: "[{\"type\":\"file\",\"oid\":\"1\",\"size\":5,\"path\":\"a\"}]"),
        Row(
            name: "a broken digest", page: entry("a", ",\"lfs\":{\"oid\":\"12\",\"size\":5}")),
        Row(
            name: "no size", page: "[{\"type\":\"file\",\"oid\":\"\(blob)\",\"path\":\"a\"}]"),
        Row(
            name: "another host", page: entry("a"),
            headers: ["Link": "<https://evil/tree>; rel=\"next\""]),
        Row(
            name: "another port", page: entry("a"),
            headers: ["Link": "<http://127.0.0.1:1/tree>; rel=next"]),
        Row(
            name: "the same page again", page: entry("a"),
            headers: ["Link": "<\(tree)>; rel=\"next\""]),
        Row(
            name: "no end", page: "[]", headers: ["Link": "<\(tree)&cursor=1>; rel=\"next\""]),
    ]

    @Test(arguments: refused) func aTreeThatCannotBeUsedIsRefused(_ row: Row) throws {
        let error = try #require(throws: LonghaulError.self) {
            try talk(answering: row.page, row.headers)
        }
        #expect(error.code == .invalidManifest)
    }

    @Test func pagesAreBoundedTogether() throws {
        var talk = try talk()
        var cursor = 0
        let error = try #require(throws: LonghaulError.self) {
            let filler = String(repeating: " ", count: 1 << 20)
            while let request = talk.next() {
                cursor += 1
                let link = ["Link": "<\(Self.tree)&cursor=\(cursor)>; rel=\"next\""]
                try talk.judge(
                    BundleFixture.answer(
                        Self.entry("\(cursor)") + filler, at: request.url, headers: link))
            }
        }
        #expect(error.code == .tooLarge)
        #expect(cursor < 70)
    }

    @Test(arguments: [
        (401, "RepoNotFound", LonghaulError.Code.unauthorized), (401, "GatedRepo", .unauthorized),
        (403, "GatedRepo", .forbidden), (404, "RevisionNotFound", .notFound),
    ])
    func aRefusalNamesThePage(
        _ status: Int, _ reason: String, _ code: LonghaulError.Code
    ) throws {
        var talk = ManifestSources.conversation(for: try BundleFixture.source("hf:o/m", Self.hub))
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(
                BundleFixture.answer(
                    "", at: "http://127.0.0.1:8000/", status: status,
                    headers: ["X-Error-Code": reason]))
        }
        #expect(error.code == code)
        #expect(error.message.contains("http://127.0.0.1:8000/o/m"), "\(error)")
        #expect(error.message.contains("conditions") == (reason == "GatedRepo"))
    }

    @Test(arguments: ["{}", "{\"sha\":\"main\"}", "{\"sha\":null}", "[]"])
    func aRevisionNeedsACommit(_ body: String) throws {
        var talk = ManifestSources.conversation(for: try BundleFixture.source("hf:o/m", Self.hub))
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(BundleFixture.answer(body, at: "http://127.0.0.1:8000/"))
        }
        #expect(error.code == .invalidManifest)
    }

    // MARK: - The cache

    @Test func theCacheIsThatOfTheHubsClient() throws {
        let source = try BundleFixture.source("hf:datasets/o/m@refs/pr/1", Self.hub)
        let manifest = try #require(
            try talk("hf:datasets/o/m@refs/pr/1", answering: Self.page).manifest)
        let layout = BundleLayout(.hfCache, directory: "/hub", source: source)
        let root = "/hub/datasets--o--m"
        let places = manifest.files.map { layout.place(of: $0, in: Self.commit) }
        #expect(places == ["\(root)/blobs/\(Self.blob)", "\(root)/blobs/\(Self.large)"])
        #expect(layout.path(of: Self.commit) == "\(root)/snapshots/\(Self.commit)")
        let steps = layout.finish(manifest)
        #expect(
            steps.prefix(3) == [
                .link(
                    path: "\(root)/snapshots/\(Self.commit)/a b/é.json",
                    target: "../../../blobs/\(Self.blob)"),
                .link(
                    path: "\(root)/snapshots/\(Self.commit)/m.bin",
                    target: "../../blobs/\(Self.large)"),
                .write(path: "\(root)/refs/refs/pr/1", Array(Self.commit.utf8)),
            ])
        guard case .write(let path, let bytes)? = steps.last, steps.count == 4 else {
            Issue.record("the tree comes last")
            return
        }
        #expect(path == "\(root)/trees/\(Self.commit).json")
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                {"format_version":1,"files":{"a b/é.json":{"size":5,"blob_id":"\(Self.blob)"},\
                "m.bin":{"size":9,"blob_id":"\(Self.blob)","lfs_sha256":"\(Self.large)",\
                "lfs_size":9}}}
                """)
    }

    @Test func aCommitNeedsNoReference() throws {
        let text = "hf:m@\(Self.commit)"
        let manifest = try #require(try talk(text, answering: Self.page).manifest)
        let layout = BundleLayout(
            .hfCache, directory: "/hub", source: try BundleFixture.source(text, Self.hub))
        #expect(layout.path(of: "x") == "/hub/models--m/snapshots/x")
        #expect(layout.finish(manifest).count == 3)
    }
}
