import Foundation
import LonghaulTestSupport
import Testing

/// Equal uploads of different sessions: the server gets the file once, and each session has its
/// event with the answer.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct SharedUploadTests {
    private static let content = Representation(size: 5_000_000, seed: 7)
    private let server: UploadServer
    private let home: LonghaulHome

    init() async throws {
        server = try await UploadServer.start()
        home = try LonghaulHome()
        try Self.content.write(to: home.file("source"))
    }

    private func upload(_ session: String, _ url: String, _ more: String...) async throws {
        let result = try await home.start(
            ["upload", "--session", session, "source", url] + more
        ).wait()
        #expect(result.status == 0, "\(result.errors)")
    }

    private func shown(_ id: Int) async throws -> JSONValue {
        try #require(try await home.run("show", "\(id)", "--json").rows.first)
    }

    /// Of each session one, which ends its transfer.
    private func ends(of session: String) async throws -> [JSONValue] {
        try await home.run("events", "--session", session).rows.filter {
            $0["type"] == "transferCompleted"
        }
    }

    @Test(arguments: [("put", "plain", "PUT"), ("tus", "tus", "OPTIONS POST PATCH")])
    func theServerGetsItOnce(_ way: String, _ path: String, _ methods: String) async throws {
        let url = server.url("\(path)/a")
        for session in ["one", "two"] { try await upload(session, url, "--protocol", way) }
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try server.methods.joined(separator: " ") == methods)
        try Self.content.verify(file: server.file("a"))
        for session in ["one", "two"] {
            let ends = try await ends(of: session)
            #expect(ends.count == 1, "\(session): \(ends)")
            let transfer = try #require(ends.first?["transfer"])
            #expect(transfer["response"]["status"].int ?? 0 >= 200, "\(transfer)")
            #expect(transfer["bytesDone"].int == Self.content.size)
            #expect(transfer["state"] == "completed")
        }
        // What the server has sent is counted once.
        let counts = [try await shown(1), try await shown(2)].map { $0["bytesFetched"].int ?? 0 }
        #expect(counts.sorted() == [0, Self.content.size], "\(counts)")
    }

    /// The second one comes in the middle, and the first one does not want it any more.
    @Test func itGoesOnForTheOneThatIsLeft() async throws {
        let url = server.url("tus/a")
        try await upload("one", url, "--protocol", "tus", "--limit-rate", "50K")
        let engine = try home.start("daemon")
        try await eventually("it moves") {
            try await shown(1)["bytesFetched"].int ?? 0 > 50_000
        }
        try await upload("two", url, "--protocol", "tus", "--limit-rate", "50K")
        try await eventually("it has joined") { try await shown(2)["sharedWith"] == [1] }
        _ = try await home.run("cancel", "1")
        try await eventually("it is cancelled") { try await shown(1)["state"] == "cancelled" }
        _ = try await home.run("set", "2", "--limit-rate", "100M")
        try await eventually("it is there") { try await shown(2)["state"] == "completed" }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        let methods = try server.methods
        #expect(methods.filter { $0 == "POST" }.count == 1, "\(methods)")
        #expect(!methods.contains("DELETE"))
        try Self.content.verify(file: server.file("a"))
    }

    /// Each fails with what the server has said.
    @Test func bothFailTogether() async throws {
        let url = server.url("plain/a?status=422")
        for session in ["one", "two"] { try await upload(session, url, "--protocol", "put") }
        _ = try await home.run("run")
        for id in [1, 2] {
            let shown = try await shown(id)
            #expect(shown["error"]["httpStatus"] == 422, "\(shown)")
        }
        #expect(try server.methods == ["PUT"])
    }
}
