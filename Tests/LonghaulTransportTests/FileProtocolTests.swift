import Foundation
import Glibc
import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Testing

/// FTP against vsftpd, SFTP against OpenSSH: no heads, offsets instead of ranges.
@Suite(.timeLimit(.minutes(60)))
struct FileProtocolTests {
    private let body = pattern(0..<1_000_000)
    private let modified = Date(timeIntervalSince1970: 784_111_777)
    private let modifiedText = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func put(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o644)
        try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: path)
    }

    /// Some servers tell no length, or 0, of a file that they send all the same.
    @Test(arguments: ["213 0", "213 abc"])
    func aLengthThatIsNoneIsNotBelieved(reply: String) async throws {
        let server = try ScriptedFTPServer(file: body, replies: ["SIZE": reply])
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(
            wire.request("ftp://127.0.0.1:\(server.port)/f", part))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.headers["content-length"] == nil)
        let isWhole = part.content == body
        #expect(isWhole)
    }

    /// SIZE is advice: the file ends with its data connection, whatever was said before.
    @Test(arguments: [0, 999_900, 1_000_000, 1_000_100])
    func theFileEndsWithItsDataConnection(size: Int) async throws {
        let server = try ScriptedFTPServer(
            file: body,
            replies: ["SIZE": "213 \(size)", "RETR": "150 comes (\(size) bytes)\r\n226 came"])
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(wire.request("ftp://127.0.0.1:\(server.port)/f", part))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.headers["content-length"] == (size == 0 ? nil : "\(size)"))
        let isWhole = part.content == body
        #expect(isWhole)
    }

    /// Any other last word than 226 is a failure.
    @Test(arguments: ["426 aborted", "451 local error", "425 no"])
    func anotherLastWord(reply: String) async throws {
        let server = try ScriptedFTPServer(
            file: body,
            replies: ["SIZE": "213 \(body.count)", "RETR": "150 comes\r\n\(reply)"])
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("ftp://127.0.0.1:\(server.port)/f", PartFile()))
        #expect(outcome.failure != nil)
    }

    /// A control connection that was dropped on the way while the file came. The wait for its word
    /// would be everybody's.
    @Test func theLastWordIsNotWaitedForLong() async throws {
        let server = try ScriptedFTPServer(
            file: body, replies: ["SIZE": "213 \(body.count)", "RETR": "150 comes"])
        let wire = try Wire()
        let part = PartFile()
        let begun = ContinuousClock.now
        let outcome = try await wire.run(
            wire.request("ftp://127.0.0.1:\(server.port)/f", part))
        guard case .curl(42, _, _)? = outcome.failure else {
            Issue.record("\(String(describing: outcome.failure))")
            return
        }
        #expect(part.content == body)
        #expect(ContinuousClock.now - begun < .seconds(25))
    }

    /// That it was idle for too long says nothing against the server.
    @Test func aConnectionThatWasClosedIdleIsMadeAnew() async throws {
        let server = try ScriptedFTPServer(
            file: body, replies: ["SIZE": "213 \(body.count)"], closesIdle: true)
        let wire = try Wire()
        for _ in 0..<2 {
            let part = PartFile()
            let outcome = try await wire.run(
                wire.request("ftp://127.0.0.1:\(server.port)/f", part))
            #expect(outcome.failure == nil)
            #expect(part.content == body)
        }
    }

    @Test func nobodyWaitsForGoodbyes() async throws {
        let server = try ScriptedFTPServer(
            file: body, replies: ["SIZE": "213 \(body.count)", "QUIT": ""])
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request("ftp://127.0.0.1:\(server.port)/f", PartFile()))
        #expect(outcome.failure == nil)
        let begun = ContinuousClock.now
        wire.transport.shutdown()
        #expect(ContinuousClock.now - begun < .seconds(10))
    }

    @Test func aRefusedOffsetIsToldInTheServersWords() async throws {
        let server = try ScriptedFTPServer(
            file: body,
            replies: [
                "SIZE": "213 \(body.count)", "REST": "350 go on",
                "RETR": "451 f: Restart not permitted, try again",
            ])
        let wire = try Wire()
        let part = PartFile(Array(body[..<1000]))
        let outcome = try await wire.run(
            wire.request("ftp://127.0.0.1:\(server.port)/f", part, offset: 1000))
        guard case .curl(19, let text, _)? = outcome.failure else {
            Issue.record("\(String(describing: outcome.failure))")
            return
        }
        #expect(FailureTable.classify(curl: 19, text: text).kind == .restartFromZero)
    }

    /// What both protocols have to do alike.
    private func check(
        _ url: (String) -> String, root: String, scheme: ResponseHead.Scheme, wire: Wire,
        connection: ConnectionSettings
    ) async throws {
        try put(body, "\(root)/file")
        try put([], "\(root)/empty")

        let whole = PartFile()
        let all = try await wire.run(wire.request(url("file"), whole, connection: connection))
        #expect(all.failure == nil)
        #expect(all.heads == 1)
        #expect(all.head?.scheme == scheme)
        #expect(all.head?.status == 200)
        #expect(all.head?.headers["content-length"] == "1000000")
        #expect(all.head?.headers["last-modified"] == modifiedText)
        #expect(all.head?.effectiveURL.contains("@") == false)
        #expect(whole.content == body)

        let resumed = PartFile(Array(body[..<400_000]))
        let rest = try await wire.run(
            wire.request(url("file"), resumed, offset: 400_000, connection: connection) { _ in
                .accept(BodyPlan(position: 400_000))
            })
        #expect(rest.failure == nil)
        #expect(rest.head?.status == 206)
        #expect(rest.head?.headers["content-length"] == "600000")
        #expect(rest.head?.headers["last-modified"] == modifiedText)
        #expect(rest.end.bytesReceived == 600_000)
        #expect(resumed.content == body)

        try await checkBounds(url, wire, connection)
        let held = PartFile()
        let request = wire.request(url("file"), held, connection: connection) { _ in .hold }
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.proceed(request.key, BodyPlan(position: 0))
        #expect(try await wire.outcome(of: request).failure == nil)
        #expect(held.content == body)
        try await checkNothing(url, wire, connection)
    }

    private func checkBounds(
        _ url: (String) -> String, _ wire: Wire, _ connection: ConnectionSettings
    ) async throws {
        // A segment ends where it was asked to, though the server would go on.
        let middle = PartFile()
        let segment = try await wire.run(
            wire.request(
                url("file"), middle, offset: 100_000, end: 200_000, connection: connection
            ) { _ in .accept(BodyPlan(position: 100_000)) })
        #expect(segment.failure == nil)
        #expect(segment.end.writtenThrough == 200_000)
        #expect(Array(middle.content[100_000...]) == Array(body[100_000..<200_000]))

        let bounded = PartFile()
        let long = try await wire.run(
            wire.request(url("file"), bounded, connection: connection) { _ in
                .accept(BodyPlan(position: 0, end: 10))
            })
        #expect(long.failure == .bodyTooLong)
        #expect(bounded.content == Array(body[..<10]))
    }

    private func checkNothing(
        _ url: (String) -> String, _ wire: Wire, _ connection: ConnectionSettings
    ) async throws {
        let nothing = PartFile()
        let empty = try await wire.run(wire.request(url("empty"), nothing, connection: connection))
        #expect(empty.failure == nil)
        #expect(empty.heads == 1)
        #expect(empty.head?.headers["content-length"] == "0")

        let missing = try await wire.run(
            wire.request(url("missing"), PartFile(), connection: connection))
        guard case .curl(code: 78, _, _) = missing.failure else {  // REMOTE_FILE_NOT_FOUND
            Issue.record("\(missing)")
            return
        }
        #expect(missing.heads == 0)
    }

    @Test(.enabled(if: FTPServer.isInstalled, "skipped: no vsftpd, or not root"))
    func ftp() async throws {
        let server = try await FTPServer.start()
        try await check(
            // Connections for data do not count.
            server.url, root: server.root, scheme: .ftp,
            wire: Wire { $0.maxConnectionsPerHost = 1 },
            connection: ConnectionSettings())
        await server.stop()
    }

    @Test(.enabled(if: SFTPServer.isInstalled, "skipped: no sshd"))
    func sftp() async throws {
        let server = try await SFTPServer.start()
        var connection = ConnectionSettings()
        connection.clientKey = server.key
        let wire = try Wire { $0.knownHostsFile = server.knownHosts }
        try await check(
            server.url, root: server.root, scheme: .sftp, wire: wire, connection: connection)
        await server.stop()
    }

    @Test(.enabled(if: SFTPServer.isInstalled, "skipped: no sshd"))
    func anUnknownHostKeyIsNotBelieved() async throws {
        let server = try await SFTPServer.start()
        try put(body, "\(server.root)/file")
        var connection = ConnectionSettings()
        connection.clientKey = server.key
        let wire = try Wire { $0.knownHostsFile = "\(server.root)/none" }
        let part = PartFile()
        let outcome = try await wire.run(
            wire.request(server.url("file"), part, connection: connection))
        guard case .unknownHostKey = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        #expect(part.content.isEmpty)
        connection.insecure = true
        let daring = wire.request(server.url("file"), part, connection: connection)
        #expect(try await wire.run(daring).failure == nil)
        #expect(part.content == body)
        await server.stop()
    }
}
