/// tuspyserver on a loopback port. Killed when the value is released.
package final class TusServer: Sendable {
    private let scratch: Scratch
    private let server: ServerProcess

    package static func start() async throws -> TusServer {
        let scratch = try Scratch("tus")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try await PythonEnvironment.start(
                [Fixture.path("servers/tus-server.py"), scratch.path, "\(ports[0])"])
        }
        return TusServer(scratch: scratch, server: server)
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    /// Where uploads are created.
    package var url: String { "http://127.0.0.1:\(server.ports[0])/files/" }

    /// The paths of what has arrived, whole or not.
    package var files: [String] {
        get throws {
            try scratch.names().filter { !$0.hasPrefix(".") && !$0.hasSuffix(".info") }
                .map { scratch($0) }
        }
    }

    /// What it has said: each request with its answer.
    package var log: String { server.process.output + server.process.errors }
}
