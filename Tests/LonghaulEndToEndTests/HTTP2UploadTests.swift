import Foundation
import LonghaulTestSupport
import Testing

/// Uploads to servers that speak HTTP/2.
@Suite(.needsPythonServers, .enabled(if: TestAuthority.isInstalled, "skipped: no openssl"))
struct HTTP2UploadTests {
    /// Bodies go over HTTP/2 where the server has nothing else.
    @Test(arguments: [
        ("plain/a", "OPTIONS OPTIONS OPTIONS PUT"),
        ("ietf/a", "OPTIONS OPTIONS OPTIONS PUT"),
        ("ietf/a?told=100000", "OPTIONS OPTIONS OPTIONS PUT"),
        ("ietf/a?cut=3000000&told=100000", "OPTIONS OPTIONS OPTIONS PUT HEAD PATCH"),
        ("ietf/a?lost=1", "OPTIONS OPTIONS OPTIONS PUT HEAD"),
    ])
    func theServerHasTheFile(_ path: String, _ methods: String) async throws {
        let server = try await HTTP2UploadServer.start()
        let home = try LonghaulHome()
        let source = Representation(size: 5_000_000, seed: 7)
        try source.write(to: home.file("source"))
        let result = try await home.run(
            "upload", "--wait", "-q", "--cacert", server.authority.certificate, "source",
            server.url(path))
        #expect(result.status == 0, "\(result.errors)")
        #expect(try server.log.compactMap { $0["method"].string }.joined(separator: " ") == methods)
        try source.verify(file: server.file("a"))
    }

    /// The server takes no more, and libcurl would wait for its window.
    @Test func anAnswerBeforeTheEndIsHeard() async throws {
        let server = try await HTTP2UploadServer.start()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 7).write(to: home.file("source"))
        let result = try await home.run(
            "upload", "--wait", "-q", "--protocol", "put", "--stall-timeout", "1s", "--cacert",
            server.authority.certificate, "source", server.url("plain/a?early=413"))
        #expect(result.status == 1)
        #expect(result.errors.contains("the file is larger than the server takes (413)"))
        #expect(try server.log.count == 1)
    }

    @Test func manySmallFilesShareAConnection() async throws {
        let server = try await HTTP2UploadServer.start()
        let home = try LonghaulHome()
        let source = Representation(size: 10_000, seed: 7)
        var lines = ""
        for number in 0..<60 {
            try source.write(to: home.file("source\(number)"))
            let url = server.url("plain/\(number)")
            lines += "{\"source\":\"source\(number)\",\"url\":\"\(url)\"}\n"
        }
        try home.scratch.write(lines, to: "files/list")
        let enqueued = try await home.run(
            "upload", "--no-start", "--protocol", "put", "--cacert", server.authority.certificate,
            "--input", "list")
        #expect(enqueued.status == 0, "\(enqueued.errors)")
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        for number in 0..<60 { try source.verify(file: server.file("\(number)")) }
        var requests: [Int: Int] = [:]
        for connection in try server.log.compactMap({ $0["connection"].int }) {
            requests[connection, default: 0] += 1
        }
        // Those that began before it was known that the server has no HTTP/1.1 each have their own.
        #expect(requests.count < 50, "\(requests)")
    }
}

/// nginx has HTTP/1.1 as well: bodies go over that.
@Suite(.enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
struct HTTP1UploadTests {
    private func serve() async throws -> NginxServer {
        var options = NginxServer.Options()
        options.extra = "dav_methods PUT; client_max_body_size 1m;"
        return try await NginxServer.start(options: options)
    }

    @Test func aRefusalBeforeTheEndIsHeardAtOnce() async throws {
        let server = try await serve()
        let home = try LonghaulHome()
        try Representation(size: 5_000_000, seed: 7).write(to: home.file("source"))
        let result = try await home.run(
            "upload", "--wait", "-q", "--protocol", "put", "--cacert",
            server.authority.certificate, "source", server.https("a"))
        #expect(result.status == 1)
        #expect(result.errors.contains("the file is larger than the server takes (413)"))
        let requests = try await server.waitForRequests(1)
        #expect(requests.map { $0["protocol"] } == ["HTTP/1.1"])
    }

    @Test func connectionsServeOneFileAfterAnother() async throws {
        let server = try await serve()
        let home = try LonghaulHome()
        let source = Representation(size: 10_000, seed: 7)
        var lines = ""
        for number in 0..<60 {
            try source.write(to: home.file("source\(number)"))
            lines += "{\"source\":\"source\(number)\",\"url\":\"\(server.https("\(number)"))\"}\n"
        }
        try home.scratch.write(lines, to: "files/list")
        _ = try await home.run(
            "upload", "--no-start", "--cacert", server.authority.certificate, "--input", "list")
        let result = try await home.run("run")
        #expect(result.status == 0, "\(result.errors)")
        for number in 0..<60 { try source.verify(file: "\(server.root)/\(number)") }
        let bodies = try await server.waitForRequests(60).filter { $0["method"] == "PUT" }
        #expect(Set(bodies.map { $0["connection"].int }).count <= 6)
    }
}
