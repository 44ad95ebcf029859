import LonghaulCore
import Testing

/// Answers of sources with random bytes changed: a conversation refuses them, or has a manifest
/// whose files stay in the bundle and whose secrets stay with the source.
@Suite struct BundleMutationTests {
    private static let hex = String(repeating: "ab", count: 32)
    private static let blob = String(repeating: "ab", count: 20)

    struct Row: CustomTestStringConvertible, Sendable {
        var source: String
        var answers: [String]

        var testDescription: String { source }
    }

    static let rows = [
        Row(
            source: "list:https://h/l",
            answers: ["{\"path\":\"a/b\",\"url\":\"x/../y\",\"size\":5,\"sha256\":\"\(hex)\"}\n"]),
        Row(
            source: "sums:https://h/l",
            answers: ["\\\(hex)  a\\\\b\nSHA256 (c/d) = \(hex)\n# x\n\(hex) *./e\n"]),
        Row(
            source: "hf:o/m",
            answers: [
                "{\"sha\":\"\(blob)\"}",
                "[{\"type\":\"file\",\"oid\":\"\(blob)\",\"size\":5,\"path\":\"a/b\","
                    + "\"lfs\":{\"oid\":\"\(hex)\",\"size\":5}}]",
            ]),
        Row(
            source: "github:o/r",
            answers: [
                "{\"tag_name\":\"v\",\"assets\":[{\"name\":\"a\",\"size\":5,\"state\":\"uploaded\","
                    + "\"url\":\"https://api.github.com/x\",\"browser_download_url\":\"https://g/a\"}]}"
            ]),
        Row(
            source: "zenodo:1",
            answers: [
                "{\"id\":1,\"files\":[{\"key\":\"a\",\"size\":5,\"links\":"
                    + "{\"self\":\"https://zenodo.org/a\"}}]}"
            ]),
        Row(
            source: "oci:a/b",
            answers: [
                "{\"manifests\":[{\"digest\":\"sha256:\(hex)\",\"size\":5,"
                    + "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}}]}",
                "{\"config\":{\"digest\":\"sha256:\(hex)\",\"size\":5},\"layers\":[]}",
            ]),
        Row(
            source: "s3://b/p/",
            answers: [
                "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p/a</Key>"
                    + "<Size>5</Size><ETag>&quot;x&quot;</ETag></Contents></ListBucketResult>"
            ]),
    ]

    @Test(arguments: rows) func aChangedAnswerIsRefusedOrSafe(_ row: Row) throws {
        var random = SeededRandom(seed: 7)
        var wholes = 0
        for _ in 0..<1_000 {
            let changes = Int.random(in: 0...3, using: &random)
            let bodies = row.answers.map { mutated(Array($0.utf8), changes, &random) }
            guard let manifest = manifest(try BundleFixture.source(row.source), bodies) else {
                continue
            }
            wholes += 1
            #expect(!manifest.version.isEmpty && !manifest.version.contains("/"))
            for file in manifest.files {
                #expect(file.size ?? 0 >= 0)
                #expect((try? URLParts(file.url)) != nil, "\(file.url)")
                // The names of assets and records are checked by the set.
                if (try? ManifestNames.check([file], foldsCase: false)) != nil {
                    #expect(!file.path.split(separator: "/").contains(".."))
                }
            }
        }
        // Some changes leave an answer as good as it was.
        #expect(wholes > 30)
    }

    private func mutated(
        _ bytes: [UInt8], _ changes: Int, _ random: inout SeededRandom
    ) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<changes {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
            default: bytes.replaceSubrange(place..., with: bytes[..<place])
            }
            if bytes.isEmpty { return [0] }
        }
        return bytes
    }

    private func manifest(_ source: BundleSource, _ bodies: [[UInt8]]) -> Manifest? {
        var source = source
        if source.endpoint == nil, source.description.hasPrefix("s3") {
            source.endpoint = "https://s3.example/b"
        }
        var talk = ManifestSources.conversation(for: source)
        for body in bodies {
            guard let request = talk.next() else { break }
            let answer = BundleFixture.answer(body, at: request.url, sha256: Self.hex)
            guard (try? talk.judge(answer)) != nil else { return nil }
        }
        return talk.manifest
    }
}
