import LonghaulCore

/// Answers of sources, for tests of conversations.
enum BundleFixture {
    static func source(
        _ text: String, _ environment: [String: String] = [:], platform: String? = nil
    ) throws -> BundleSource {
        try BundleSource(
            parsing: text, environment: environment, platform: platform, directory: "/home/u")
    }

    static func answer(
        _ body: String, at url: String, status: Int = 200, headers: [String: String] = [:]
    ) -> ManifestAnswer {
        answer(Array(body.utf8), at: url, status: status, headers: headers)
    }

    static func answer(
        _ body: [UInt8], at url: String, status: Int = 200, headers: [String: String] = [:],
        sha256: String = String(repeating: "e", count: 64)
    ) -> ManifestAnswer {
        var fields = HeaderFields()
        for (name, value) in headers { fields[name] = value }
        return ManifestAnswer(
            status: status, headers: fields, url: url, body: body, sha256: sha256)
    }

    /// Judges one answer of a list; `nil` = it was no manifest yet.
    static func manifest(of source: String, from body: String) throws -> Manifest {
        var talk = ManifestSources.conversation(for: try self.source(source))
        guard let request = talk.next() else { throw Missing() }
        try talk.judge(answer(body, at: request.url))
        guard talk.next() == nil, let manifest = talk.manifest else { throw Missing() }
        return manifest
    }

    struct Missing: Error {}
}
