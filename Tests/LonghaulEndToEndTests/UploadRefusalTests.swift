import Foundation
import LonghaulTestSupport
import Testing

/// Redirects after the body, "Expect" that is refused, and extensions that are not offered.
@Suite(.enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct UploadRefusalTests {
    /// A form is not sent to the page that thanks for it.
    @Test(
        arguments: [("302", 1), ("302", 3_000_000), ("301", 1), ("303", 3_000_000)],
        [["--form", "file"], ["--protocol", "post"]])
    func aFormIsSentOnce(_ answer: (status: String, size: Int), _ way: [String]) async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: answer.size, seed: 1).write(to: home.file("source"))
        let url = server.url("plain/a?redirect=\(answer.status)&late=1")
        let result = try await home.start(["upload", "--wait", "-q", "source", url] + way).wait()
        #expect(result.status == 0, "\(result.errors)")
        #expect(try server.methods == ["POST"])
    }

    /// A server that has once refused "Expect" is not asked again.
    @Test func aRefusedExpectationIsRemembered() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 3_000_000, seed: 1).write(to: home.file("source"))
        let engine = try home.start("daemon")
        for name in ["a", "b"] {
            let result = try await home.run(
                "upload", "--wait", "-q", "--protocol", "put", "source",
                server.url("plain/\(name)?417=1"))
            #expect(result.status == 0, "\(result.errors)")
        }
        #expect(try server.methods == ["PUT", "PUT", "PUT"])
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// DELETE is an extension of tus.
    @Test func aTusServerWithoutTerminationGetsNoDelete() async throws {
        let server = try await UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 1).write(to: home.file("source"))
        _ = try await home.run(
            "upload", "--protocol", "tus", "--limit-rate", "50K", "source",
            server.url("tus/a?options=1&keeps=1"))
        let engine = try home.start("daemon")
        try await eventually("it moves") {
            try await home.run("show", "1", "--json").rows.first?["bytesFetched"].int ?? 0 > 50_000
        }
        _ = try await home.run("cancel", "1")
        try await eventually("it ends") {
            try await home.run("show", "1", "--json").rows.first?["state"] == "cancelled"
        }
        engine.send(SIGTERM)
        _ = try await engine.wait()
        // What it offers was told before the upload began.
        #expect(try server.methods == ["OPTIONS", "POST", "PATCH"])
    }
}
