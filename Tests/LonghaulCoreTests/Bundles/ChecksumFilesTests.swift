import LonghaulCore
import Testing

/// `sums:`: lists of digests, and signatures beside them.
@Suite struct ChecksumFilesTests {
    private static let sha256 = String(repeating: "ab", count: 32)
    private static let other = String(repeating: "cd", count: 32)
    private static let md5 = String(repeating: "01", count: 16)
    private static let sha512 = String(repeating: "ef", count: 64)
    private static let url = "https://h/d/SHA256SUMS"

    private func files(_ body: String) throws -> [ManifestFile] {
        try BundleFixture.manifest(of: "sums:\(Self.url)", from: body).files
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var line: String
        var path: String
        var url: String
        var algorithm = Checksum.Algorithm.sha256

        var testDescription: String { line }
    }

    static let rows = [
        Row(line: "\(sha256)  a", path: "a", url: "a"),
        Row(line: "\(sha256.uppercased()) *a b", path: "a b", url: "a%20b"),
        Row(line: "\(sha256)  ./x/é#1", path: "x/é#1", url: "x/%C3%A9%231"),
        Row(line: "\\\(sha256)  a\\\\b", path: "a\\b", url: "a%5Cb"),
        Row(line: "\(sha256)   a", path: " a", url: "%20a"),
        Row(line: "\(md5)  a", path: "a", url: "a", algorithm: .md5),
        Row(line: "\(sha512)  a", path: "a", url: "a", algorithm: .sha512),
        Row(line: "SHA256 (a (1).iso) = \(sha256)", path: "a (1).iso", url: "a%20%281%29.iso"),
        Row(line: "SHA2-512 (a) = \(sha512)", path: "a", url: "a", algorithm: .sha512),
        Row(line: "MD5 (a) = \(md5)", path: "a", url: "a", algorithm: .md5),
    ]

    @Test(arguments: rows) func aLineNamesAFile(_ row: Row) throws {
        let file = try #require(try files("# a: 5 bytes\n\n\(row.line)\r\n").first)
        #expect(file.path == row.path)
        #expect(file.url == "https://h/d/" + row.url)
        #expect(file.digest?.algorithm == row.algorithm)
        #expect(file.sendsCredential)
    }

    @Test(arguments: [
        "a", sha256, "\(sha256)  ", "\(sha256) a", "\(sha256)a  b", "12  a", "SHA256 (a) = 12",
        "SHA256 () = \(sha256)", "MD5 (a) = \(sha256)", "SHA3 (a) = \(sha256)",
        "\\\(sha256)  a\\x", "\\\(sha256)  a\\nb", "\(sha256)  ../a", "\(sha256)  /a",
        "\(sha256)  a//b", "\(sha256)  .", "\(sha256)  a\u{1B}[2J", "\(sha256)  a/",
        "\(sha256)  ././a", "\(other)  ok",
    ])
    func aBrokenLineIsNamed(_ line: String) throws {
        let error = try #require(throws: LonghaulError.self) {
            try files("\(Self.sha256)  ok\n\n\(line)\n")
        }
        #expect(error.code == .invalidManifest)
        #expect(error.message.contains("line 3"), "\(error)")
    }

    @Test func theStrongestDigestOfAFileCounts() throws {
        let list = try files(
            "MD5 (a) = \(Self.md5)\nSHA256 (a) = \(Self.sha256)\nSHA512 (a) = \(Self.sha512)\n")
        #expect(list.map(\.digest?.description) == ["sha256:\(Self.sha256)"])
    }

    @Test func namesAreBesideTheListThatAnswered() throws {
        var talk = ManifestSources.conversation(
            for: try BundleFixture.source("sums:https://h/latest/SUMS"))
        try talk.judge(
            BundleFixture.answer("\(Self.sha256)  a", at: "https://mirror/v1/SUMS?b=/c"))
        let file = try #require(talk.manifest?.files.first)
        #expect(file.url == "https://mirror/v1/a")
        #expect(!file.sendsCredential)
    }

    // MARK: - Signatures

    private func talk(_ form: SignatureForm, _ body: String) throws -> any ManifestConversation {
        var talk = ManifestSources.conversation(
            for: try BundleFixture.source("sums:\(Self.url)"), signedBy: form)
        try talk.judge(BundleFixture.answer(body, at: Self.url))
        return talk
    }

    @Test func aSignatureIsLookedForBesideTheList() throws {
        var talk = try talk(.openPGP, "\(Self.sha256)  a")
        for suffix in [".gpg", ".sig"] {
            let request = try #require(talk.next())
            #expect(request.url == Self.url + suffix)
            #expect(request.maxSize < ManifestLimits.bytes)
            try talk.judge(BundleFixture.answer("", at: request.url, status: 404))
        }
        #expect(talk.manifest == nil)
        try talk.judge(BundleFixture.answer("signed", at: Self.url + ".sign"))
        let signature = try #require(talk.manifest?.signature)
        #expect(talk.next() == nil)
        #expect(signature.signature == Array("signed".utf8))
        #expect(signature.data == Array("\(Self.sha256)  a".utf8))
    }

    @Test func aListWithoutASignatureIsRefused() throws {
        var talk = try talk(.minisign, "\(Self.sha256)  a")
        try talk.judge(BundleFixture.answer("", at: Self.url, status: 404))
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(BundleFixture.answer("<html>not found", at: Self.url))
        }
        #expect(error.code == .invalidManifest)
        #expect(talk.manifest == nil)
    }

    private static let clear = """
        -----BEGIN PGP SIGNED MESSAGE-----
        Hash: SHA256

        # - a comment
        - \(sha256)  a
        -----BEGIN PGP SIGNATURE-----

        abcd
        -----END PGP SIGNATURE-----

        """

    @Test func onlyTheSignedTextOfAListCounts() throws {
        let signed = try talk(.openPGP, Self.clear)
        #expect(signed.next() == nil)
        #expect(signed.manifest?.files.map(\.path) == ["a"])
        #expect(signed.manifest?.signature?.signature == nil)
        #expect(try files(Self.clear).map(\.path) == ["a"])

        let later = Self.clear + "\(Self.sha256)  b\n"
        #expect(throws: LonghaulError.self) { try talk(.openPGP, later) }
        let earlier = "\(Self.sha256)  b\n" + Self.clear
        #expect(throws: LonghaulError.self) { try talk(.openPGP, earlier) }
        // gpgv(1) begins at the second message.
        let twice = Self.clear.replacing("MESSAGE-----", with: "MESSAGE-----x")
            .replacing("\nabcd\n-----END PGP SIGNATURE-----\n", with: Self.clear)
        #expect(throws: LonghaulError.self) { try talk(.openPGP, twice) }
        let open = String(Self.clear.prefix(140))
        #expect(throws: LonghaulError.self) { try talk(.openPGP, open) }
    }

    @Test func aSignatureOfAnotherKindIsRefused() throws {
        #expect(throws: LonghaulError.self) { try talk(.signify, Self.clear) }
        let list = "untrusted comment: verify with base.pub\nRWQ=\nSHA256 (a) = \(Self.sha256)\n"
        #expect(try talk(.signify, list).manifest?.files.map(\.path) == ["a"])
        #expect(throws: LonghaulError.self) { try talk(.openPGP, list) }
    }

    @Test func aLineIsCountedInTheSignedDocument() throws {
        let broken = Self.clear.replacing("- \(Self.sha256)  a", with: "- \(Self.sha256) a")
        let error = try #require(throws: LonghaulError.self) { try files(broken) }
        #expect(error.message.contains("line 5"), "\(error)")
    }
}
