/// A server for uploads that speaks HTTP/2 and nothing else, and misbehaves as a URL asks; see
/// Fixtures/servers. Killed when the value is released.
package final class HTTP2UploadServer: Sendable {
    package let authority: TestAuthority
    private let scratch: Scratch
    private let server: ServerProcess

    package static func start() async throws -> HTTP2UploadServer {
        let scratch = try Scratch("h2-uploads")
        let authority = try await TestAuthority.make(in: scratch)
        let directory = try scratch.directory("uploads")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try await PythonEnvironment.start([
                Fixture.path("servers/h2-upload-server.py"), directory, "\(ports[0])",
                authority.server.certificate, authority.server.key,
            ])
        }
        return HTTP2UploadServer(scratch: scratch, server: server, authority: authority)
    }

    private init(scratch: Scratch, server: ServerProcess, authority: TestAuthority) {
        self.scratch = scratch
        self.server = server
        self.authority = authority
    }

    /// Needs `--cacert` with `authority.certificate`.
    package func url(_ rest: String) -> String { "https://127.0.0.1:\(server.ports[0])/\(rest)" }

    /// What has arrived whole.
    package func file(_ name: String) -> String { scratch("uploads/\(name)") }

    /// Every request: `connection`, `method`, `path`.
    package var log: [JSONValue] {
        get throws { try JSONValue.lines(scratch.text(of: "uploads/log")) }
    }
}
