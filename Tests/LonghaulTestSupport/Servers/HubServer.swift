import Foundation

/// A hub with repositories, releases, records and the tokens of a registry, on loopback ports. See
/// Fixtures/servers/hub.py. Killed when the value is released.
package final class HubServer: Sendable {
    /// What is served.
    package let scratch: Scratch
    private let server: ServerProcess

    package static func start() async throws -> HubServer {
        guard let python = InstalledProgram.find("python3") else { throw NotInstalled("python3") }
        let scratch = try Scratch("hub")
        let server = try await ServerProcess.start(ports: 3) { ports in
            try CLIProcess(
                python,
                [Fixture.path("servers/hub.py"), scratch.path] + ports.map { "\($0)" })
        }
        return HubServer(scratch: scratch, server: server)
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    /// Adds a file; missing directories are made.
    package func write(_ text: String, to path: String) throws {
        if let slash = path.lastIndex(of: "/") {
            _ = try scratch.directory(String(path[..<slash]))
        }
        try scratch.write(text, to: path)
    }

    /// Variables for the command.
    package var environment: [String: String] {
        let hub = "http://127.0.0.1:\(server.ports[0])"
        return ["HF_ENDPOINT": hub, "GITHUB_API_URL": hub, "ZENODO_URL": hub]
    }

    /// Address of the registry that asks for tokens.
    package var registry: String { "127.0.0.1:\(server.ports[2])" }

    /// Each request: `port`, `method`, `path`, `status`, `authorized`.
    package var log: [JSONValue] {
        get throws { try JSONValue.lines(try scratch.text(of: "log")) }
    }
}

/// Debian's registry of container images on a loopback port. Killed when the value is released.
package final class RegistryServer: Sendable {
    private let scratch: Scratch
    private let server: ServerProcess

    package static var isInstalled: Bool {
        InstalledProgram.find("docker-registry") != nil && InstalledProgram.find("skopeo") != nil
    }

    package static func start() async throws -> RegistryServer {
        let program = InstalledProgram.find("docker-registry") ?? ""
        let scratch = try Scratch("registry")
        let server = try await ServerProcess.start(ports: 1) { ports in
            let file = try scratch.write(
                """
                version: 0.1
                log: {level: error}
                storage: {filesystem: {rootdirectory: \(scratch("data"))}}
                http: {addr: "127.0.0.1:\(ports[0])"}
                """, to: "registry.yml")
            return try CLIProcess(program, ["serve", file])
        }
        return RegistryServer(scratch: scratch, server: server)
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    package var port: Int { server.ports[0] }

    /// Pushes the image of an OCI layout.
    package func push(_ layout: String, as name: String) async throws {
        let result = try await CLIProcess.run(
            InstalledProgram.find("skopeo") ?? "",
            [
                "--insecure-policy", "copy", "--dest-tls-verify=false", "oci:\(layout)",
                "docker://127.0.0.1:\(port)/\(name)",
            ])
        guard result.status == 0 else { throw FixtureFailed(description: result.errors) }
    }
}
