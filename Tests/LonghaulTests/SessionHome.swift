import Foundation
import Longhaul
import LonghaulTestSupport

/// A state directory of its own and sessions on it.
final class SessionHome: Sendable {
    let scratch: Scratch

    init() throws {
        scratch = try Scratch("session")
        _ = try scratch.directory("files")
    }

    var store: String { scratch("state") }

    func file(_ name: String) -> URL {
        URL(fileURLWithPath: scratch("files/\(name)"), isDirectory: false)
    }

    func configuration(
        _ engine: BackgroundSession.Engine = .automatic
    ) -> BackgroundSession.Configuration {
        var configuration = BackgroundSession.Configuration()
        configuration.store = store
        configuration.engine = engine
        return configuration
    }

    func session(
        _ identifier: String = "com.example.test",
        _ engine: BackgroundSession.Engine = .automatic
    ) async throws -> BackgroundSession {
        try await BackgroundSession(
            identifier: identifier, configuration: configuration(engine))
    }

    /// Opens a session for the time of `body` and leaves it.
    func withSession<Result>(
        _ identifier: String = "com.example.test",
        _ engine: BackgroundSession.Engine = .automatic,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (BackgroundSession) async throws -> Result
    ) async throws -> Result {
        let session = try await session(identifier, engine)
        do {
            let result = try await body(session)
            try await session.invalidate()
            return result
        } catch {
            try? await session.invalidate()
            throw error
        }
    }
}

extension LoopbackServer {
    /// Over one connection: where several are opened and ended, a few bytes come twice.
    func request(_ nameAndKnobs: String) -> TransferRequest {
        var request = TransferRequest(url: URL(string: url(nameAndKnobs))!)
        request.options.connections = .exactly(1)
        return request
    }

    func content(_ nameAndKnobs: String) throws -> [UInt8] {
        try expected(nameAndKnobs).bytes
    }
}

struct Late: Error, CustomStringConvertible {
    var description: String
}

/// Fails instead of hanging when something never comes.
func within<Value: Sendable>(
    _ limit: Duration = Patience.usual, _ what: String = "the result",
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body() }
        group.addTask {
            var patience = Patience(limit)
            while patience.lasts() { try await Task.sleep(for: .milliseconds(10)) }
            throw Late(description: "\(what): not within \(limit)")
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}
