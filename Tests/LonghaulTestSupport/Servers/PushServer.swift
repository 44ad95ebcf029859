import Foundation
import Synchronization

/// Streams of events on a loopback port. See Fixtures/servers/push-server.py. Killed when the value
/// is released.
package final class PushServer: Sendable {
    private let scratch: Scratch
    private let server: ServerProcess
    private let lines = Mutex("")

    package static func start() async throws -> PushServer {
        guard let python = InstalledProgram.find("python3") else { throw NotInstalled("python3") }
        let scratch = try Scratch("push")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try CLIProcess(
                python,
                [Fixture.path("servers/push-server.py"), scratch.path] + ports.map { "\($0)" })
        }
        return PushServer(scratch: scratch, server: server)
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(server.ports[0])/\(path)" }

    /// Adds an event, JSON with `id`, `event` and `data`.
    package func send(_ event: String) throws {
        let text = lines.withLock { lines in
            lines += event + "\n"
            return lines
        }
        // At once, so that no half of a line is read.
        try scratch.write(text, to: "next")
        rename(scratch("next"), scratch("events"))
    }

    package func set(mode: String) throws { try scratch.write(mode, to: "mode") }

    /// Each request: `path`, `last`, `authorization`.
    package var log: [JSONValue] {
        get throws { try JSONValue.lines((try? scratch.text(of: "log")) ?? "") }
    }
}
