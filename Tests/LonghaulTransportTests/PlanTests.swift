import LonghaulCore
import LonghaulTransport
import Testing

/// What of a body goes where.
@Suite(.timeLimit(.minutes(60)))
struct PlanTests {
    private let body = pattern(0..<100_000)

    private func run(
        _ plan: BodyPlan, on part: PartFile, end: Int64? = nil, status: String = "200 OK"
    ) async throws -> Outcome {
        let body = body
        let server = try ScriptedServer { _ in [answer(status, body: body)] }
        let wire = try Wire()
        return try await wire.run(
            wire.request(server.url(), part, end: end) { _ in .accept(plan) })
    }

    @Test func bytesThatAreHeldAreSkipped() async throws {
        let part = PartFile(Array(body[..<40_000]))
        let outcome = try await run(
            BodyPlan(skip: 40_000, position: 40_000, end: 100_000), on: part)
        #expect(outcome.failure == nil)
        #expect(outcome.end.writtenThrough == 100_000)
        #expect(outcome.end.bytesReceived == 100_000)
        #expect(part.segmentCell(ProgressCell.received) == 100_000)
        #expect(part.content == body)
    }

    @Test func anOverlapThatAgreesIsPassed() async throws {
        let part = PartFile(Array(repeating: 7, count: 10) + body[..<40_001])
        let outcome = try await run(BodyPlan(compare: 40_001, position: 10), on: part)
        #expect(outcome.failure == nil)
        #expect(Array(part.content[10...]) == body)
    }

    @Test func skippedThenComparedThenWritten() async throws {
        let part = PartFile(Array(body[..<40_000]))
        let outcome = try await run(
            BodyPlan(skip: 20_000, compare: 20_000, position: 20_000, end: 100_000), on: part)
        #expect(outcome.failure == nil)
        #expect(part.content == body)
    }

    @Test(arguments: [0, 1, 16_383, 16_384, 39_999])
    func anOverlapThatDiffersAnywhereEndsTheRequest(at offset: Int) async throws {
        var held = Array(body[..<40_000])
        held[offset] ^= 1
        let part = PartFile(held)
        let outcome = try await run(BodyPlan(compare: 40_000, position: 0), on: part)
        #expect(outcome.failure == .overlapDiffers)
        #expect(outcome.end.writtenThrough == 0)
        #expect(part.content == held)
        #expect(part.segmentCell(ProgressCell.written) == 0)
    }

    @Test func anOverlapThatTheFileHasNotGotDiffers() async throws {
        let part = PartFile(Array(body[..<100]))
        let outcome = try await run(BodyPlan(compare: 101, position: 0), on: part)
        #expect(outcome.failure == .overlapDiffers)
        #expect(part.content.count == 100)
    }

    @Test(arguments: [0, 1, 16_384, 99_999])
    func noByteIsWrittenPastTheEnd(_ end: Int64) async throws {
        let part = PartFile()
        let outcome = try await run(BodyPlan(position: 0, end: end), on: part)
        #expect(outcome.failure == .bodyTooLong)
        #expect(outcome.end.writtenThrough == end)
        #expect(part.content == Array(body[..<Int(end)]))
    }

    @Test func aBodyThatFitsExactlyIsNotTooLong() async throws {
        let part = PartFile()
        let outcome = try await run(BodyPlan(position: 0, end: 100_000), on: part)
        #expect(outcome.failure == nil)
        #expect(part.content == body)
    }

    /// A range was asked for, and the whole came: it may be all that is wanted, of a file that has
    /// changed or from a server without ranges.
    @Test func theRequestsOwnEndIsNoneForTheWhole() async throws {
        let part = PartFile()
        let outcome = try await run(BodyPlan(position: 0, end: 100_000), on: part, end: 50_000)
        #expect(outcome.failure == nil)
        #expect(part.content == body)
    }

    @Test func theRequestsOwnEndBoundsToo() async throws {
        let part = PartFile()
        let outcome = try await run(
            BodyPlan(position: 0), on: part, end: 50_000, status: "206 Partial Content")
        #expect(outcome.failure == .bodyTooLong)
        #expect(part.content.count == 50_000)
    }

    /// The server was asked for a part, and says that it sends all the rest.
    @Test(arguments: [nil, 40_000] as [Int64?])
    func whatGoesOnAsToldEndsWellWhereItWasAskedToEnd(_ stop: Int64?) async throws {
        let body = body
        let server = try ScriptedServer { _ in
            [
                .send("HTTP/1.1 206 Partial Content\r\nContent-Length: 100000\r\n\r\n"), .await,
                .send(body),
            ]
        }
        let wire = try Wire()
        let part = PartFile()
        let plan = BodyPlan(position: 0, end: 50_000, isCutAtEnd: true)
        let request = wire.request(server.url(), part, end: 50_000) { _ in .accept(plan) }
        wire.transport.start([request])
        if let stop { wire.transport.shrink(request.key, end: stop) }
        server.release()
        let outcome = try await wire.outcome(of: request)
        let end = stop ?? 50_000
        #expect(outcome.failure == nil)
        #expect(outcome.end.writtenThrough == end)
        #expect(part.content == Array(body[..<Int(end)]))
    }

    @Test func aShrunkRequestEndsWellAtItsNewEnd() async throws {
        let body = body
        let server = try ScriptedServer { _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
            return [
                .send(Array(head.utf8) + body[..<30_000]), .await, .send(Array(body[30_000...])),
            ]
        }
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part, end: 100_000)
        wire.transport.start([request])
        _ = try await wire.head(of: request)
        wire.transport.shrink(request.key, end: 60_000)
        server.release()
        let outcome = try await wire.outcome(of: request)
        #expect(outcome.failure == nil)
        #expect(outcome.end.writtenThrough == 60_000)
        #expect(part.content == Array(body[..<60_000]))
    }

    @Test func aRequestShrunkToWhereItStandsEndsAtOnce() async throws {
        let server = try ScriptedServer { _ in
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789"), .hang]
        }
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part, noticeEvery: 10)
        wire.transport.start([request])
        try await wire.wait { facts in
            facts.contains { if case .progress = $0 { true } else { false } } ? () : nil
        }
        wire.transport.shrink(request.key, end: 10)
        let outcome = try await wire.outcome(of: request)
        #expect(outcome.failure == nil)
        #expect(outcome.end.writtenThrough == 10)
    }

    @Test func progressIsNoticedEverySoManyBytes() async throws {
        let server = try ScriptedServer { _ in
            [
                .send("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n0123456789"), .await,
                .send("01234567890123456789"),
            ]
        }
        let wire = try Wire()
        let part = PartFile()
        let request = wire.request(server.url(), part, noticeEvery: 10)
        wire.transport.start([request])
        try await wire.wait { facts in
            facts.contains { if case .progress(request.key) = $0 { true } else { false } }
                ? () : nil
        }
        #expect(part.segmentCell(ProgressCell.written) == 10)
        server.release()
        #expect(try await wire.outcome(of: request).notices == 2)
    }
}
