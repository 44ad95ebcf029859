import Foundation
import LonghaulTestSupport
import Testing

/// Bundles from hubs, releases, records and registries.
@Suite struct BundleSourceTests {
    private func run(
        _ home: LonghaulHome, _ arguments: String..., status: Int32 = 0,
        location: SourceLocation = #_sourceLocation
    ) async throws -> CLIProcess.Result {
        let result = try await home.start(arguments).wait()
        #expect(
            result.status == status, "\(arguments): \(result.output)\(result.errors)",
            sourceLocation: location)
        return result
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    private let large = String(repeating: "0123456789abcdef", count: 1_000)

    @Test func aRepositoryIsACacheOfTheHubsOwnClient() async throws {
        let hub = try await HubServer.start()
        let files = [
            "README.md": "# model\n", "config.json": "{}", "weights.bin": large,
            "sub/same.bin": large, "sub/deep/small.txt": "small\n",
        ]
        for (path, text) in files { try hub.write(text, to: "hub/models/org/model/\(path)") }
        let home = try LonghaulHome().with(
            hub.environment.merging(["HF_TOKEN": "hf_token"]) { $1 })
        let cache = home.file("cache")
        _ = try await run(
            home, "bundle", "add", "m", "hf:org/model", "--layout", "hf-cache", "--to", cache)
        let ensured = try await run(home, "bundle", "ensure", "m")
        let snapshot = String(ensured.output.dropLast())
        let commit = try text("\(cache)/models--org--model/refs/main")
        #expect(snapshot == "\(cache)/models--org--model/snapshots/\(commit)")
        for (path, wanted) in files { #expect(try text("\(snapshot)/\(path)") == wanted) }
        #expect(
            FileManager.default.fileExists(
                atPath: "\(cache)/models--org--model/trees/\(commit).json"))
        // Equal bytes come once, and the token never goes to the storage.
        let storage = try hub.log.filter { $0["port"] == "storage" && $0["method"] == "GET" }
        #expect(storage.count == 1)
        #expect(storage.allSatisfy { $0["authorized"] == false })
        #expect(try hub.log.contains { $0["port"] == "hub" && $0["authorized"] == true })
        let shown = try await run(home, "bundle", "show", "m", "--json")
        #expect(!shown.output.contains("hf_token"))
        #expect(try shown.rows.first?["source"] == "hf:org/model@main")
        _ = try await run(home, "bundle", "verify", "m")
        // The hub's own client believes it, offline.
        guard await PythonEnvironment.isReady else { return }
        let opened = try await PythonEnvironment.run("hf-cache.py", [cache, "org/model"])
        #expect(opened.output == snapshot + "\n", "\(opened.errors)")
    }

    /// A second check costs answers without bodies, also where the list has pages.
    @Test func aCheckAsksWhetherTheListHasChanged() async throws {
        let hub = try await HubServer.start()
        for number in 1...8 { try hub.write("\(number)", to: "hub/models/org/many/f\(number)") }
        let home = try LonghaulHome().with(hub.environment)
        let out = home.file("out")
        _ = try await run(home, "get", "hf:org/many", "-d", out)
        for _ in 1...2 {
            let before = try hub.log.count
            let checked = try await run(home, "bundle", "check", "many", "--json")
            #expect(try checked.rows.first?["changed"] == false)
            let asked = try hub.log.dropFirst(before)
            #expect(asked.count == 4 && asked.allSatisfy { $0["status"] == 304 }, "\(asked)")
        }
        try hub.write("other", to: "hub/models/org/many/f8")
        let checked = try await run(home, "bundle", "check", "many", "--json")
        #expect(try checked.rows.first?["changed"] == true)
        _ = try await run(home, "bundle", "ensure", "many", "--latest")
        #expect(try text("\(out)/f8") == "other")
        _ = try await run(home, "bundle", "remove", "many")
        let left = try FileManager.default.contentsOfDirectory(atPath: home.state + "/bundles")
        #expect(left == [])
    }

    @Test func aRepositoryThatIsNotOpenSaysWhatToDo() async throws {
        let hub = try await HubServer.start()
        try hub.write("x", to: "hub/models/private/model/x")
        try hub.write("x", to: "hub/models/gated/model/x")
        let home = try LonghaulHome().with(hub.environment)
        let refused = try await run(
            home, "get", "hf:private/model", "-d", home.file("a"), "--json", status: 1)
        #expect(try refused.rows.first?["error"]["code"] == "unauthorized")
        let gated = try await run(
            home, "get", "hf:gated/model", "-d", home.file("b"), "--json", status: 1)
        #expect(try gated.rows.first?["error"]["code"] == "forbidden")
        let owner = home.with(["HF_TOKEN": "hf_token"])
        _ = try await run(owner, "get", "hf:private/model", "-d", home.file("c"))
        #expect(try text(home.file("c/x")) == "x")
    }

    @Test func aReleaseWaitsOutItsRateLimitAndIsPinned() async throws {
        let hub = try await HubServer.start()
        try hub.write("one", to: "releases/owner/tool/v1/a.tar.gz")
        try hub.write("two", to: "releases/owner/tool/v2/a.tar.gz")
        try hub.write(large, to: "releases/owner/tool/v2/b.bin")
        try hub.write("", to: "limited")
        let home = try LonghaulHome().with(hub.environment)
        let out = home.file("tool")
        _ = try await run(home, "get", "github:owner/tool", "-d", out)
        #expect(try text("\(out)/a.tar.gz") == "two" && text("\(out)/b.bin") == large)
        _ = try await run(home, "get", "github:owner/tool@v1", "-d", home.file("old"))
        #expect(try text(home.file("old/a.tar.gz")) == "one")
        let shown = try await run(home, "bundle", "show", "tool", "--json").rows.first
        #expect(shown?["version"]["proved"] == true)
    }

    @Test func aRecordIsWholeButNotAuthentic() async throws {
        let hub = try await HubServer.start()
        try hub.write("data", to: "records/7/data.csv")
        try hub.write(large, to: "records/7/more.bin")
        let home = try LonghaulHome().with(hub.environment)
        let got = try await run(home, "get", "zenodo:7", "-d", home.file("out"), "--json")
        #expect(try got.rows.first?["version"]["authentic"] == false)
        #expect(try text(home.file("out/more.bin")) == large)
    }

    /// A token that is refused in the middle is renewed; what was written is an image again.
    @Test(.enabled(if: RegistryServer.isInstalled))
    func anImageIsFetchedWithTokensThatEnd() async throws {
        let hub = try await HubServer.start()
        let registry = try await RegistryServer.start()
        try hub.write("\(registry.port)", to: "registry")
        let home = try LonghaulHome().with(hub.environment)
        let image = try image(in: home.file("image"))
        try await registry.push(image, as: "some/image:one")
        try hub.write("", to: "revoke")
        let docker = try home.scratch.directory(".docker")
        let login = Data("user:word".utf8).base64EncodedString()
        try #"{"auths":{"\#(hub.registry)":{"auth":"\#(login)"}}}"#.write(
            toFile: "\(docker)/config.json", atomically: true, encoding: .utf8)
        let out = home.file("out")
        _ = try await run(home, "get", "oci:\(hub.registry)/some/image:one", "-d", out)
        #expect(!FileManager.default.fileExists(atPath: hub.scratch("revoke")))
        let tokens = try hub.log.filter {
            $0["path"].string?.hasPrefix("/token") == true && $0["status"] == 200
        }
        #expect((2...4).contains(tokens.count))
        let inspected = try await CLIProcess.run(
            try #require(InstalledProgram.find("skopeo")), ["inspect", "oci:\(out):one"])
        #expect(inspected.status == 0, "\(inspected.errors)")
        let copied = try await CLIProcess.run(
            try #require(InstalledProgram.find("skopeo")),
            ["--insecure-policy", "copy", "oci:\(out):one", "oci:\(home.file("copy"))"])
        #expect(copied.status == 0, "\(copied.errors)")
        let read = try await CLIProcess.run(
            try #require(InstalledProgram.find("umoci")), ["stat", "--image", "\(out):one"])
        #expect(read.status == 0, "\(read.errors)")
    }

    /// An image with some layers, as an OCI layout.
    private func image(in directory: String) throws -> String {
        let blobs = "\(directory)/blobs/sha256"
        try FileManager.default.createDirectory(
            atPath: blobs, withIntermediateDirectories: true)
        func blob(_ text: String, _ type: String) throws -> String {
            let data = Data(text.utf8)
            let digest = try sha256(data, in: directory)
            try data.write(to: URL(fileURLWithPath: "\(blobs)/\(digest)"))
            return #"{"mediaType":"application/vnd.oci.image.\#(type)","#
                + #""digest":"sha256:\#(digest)","size":\#(data.count)}"#
        }
        let layers = try (1...8).map {
            try blob("layer \($0)" + large, "layer.v1.tar")
        }
        let config = try blob(
            #"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"#
                + #""config":{}}"#, "config.v1+json")
        let manifest = try blob(
            #"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","#
                + #""config":\#(config),"layers":[\#(layers.joined(separator: ","))]}"#,
            "manifest.v1+json")
        try #"{"schemaVersion":2,"manifests":[\#(manifest)]}"#.write(
            toFile: "\(directory)/index.json", atomically: true, encoding: .utf8)
        try #"{"imageLayoutVersion":"1.0.0"}"#.write(
            toFile: "\(directory)/oci-layout", atomically: true, encoding: .utf8)
        return directory
    }

    private func sha256(_ data: Data, in directory: String) throws -> String {
        let file = "\(directory)/hashed"
        try data.write(to: URL(fileURLWithPath: file))
        defer { unlink(file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        process.arguments = [file]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        process.waitUntilExit()
        let said = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        return String(said.prefix(64))
    }
}
