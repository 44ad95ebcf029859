import LonghaulCore
import Testing

/// `oci:`: token, index, manifest, and the image layout.
@Suite struct ImageFilesTests {
    private static let base = "https://registry-1.docker.io/v2/library/alpine"
    private static let manifestHex = String(repeating: "aa", count: 32)
    private static let armHex = String(repeating: "bb", count: 32)
    private static let config = String(repeating: "cc", count: 32)
    private static let layer = String(repeating: "dd", count: 32)

    private static func entry(_ hex: String, _ platform: String) -> String {
        "{\"mediaType\":\"m\",\"size\":9,\"digest\":\"sha256:\(hex)\",\"platform\":\(platform)}"
    }

    private static let index = """
        {"schemaVersion":2,"manifests":[
        \(entry(manifestHex, "{\"os\":\"linux\",\"architecture\":\"amd64\"}")),
        \(entry(armHex, "{\"os\":\"linux\",\"architecture\":\"arm\",\"variant\":\"v7\"}")),
        \(entry(config, "{\"os\":\"unknown\",\"architecture\":\"unknown\"}"))]}
        """

    private static let manifest = """
        {"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
        "config":{"digest":"sha256:\(config)","size":3},
        "layers":[{"digest":"sha256:\(layer)","size":7},{"digest":"sha256:\(layer)","size":7}]}
        """

    private func start(
        _ text: String = "oci:alpine:3.20", platform: String = "linux/amd64"
    ) throws -> (BundleSource, any ManifestConversation) {
        let source = try BundleFixture.source(text, platform: platform)
        return (source, ManifestSources.conversation(for: source))
    }

    private static let challenge = [
        "WWW-Authenticate":
            "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\","
            + "scope=\"repository:library/alpine:pull\""
    ]

    @Test func anImageIsFoundByTokenIndexAndManifest() throws {
        var (source, talk) = try start()
        let first = try #require(talk.next())
        #expect(first.url == "\(Self.base)/manifests/3.20")
        #expect(first.credential == .none)
        #expect(first.headers["Accept"]?.contains("manifest.list.v2+json") == true)
        try talk.judge(
            BundleFixture.answer("", at: first.url, status: 401, headers: Self.challenge))
        let token = try #require(talk.next())
        #expect(
            token.url == "https://auth.docker.io/token?service=registry.docker.io"
                + "&scope=repository%3Alibrary%2Falpine%3Apull")
        #expect(token.credential == .registryLogin)
        try talk.judge(
            BundleFixture.answer("{\"access_token\":\"t.1\",\"expires_in\":300}", at: token.url))
        #expect(talk.next()?.url == first.url)
        #expect(talk.next()?.credential == .bearer("t.1"))
        try talk.judge(BundleFixture.answer(Self.index, at: first.url))
        let second = try #require(talk.next())
        #expect(second.url == "\(Self.base)/manifests/sha256:\(Self.manifestHex)")
        try talk.judge(
            BundleFixture.answer(
                Array(Self.manifest.utf8), at: second.url, sha256: Self.manifestHex))
        let manifest = try #require(talk.manifest)
        #expect(talk.next() == nil)
        #expect(manifest.version == "sha256:\(Self.manifestHex)")
        #expect(
            manifest.files
                == [(Self.config, 3), (Self.layer, 7)].map { hex, size in
                    ManifestFile(
                        path: "blobs/sha256/\(hex)", url: "\(Self.base)/blobs/sha256:\(hex)",
                        size: size, digest: Checksum(parsing: "sha256:\(hex)"),
                        sendsCredential: true)
                })
        guard case .bearer(var next) = manifest.access else {
            Issue.record("the blobs need a token")
            return
        }
        #expect(next.seconds == 300)
        #expect(next.request == token)
        try next.receive(BundleFixture.answer("{\"token\":\"t.2\"}", at: token.url))
        #expect(next.text == "t.2")
        #expect(next.seconds == 60)

        let layout = BundleLayout(.oci, directory: "/d", source: source)
        #expect(
            layout.place(of: manifest.files[0], in: manifest.version)
                == "/d/blobs/sha256/\(Self.config)")
        let index = """
            {"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":\
            [{"mediaType":"application/vnd.oci.image.manifest.v1+json",\
            "digest":"sha256:\(Self.manifestHex)","size":\(Self.manifest.utf8.count),\
            "annotations":{"org.opencontainers.image.ref.name":"3.20"}}]}
            """
        #expect(
            layout.finish(manifest) == [
                .write(path: "/d/blobs/sha256/\(Self.manifestHex)", Array(Self.manifest.utf8)),
                .write(path: "/d/oci-layout", Array("{\"imageLayoutVersion\":\"1.0.0\"}".utf8)),
                .write(path: "/d/index.json", Array(index.utf8)),
            ])
    }

    @Test(arguments: [
        ("linux/amd64", manifestHex), ("linux/arm", armHex), ("linux/arm/v7", armHex),
        ("linux/amd64/v2", manifestHex),
    ])
    func thePlatformChoosesTheManifest(_ platform: String, _ hex: String) throws {
        var (_, talk) = try start(platform: platform)
        try talk.judge(BundleFixture.answer(Self.index, at: Self.base))
        #expect(talk.next()?.url == "\(Self.base)/manifests/sha256:\(hex)")
    }

    @Test(arguments: ["linux/riscv64", "linux/arm/v6", "windows/amd64"])
    func aMissingPlatformNamesTheOthers(_ platform: String) throws {
        var (_, talk) = try start(platform: platform)
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(BundleFixture.answer(Self.index, at: Self.base))
        }
        #expect(error.code == .notFound)
        #expect(error.message.contains("linux/amd64, linux/arm/v7"), "\(error)")
    }

    @Test func aRegistryOfThisMachineIsAskedByHTTP() throws {
        let (_, talk) = try start("oci:localhost:5000/a/b@sha256:\(Self.layer)")
        #expect(
            talk.next()?.url == "http://localhost:5000/v2/a/b/manifests/sha256:\(Self.layer)")
    }

    @Test func aRegistryMayWantTheLoginItself() throws {
        var (_, talk) = try start("oci:h.example/a")
        try talk.judge(
            BundleFixture.answer(
                "", at: Self.base, status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]))
        #expect(talk.next()?.credential == .registryLogin)
        try talk.judge(BundleFixture.answer(Self.manifest, at: Self.base))
        #expect(talk.manifest?.access == .basic)
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var source = "oci:alpine:3.20"
        var body = ""
        var status = 200
        var challenge: String?
        var code = LonghaulError.Code.invalidManifest

        var testDescription: String { name }
    }

    static let refused = [
        Row(name: "a page", body: "<!doctype html>"),
        Row(name: "no JSON", body: "{"),
        Row(name: "too deep", body: "{\"x\":" + String(repeating: "[", count: 100_000)),
        Row(name: "an old image", body: "{\"schemaVersion\":1}", code: .unsupported),
        Row(name: "no digest", body: "{\"config\":{\"size\":1},\"layers\":[]}"),
        Row(
            name: "a weak digest",
            body: "{\"config\":{\"size\":1,\"digest\":\"md5:12\"},\"layers\":[]}"),
        Row(
            name: "a digest with a way out",
            body: "{\"config\":{\"size\":1,\"digest\":\"sha256:../../x\"},\"layers\":[]}"),
        Row(name: "no image", status: 404, code: .notFound),
        Row(
            name: "another manifest", source: "oci:alpine@sha256:\(layer)", body: manifest,
            code: .checksumMismatch),
        Row(name: "no challenge", status: 401, code: .unauthorized),
        Row(
            name: "a login by http", status: 401,
            challenge: "Bearer realm=\"http://auth.example/token\"", code: .unauthorized),
        Row(
            name: "a login elsewhere", status: 401,
            challenge: "Bearer realm=\"ftp://auth.example/token\"", code: .unauthorized),
        Row(name: "no realm", status: 401, challenge: "Bearer service=x", code: .unauthorized),
    ]

    @Test(arguments: refused) func anAnswerThatCannotBeUsedIsRefused(_ row: Row) throws {
        var (_, talk) = try start(row.source)
        let headers = row.challenge.map { ["WWW-Authenticate": $0] } ?? [:]
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(
                BundleFixture.answer(row.body, at: Self.base, status: row.status, headers: headers))
        }
        #expect(error.code == row.code)
    }

    @Test func aTokenThatIsRefusedEndsTheCheck() throws {
        for answer in [
            "{}", "{\"token\":\"\"}", "{\"token\":\"a b\"}", "{\"token\":\"a\\r\\nX: y\"}",
        ] {
            var (_, talk) = try start()
            try talk.judge(
                BundleFixture.answer("", at: Self.base, status: 401, headers: Self.challenge))
            let error = try #require(throws: LonghaulError.self) {
                try talk.judge(BundleFixture.answer(answer, at: Self.base))
            }
            #expect(error.code == .unauthorized)
        }
        var (_, talk) = try start()
        try talk.judge(
            BundleFixture.answer("", at: Self.base, status: 401, headers: Self.challenge))
        try talk.judge(BundleFixture.answer("{\"token\":\"t\"}", at: Self.base))
        #expect(throws: LonghaulError.self) {
            try talk.judge(
                BundleFixture.answer("", at: Self.base, status: 401, headers: Self.challenge))
        }
    }

    @Test func indexesOfIndexesEnd() throws {
        var (_, talk) = try start()
        var steps = 0
        #expect(throws: LonghaulError.self) {
            while let request = talk.next() {
                steps += 1
                try talk.judge(
                    BundleFixture.answer(
                        Array(Self.index.utf8), at: request.url, sha256: Self.manifestHex))
            }
        }
        #expect(steps < 10)
    }
}
