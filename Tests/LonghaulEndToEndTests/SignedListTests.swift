import Foundation
import LonghaulTestSupport
import Testing

/// Lists of checksums with signatures that programs of others have made.
@Suite struct SignedListTests {
    enum Form: String, CaseIterable {
        case openPGP, inlineOpenPGP, minisign, signify
    }

    private struct Signer {
        let form: Form
        let scratch: Scratch

        /// A key pair: `NAME.pub` for the check.
        func makeKey(_ name: String) async throws {
            switch form {
            case .openPGP, .inlineOpenPGP:
                try await run(
                    "gpg",
                    gpg(name) + [
                        "--quick-gen-key", "\(name) <\(name)@example.org>", "ed25519", "sign",
                        "never",
                    ])
                try await run("gpg", gpg(name) + ["--output", file("\(name).pub"), "--export"])
            case .minisign:
                try await run(
                    "minisign", ["-G", "-W", "-p", file("\(name).pub"), "-s", file("\(name).sec")])
            case .signify:
                try await run(
                    "signify-openbsd",
                    ["-G", "-n", "-p", file("\(name).pub"), "-s", file("\(name).sec")])
            }
        }

        /// Signs a list in place, or beside it.
        func sign(_ list: String, with name: String) async throws {
            switch form {
            case .openPGP:
                try await run(
                    "gpg", gpg(name) + ["--output", list + ".gpg", "--detach-sign", list])
            case .inlineOpenPGP:
                try await run("gpg", gpg(name) + ["--output", list + ".new", "--clearsign", list])
                #expect(rename(list + ".new", list) == 0)
            case .minisign:
                try await run("minisign", ["-S", "-s", file("\(name).sec"), "-m", list])
            case .signify:
                try await run("signify-openbsd", ["-S", "-s", file("\(name).sec"), "-m", list])
            }
        }

        func end() async throws {
            for name in ["right", "other"] where scratch.exists(name) {
                _ = try await CLIProcess.run(
                    "/usr/bin/gpgconf", ["--homedir", file(name), "--kill", "all"])
            }
        }

        func file(_ name: String) -> String { scratch(name) }

        private func gpg(_ name: String) throws -> [String] {
            let home = try scratch.directory(name)
            chmod(home, 0o700)
            return ["--homedir", home, "--batch", "--yes", "--quiet", "--passphrase", ""]
        }

        private func run(_ program: String, _ arguments: [String]) async throws {
            let path = try #require(InstalledProgram.find(program), "\(program) is not installed")
            let result = try await CLIProcess.run(path, arguments)
            #expect(result.status == 0, "\(program) \(arguments): \(result.errors)")
        }
    }

    @Test(arguments: Form.allCases) func aSignatureIsChecked(_ form: Form) async throws {
        let hub = try await HubServer.start()
        let home = try LonghaulHome()
        let signer = Signer(form: form, scratch: try Scratch("keys"))
        let list = hub.scratch("plain/SHA256SUMS")
        func write(_ name: String) throws {
            try hub.write("content\n", to: "plain/\(name)")
            let digest = "434728a410a78f56fc1b5899c3593436e61ab0c731e9072d95e96db290205e53"
            try hub.write("\(digest)  \(name)\n", to: "plain/SHA256SUMS")
        }
        func get(_ key: String, status: Int32) async throws -> CLIProcess.Result {
            let base = try #require(hub.environment["HF_ENDPOINT"])
            let directory = home.file("out-\(UInt32.random(in: 0 ... .max))")
            let result = try await home.run(
                "get", "sums:\(base)/plain/SHA256SUMS", "-d", directory, "--signed-by",
                signer.file(key), "--json")
            #expect(result.status == status, "\(result.output)\(result.errors)")
            #expect(
                status == 0 || !FileManager.default.fileExists(atPath: "\(directory)/file"))
            return result
        }
        try await signer.makeKey("right")
        try await signer.makeKey("other")

        try write("file")
        let unsigned = try await get("right.pub", status: 5)
        #expect(try unsigned.rows.first?["error"]["code"] == "invalidManifest")

        try await signer.sign(list, with: "right")
        let signed = try await get("right.pub", status: 0)
        let version = try #require(try signed.rows.first?["version"])
        #expect(version["signedBy"].string == signer.file("right.pub"))
        _ = try await get("other.pub", status: 5)

        // The list was changed after it was signed.
        let text = try String(contentsOfFile: list, encoding: .utf8)
        try text.replacingOccurrences(of: "  file", with: "  tile").write(
            toFile: list, atomically: true, encoding: .utf8)
        try hub.write("content\n", to: "plain/tile")
        _ = try await get("right.pub", status: 5)
        try await signer.end()
    }
}
