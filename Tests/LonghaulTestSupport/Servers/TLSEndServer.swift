/// A server whose answers over TLS end with their connection, as a URL asks; see Fixtures/servers.
/// Killed when the value is released.
package final class TLSEndServer: Sendable {
    package let authority: TestAuthority
    private let scratch: Scratch
    private let server: ServerProcess

    package static var isInstalled: Bool {
        InstalledProgram.find("python3") != nil && TestAuthority.isInstalled
    }

    package static func start() async throws -> TLSEndServer {
        guard let python = InstalledProgram.find("python3") else { throw NotInstalled("python3") }
        let scratch = try Scratch("tls-ends")
        let authority = try await TestAuthority.make(in: scratch)
        let directory = try scratch.directory("served")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try CLIProcess(
                python,
                [
                    Fixture.path("servers/tls-end-server.py"), directory, "\(ports[0])",
                    authority.server.certificate, authority.server.key,
                ])
        }
        return TLSEndServer(scratch: scratch, server: server, authority: authority)
    }

    private init(scratch: Scratch, server: ServerProcess, authority: TestAuthority) {
        self.scratch = scratch
        self.server = server
        self.authority = authority
    }

    /// Needs `--cacert` with `authority.certificate`.
    package func url(_ rest: String) -> String { "https://127.0.0.1:\(server.ports[0])/\(rest)" }

    /// The path of a file that is served.
    package func file(_ name: String) -> String { scratch("served/\(name)") }
}
