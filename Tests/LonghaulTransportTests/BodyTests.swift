import LonghaulCore
import LonghaulTransport
import Testing

@Suite(.timeLimit(.minutes(60)))
struct BodyTests {
    @Test func aBodyIsWrittenAndCounted() async throws {
        let body = pattern(0..<300_000)
        let server = try ScriptedServer { _ in [answer(body: body)] }
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(wire.request(server.url(), part))
        #expect(outcome.failure == nil)
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.headers["content-length"] == "300000")
        #expect(outcome.head?.httpVersion == 11)
        #expect(outcome.end.writtenThrough == 300_000)
        #expect(outcome.end.bytesReceived == 300_000)
        #expect(outcome.end.httpVersion == 11)
        #expect(part.content == body)
        #expect(part.segmentCell(ProgressCell.written) == 300_000)
        #expect(part.segmentCell(ProgressCell.received) == 300_000)
        #expect(part.fetchCell(ProgressCell.received) == 300_000)
        #expect(part.fetchCell(ProgressCell.written) == 0)
    }

    @Test func aHeldBodyWaitsForItsPlan() async throws {
        let body = pattern(0..<50_000)
        let server = try ScriptedServer { _ in [answer(body: body)] }
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part) { _ in .hold }
        wire.transport.start([request])
        let head = try await wire.head(of: request)
        #expect(head.status == 200)
        #expect(part.content.isEmpty)
        wire.transport.proceed(request.key, BodyPlan(position: 1000))
        let outcome = try await wire.outcome(of: request)
        #expect(outcome.failure == nil)
        #expect(outcome.end.writtenThrough == 51_000)
        #expect(Array(part.content[1000...]) == body)
    }

    @Test func stopEndsARequestOnTheWire() async throws {
        let server = try ScriptedServer { _ in
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789"), .hang]
        }
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part, noticeEvery: 10)
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.stop([request.key])
        let outcome = try await wire.outcome(of: request)
        #expect(outcome.failure == .stopped)
        #expect(outcome.notices == 1)
        #expect(outcome.end.writtenThrough == 10)
        #expect(part.content == Array("0123456789".utf8))
    }

    @Test func aRefusedBodyIsNotWritten() async throws {
        let server = try ScriptedServer { _ in
            [answer("404 Not Found", body: Array("no such file".utf8))]
        }
        let wire = try Wire()
        let part = PartFile()
        let outcome = try await wire.run(wire.request(server.url(), part))
        #expect(outcome.failure == .refused)
        #expect(outcome.head?.status == 404)
        #expect(outcome.verdict == .refuse)
        #expect(part.content.isEmpty)
        #expect(part.segmentCell(ProgressCell.received) == 0)
    }
}
