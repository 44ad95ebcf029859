import Foundation

/// moto's S3 on a loopback port, with one bucket: all of the protocol, but signatures are not
/// verified. Killed when the value is released.
package final class S3Server: Sendable {
    /// What Amazon's own client finds in the bucket.
    package struct Content: Sendable {
        package let objects: [String: Object]
        /// Uploads in parts that were neither completed nor aborted.
        package let open: [Unfinished]
    }

    package struct Unfinished: Sendable {
        package let key: String
        package let parts: Int
    }

    package struct Object: Sendable, Equatable {
        package let sha256: String
        /// The parts that it was made of; nil = it came whole.
        package let parts: Int?

        package init(sha256: String, parts: Int? = nil) {
            self.sha256 = sha256
            self.parts = parts
        }
    }

    private static let bucket = "bucket"
    private let scratch: Scratch
    private let server: ServerProcess

    /// Starts the server and makes its bucket.
    package static func start() async throws -> S3Server {
        let scratch = try Scratch("s3")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try await PythonEnvironment.start(
                [Fixture.path("servers/moto-server.py"), scratch.path, "\(ports[0])"])
        }
        let started = S3Server(scratch: scratch, server: server)
        _ = try await started.look("make")
        return started
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    /// Variables for the command.
    package var environment: [String: String] {
        S3Server.environment(port: server.ports[0])
    }

    static func environment(port: Int) -> [String: String] {
        [
            "AWS_ENDPOINT_URL": "http://127.0.0.1:\(port)", "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
        ]
    }

    package func url(_ key: String) -> String { "s3://\(S3Server.bucket)/\(key)" }

    package var content: Content {
        get async throws {
            let found = try await look()
            guard case .object(let objects) = found["objects"] else {
                throw FixtureFailed(description: "\(found)")
            }
            return Content(
                objects: objects.mapValues { object in
                    // The tag of an object in parts ends with their number.
                    let tag = object["etag"].string?.split(separator: "-") ?? []
                    return Object(
                        sha256: object["sha256"].string ?? "",
                        parts: tag.count == 2 ? Int(tag[1].filter { $0 != "\"" }) : nil)
                },
                open: found["open"].items.map { upload in
                    Unfinished(
                        key: upload["key"].string ?? "", parts: upload["parts"].int ?? 0)
                })
        }
    }

    /// Every request: `method`, `path`, `query`, `bytes` (of its body that came).
    package var log: [JSONValue] {
        get throws { scratch.exists("log") ? try JSONValue.lines(scratch.text(of: "log")) : [] }
    }

    /// Body bytes of all requests.
    package var bytes: Int {
        get throws { try log.reduce(0) { $0 + ($1["bytes"].int ?? 0) } }
    }

    private func look(_ words: String...) async throws -> JSONValue {
        let endpoint = environment["AWS_ENDPOINT_URL"] ?? ""
        let result = try await PythonEnvironment.run(
            "s3-bucket.py", [endpoint, S3Server.bucket] + words)
        guard result.status == 0 else {
            throw FixtureFailed(description: result.errors + server.process.errors)
        }
        return try JSONValue(result.output)
    }
}

/// local-s3-server on a loopback port: whole objects, and no uploads in parts. Killed when the
/// value is released.
package final class PlainS3Server: Sendable {
    private let scratch: Scratch
    private let server: ServerProcess

    package static func start() async throws -> PlainS3Server {
        let scratch = try Scratch("s3")
        let server = try await ServerProcess.start(ports: 1) { ports in
            try await PythonEnvironment.start([
                "-m", "locals3server", "--hostname", "127.0.0.1", "--port", "\(ports[0])",
                "--root-dir", scratch.path,
            ])
        }
        return PlainS3Server(scratch: scratch, server: server)
    }

    private init(scratch: Scratch, server: ServerProcess) {
        self.scratch = scratch
        self.server = server
    }

    /// Variables for the command.
    package var environment: [String: String] {
        S3Server.environment(port: server.ports[0])
    }

    /// The path of an object's content. Buckets are made by what is put into them.
    package func file(_ bucket: String, _ key: String) -> String {
        scratch("\(bucket)/\(key)/.s3local_content")
    }
}
