import LonghaulCore
import Testing

/// Tokens, logins and keys.
@Suite struct BundleSecretTests {
    private func secret(_ source: String, _ environment: [String: String]) throws -> BundleSecret? {
        try BundleFixture.source(source).secret(in: environment)
    }

    @Test func tokensComeFromTheEnvironmentOrAFile() throws {
        #expect(try secret("hf:a/b", ["HF_TOKEN": "t", "HF_HOME": "/h"]) == .token("t"))
        #expect(try secret("hf:a/b", ["HF_TOKEN": "", "HF_HOME": "/h"]) == .tokenFile("/h/token"))
        #expect(
            try secret("hf:a/b", ["HOME": "/u"]) == .tokenFile("/u/.cache/huggingface/token"))
        #expect(try secret("github:a/b", ["GITHUB_TOKEN": "a", "GH_TOKEN": "b"]) == .token("a"))
        #expect(try secret("github:a/b", ["GH_TOKEN": "b"]) == .token("b"))
        #expect(try secret("github:a/b", [:]) == nil)
        #expect(
            try secret("oci:a/b", ["HOME": "/u", "XDG_RUNTIME_DIR": "/run/u"])
                == .logins(["/u/.docker/config.json", "/run/u/containers/auth.json"]))
        #expect(try secret("zenodo:1", ["HF_TOKEN": "t"]) == nil)
        #expect(BundleSource.hubCache(["HOME": "/u"]) == "/u/.cache/huggingface/hub")
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var image: String
        var file: String
        var login: String?

        var testDescription: String { "\(image) in \(file)" }
    }

    /// `user:pass` and `other:pass`.
    private static let (own, other) = ("dXNlcjpwYXNz", "b3RoZXI6cGFzcw==")

    static let rows = [
        Row(
            image: "oci:alpine",
            file: "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"\(own)\"}}}",
            login: "user:pass"),
        Row(
            image: "oci:ghcr.io/a/b",
            file: "{\"auths\":{\"ghcr.io\":{\"auth\":\"\(own)\"},\"x\":{\"auth\":\"\(other)\"}}}",
            login: "user:pass"),
        Row(
            image: "oci:quay.io/a/b",
            file: "{\"auths\":{\"quay.io\":{\"auth\":\"\(own)\"},"
                + "\"quay.io/a\":{\"auth\":\"\(other)\"}}}",
            login: "other:pass"),
        Row(
            image: "oci:ghcr.io/a/b", file: "{\"auths\":{\"evil.ghcr.io\":{\"auth\":\"\(own)\"}}}"),
        Row(image: "oci:ghcr.io/a/b", file: "{\"credsStore\":\"desktop\"}"),
        Row(image: "oci:ghcr.io/a/b", file: "{}"),
    ]

    @Test(arguments: rows) func aLoginIsThatOfTheRegistry(_ row: Row) throws {
        let image = try BundleFixture.source(row.image)
        #expect(try RegistryLogins.login(for: image, in: Array(row.file.utf8)) == row.login)
    }

    @Test(arguments: [
        "{\"auths\":{\"ghcr.io\":{}},\"credsStore\":\"desktop\"}",
        "{\"credHelpers\":{\"ghcr.io\":\"x\"}}",
        "{\"auths\":{\"ghcr.io\":{\"identitytoken\":\"x\"}}}", "{", "",
    ])
    func aLoginThatAnotherProgramHasIsRefused(_ file: String) throws {
        let image = try BundleFixture.source("oci:ghcr.io/a/b")
        let error = try #require(throws: LonghaulError.self) {
            try RegistryLogins.login(for: image, in: Array(file.utf8))
        }
        #expect(error.code == .unauthorized)
    }

    // MARK: - Keys

    @Test(arguments: [
        ("untrusted comment: minisign public key 12\nRWQ\n", SignatureForm.minisign),
        ("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n", .minisign),
        ("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\r\n", .minisign),
        ("untrusted comment: openbsd 7.2 base public key\nRWQ\n", .signify),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n", .openPGP), ("\u{99}\u{1}", .openPGP),
    ])
    func aKeyIsOfItsKind(_ key: String, _ form: SignatureForm) {
        #expect(SignatureForm(key: Array(key.utf8)) == form)
    }

    @Test func armourIsTakenOffAKey() {
        let block = """
            -----BEGIN PGP PUBLIC KEY BLOCK-----
            Comment: a key

            AQID
            BA==
            =abcd
            -----END PGP PUBLIC KEY BLOCK-----

            """
        #expect(SignatureCheck.binaryKey(Array((block + block).utf8)) == [1, 2, 3, 4, 1, 2, 3, 4])
        #expect(SignatureCheck.binaryKey([0x99, 1, 2]) == [0x99, 1, 2])
    }

    @Test func aSignatureIsCheckedByAProgramOfItsKind() {
        let files = SignatureCheck.Files(key: "/k", data: "/d", signature: "/s")
        let commands = { (form: SignatureForm, isInline: Bool) in
            SignatureCheck(form, of: [], signature: isInline ? nil : []).commands(files)
        }
        #expect(
            commands(.openPGP, false) == [
                ["gpgv", "--keyring", "/k", "/s", "/d"], ["sqv", "--keyring", "/k", "/s", "/d"],
            ])
        #expect(commands(.openPGP, true) == [["gpgv", "--keyring", "/k", "/d"]])
        #expect(
            commands(.minisign, false) == [
                ["minisign", "-V", "-q", "-p", "/k", "-x", "/s", "-m", "/d"]
            ])
        #expect(
            commands(.signify, false).map { $0.dropFirst() }
                == [
                    ["-V", "-p", "/k", "-x", "/s", "-m", "/d"],
                    ["-V", "-p", "/k", "-x", "/s", "-m", "/d"],
                ])
        #expect(commands(.signify, true)[0].contains("-e"))
    }
}
