import LonghaulCore
import Testing

/// Texts of sources, and what is recorded of them.
@Suite struct BundleSourceTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var text: String
        var canonical: String
        var name: String
        var endpoint: String?

        var testDescription: String { text }
    }

    static let digest = "sha256:" + String(repeating: "ab", count: 32)

    static let rows = [
        Row(text: "list:a/files.jsonl", canonical: "list:/home/u/a/files.jsonl", name: "files"),
        Row(text: "list:/x/.jsonl", canonical: "list:/x/.jsonl", name: "jsonl"),
        Row(text: "list:-", canonical: "list:-", name: "list"),
        Row(
            text: "list:https://h/models.list?a=/b", canonical: "list:https://h/models.list?a=/b",
            name: "models"),
        Row(
            text: "sums:https://h/24.04/SHA256SUMS", canonical: "sums:https://h/24.04/SHA256SUMS",
            name: "24.04"),
        Row(text: "sums:http://h/SHA256SUMS", canonical: "sums:http://h/SHA256SUMS", name: "h"),
        Row(
            text: "hf:Qwen/Qwen3-8B", canonical: "hf:Qwen/Qwen3-8B@main", name: "Qwen3-8B",
            endpoint: "https://huggingface.co"),
        Row(
            text: "hf:datasets/a/b@refs/pr/1", canonical: "hf:datasets/a/b@refs/pr/1", name: "b",
            endpoint: "https://huggingface.co"),
        Row(
            text: "HF:models/a/b", canonical: "hf:a/b@main", name: "b",
            endpoint: "https://huggingface.co"),
        Row(
            text: "github:o/r", canonical: "github:o/r", name: "r",
            endpoint: "https://api.github.com"),
        Row(
            text: "github:o/r@@scope/x@1.0", canonical: "github:o/r@@scope/x@1.0", name: "r",
            endpoint: "https://api.github.com"),
        Row(
            text: "zenodo:0123", canonical: "zenodo:123", name: "zenodo-123",
            endpoint: "https://zenodo.org"),
        Row(
            text: "oci:alpine", canonical: "oci:docker.io/library/alpine:latest", name: "alpine",
            endpoint: "https://registry-1.docker.io"),
        Row(
            text: "oci:localhost:5000/a/b:1.2", canonical: "oci:localhost:5000/a/b:1.2", name: "b",
            endpoint: "http://localhost:5000"),
        Row(
            text: "oci:ghcr.io/a/b@\(digest)", canonical: "oci:ghcr.io/a/b@\(digest)", name: "b",
            endpoint: "https://ghcr.io"),
        Row(
            text: "oci:a/b:t@\(digest)", canonical: "oci:docker.io/a/b:t@\(digest)", name: "b",
            endpoint: "https://registry-1.docker.io"),
        Row(text: "s3://bucket/a/b/", canonical: "s3://bucket/a/b/", name: "b"),
        Row(text: "s3://bucket/", canonical: "s3://bucket/", name: "bucket"),
    ]

    @Test(arguments: rows) func aSourceIsRecorded(_ row: Row) throws {
        #expect(BundleSource.isSource(row.text))
        let source = try BundleFixture.source(row.text)
        #expect(source.description == row.canonical)
        #expect(source.defaultName == row.name)
        #expect(source.endpoint == row.endpoint)
        #expect(try BundleFixture.source(row.canonical) == source)
        #expect(try source.recorded(environment: [:]) == source)
    }

    @Test(arguments: [
        "list:", "list:https://", "list:https://u:p@h/a", "sums:SHA256SUMS", "sums:/a/b", "hf:",
        "hf:a/b/c", "hf:../b", "hf:a/b@", "hf:a/b@../x", "hf:a/b@x//y", "hf:a--b/c", "hf:a/b@x y",
        "github:r", "github:o/r@", "github:o/r/x", "zenodo:", "zenodo:0", "zenodo:-1", "zenodo:1a",
        "oci:", "oci:A", "oci:a@sha256:12", "oci:a:", "oci:a/", "oci:u@h/a", "oci:-a", "oci:a:.b",
        "s3://bucket/key", "s3:///a/", "s3://", "ftp://h/a/", "Qwen/Qwen3-8B",
    ])
    func aSourceThatNamesNothingIsRefused(_ text: String) {
        #expect {
            try BundleFixture.source(text)
        } throws: { error in
            (error as? LonghaulError)?.code == .invalidRequest
        }
    }

    @Test(arguments: ["https://h/a", "s3://bucket/key", "s3://", "file:list", "a", ""])
    func urlsAreNoSources(_ text: String) {
        #expect(!BundleSource.isSource(text))
    }

    @Test func theServiceIsThatOfTheEnvironment() throws {
        let environment = [
            "HF_ENDPOINT": "http://127.0.0.1:8000/", "GITHUB_API_URL": "https://ghe/api/v3",
            "ZENODO_URL": "",
        ]
        #expect(
            try BundleFixture.source("hf:a/b", environment).endpoint == "http://127.0.0.1:8000")
        #expect(
            try BundleFixture.source("github:a/b", environment).endpoint == "https://ghe/api/v3")
        #expect(
            try BundleFixture.source("zenodo:1", environment).endpoint == "https://zenodo.org")
        #expect(throws: LonghaulError.self) {
            try BundleFixture.source("hf:a/b", ["HF_ENDPOINT": "https://me:secret@h"])
        }
    }

    @Test func onlyAnImageHasAPlatform() throws {
        let image = try BundleFixture.source("oci:a/b", platform: "linux/arm/v7")
        #expect(image.platform == "linux/arm/v7")
        #expect(try BundleFixture.source("oci:a/b").platform?.hasPrefix("linux/") == true)
        for platform in ["linux", "linux/", "a/b/c/d"] {
            #expect(throws: LonghaulError.self) {
                try BundleFixture.source("oci:a/b", platform: platform)
            }
        }
        #expect(throws: LonghaulError.self) {
            try BundleFixture.source("hf:a/b", platform: "linux/amd64")
        }
    }

    @Test func makersAreCheckedWhenTheyAreRecorded() throws {
        let image = BundleSource.ociImage("alpine:3.20", platform: "linux/arm64")
        let text = try image.recorded(environment: [:]).description
        #expect(text == "oci:docker.io/library/alpine:3.20")
        let objects = BundleSource.s3("b", prefix: "p/")
        #expect(try objects.recorded(environment: [:]).description == "s3://b/p/")
        #expect(throws: LonghaulError.self) {
            try BundleSource.s3("b", prefix: "p").recorded(environment: [:])
        }
        #expect(throws: LonghaulError.self) {
            try BundleSource.list("files.jsonl").recorded(environment: [:])
        }
    }
}
