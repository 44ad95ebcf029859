/// A server that uploads go to, which misbehaves as a URL asks; see Fixtures/servers. Killed when
/// the value is released.
package final class UploadServer: Sendable {
    private let scratch: Scratch
    private let server: ServerProcess

    package static var isInstalled: Bool { InstalledProgram.find("python3") != nil }

    package enum Kind: String, Sendable {
        /// Plain requests, resumable uploads and tus.
        case http = "servers/upload-server.py"
        /// Multipart uploads to S3, of the user `key` with the password `secret`.
        case s3 = "servers/s3-server.py"
    }

    package static func start(_ kind: Kind = .http) async throws -> UploadServer {
        guard let program = InstalledProgram.find("python3") else { throw NotInstalled("python3") }
        let scratch = try Scratch("uploads")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try CLIProcess(
                program,
                [Fixture.path(kind.rawValue), scratch.path, "\(ports[0])"])
        }
        return UploadServer(scratch: scratch, server: server)
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    package func url(_ rest: String) -> String { "http://127.0.0.1:\(server.ports[0])/\(rest)" }

    /// What has arrived whole.
    package func file(_ name: String) -> String { scratch(name) }

    package func has(_ name: String) -> Bool { scratch.exists(name) }

    /// Uploads with bytes that were neither finished nor deleted. One that was created in the very
    /// moment of a kill has none: nobody knows of it, and servers let it expire.
    package var leftOpen: [String] {
        get throws {
            try scratch.names().filter { $0.hasPrefix("part-") && scratch.size(of: $0) != 0 }
        }
    }

    /// Every request: `method`, `path`, `bytes` (of its body that came), `length`, `headers`.
    package var log: [JSONValue] {
        get throws { scratch.exists("log") ? try JSONValue.lines(scratch.text(of: "log")) : [] }
    }

    package var methods: [String] {
        get throws { try log.compactMap { $0["method"].string } }
    }

    /// Body bytes of all requests.
    package var bytes: Int {
        get throws { try log.reduce(0) { $0 + ($1["bytes"].int ?? 0) } }
    }
}
