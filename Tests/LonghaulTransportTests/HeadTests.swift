import LonghaulCore
import LonghaulTransport
import Testing

/// Which head is judged, when, and what its fields say.
@Suite(.timeLimit(.minutes(60)))
struct HeadTests {
    private func run(
        _ text: String, isCutOff: Bool = false,
        judge: @escaping @Sendable (ResponseHead) -> HeadVerdict = Wire.takeSuccess,
        change: (inout TransportConfiguration) -> Void = { _ in }
    ) async throws -> (Outcome, PartFile) {
        let server = try ScriptedServer { _ in [.send(text)] + (isCutOff ? [.close] : []) }
        let wire = try Wire(change)
        let part = PartFile()
        return (try await wire.run(wire.request(server.url(), part, judge: judge)), part)
    }

    @Test func interimAnswersAreNotTheHead() async throws {
        let (outcome, part) = try await run(
            "HTTP/1.1 103 Early Hints\r\nLink: </style>\r\n\r\n"
                + "HTTP/1.1 100 Continue\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nok")
        #expect(outcome.failure == nil)
        #expect(outcome.heads == 1)
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.headers.fields.map(\.name) == ["Content-Length", "X"])
        #expect(part.content == Array("ok".utf8))
    }

    @Test func fieldsKeepOrderRepetitionsAndBytes() async throws {
        let (outcome, _) = try await run(
            "HTTP/1.1 200 OK\r\nContent-Length:2\r\nA:  one \t\r\na: two\r\nEmpty:\r\n"
                + "Folded: begin\r\n   end\r\nName: über\r\n\r\nok")
        let fields = try #require(outcome.head?.headers.fields)
        #expect(
            fields.map { "\($0.name)=\($0.value)" } == [
                "Content-Length=2", "A=one", "a=two", "Empty=", "Folded=begin end", "Name=über",
            ])
    }

    /// The first byte never came: nothing is given up for what such a head announces.
    @Test func aHeadThatWouldVoidBytesIsNotToldWithoutItsBody() async throws {
        let (outcome, _) = try await run(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", isCutOff: true
        ) { _ in .hold }
        #expect(outcome.failure != nil)
        #expect(outcome.heads == 0)
    }

    /// libcurl bounds heads alone, and keeps what comes after a body.
    @Test func trailersWithoutEndEndTheRequest() async throws {
        let field = "X-Trailer: " + String(repeating: "x", count: 1000) + "\r\n"
        let (outcome, part) = try await run(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                + String(repeating: field, count: Limits.headerBytes / 1000 + 10))
        #expect(outcome.failure == .headTooLarge)
        #expect(part.content == Array("ok".utf8))
    }

    @Test func anErrorIsTheAnswerEvenWhenItsTextIsCutOff() async throws {
        let (outcome, _) = try await run(
            "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n", isCutOff: true
        ) { _ in .refuse }
        #expect(outcome.heads == 1)
        #expect(outcome.head?.status == 404)
    }

    @Test func bytesThatAreNoUTF8AreReadAsLatin1() async throws {
        let server = try ScriptedServer { _ in
            [
                .send(
                    Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nName: caf".utf8) + [0xE9]
                        + Array("\r\n\r\nok".utf8))
            ]
        }
        let wire = try Wire()
        let outcome = try await wire.run(wire.request(server.url(), PartFile()))
        #expect(outcome.head?.headers["name"] == "café")
    }

    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: HTTP/1.1\r\n\r\n",
    ])
    func anAnswerWithoutABodyIsJudgedAtItsEnd(_ text: String) async throws {
        let (outcome, part) = try await run(text) { _ in .accept(BodyPlan(position: 77)) }
        #expect(outcome.failure == nil)
        #expect(outcome.heads == 1)
        #expect(outcome.end.writtenThrough == 77)
        #expect(outcome.head?.headers["x-trailer"] == nil)
        #expect(part.content.isEmpty)
    }

    @Test func anEmptyBodyThatIsHeldEnds() async throws {
        let (outcome, _) = try await run("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") { _ in
            .hold
        }
        #expect(outcome.verdict == .hold)
        #expect(outcome.failure == nil)
    }

    @Test func chunkedBodiesAreDecodedAndTrailersIgnored() async throws {
        let (outcome, part) = try await run(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nETag: \"late\"\r\n\r\n")
        #expect(outcome.failure == nil)
        #expect(part.content == Array("hello world".utf8))
        #expect(outcome.head?.headers["etag"] == nil)
    }

    @Test func contentCodingsAreLeftAlone() async throws {
        let (outcome, part) = try await run(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd")
        #expect(outcome.failure == nil)
        #expect(part.content == Array("abcd".utf8))
    }

    @Test func aHeadWhoseBodyNeverBeginsIsStillReported() async throws {
        let server = try ScriptedServer { _ in
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n"), .close]
        }
        let wire = try Wire()
        let outcome = try await wire.run(wire.request(server.url(), PartFile()))
        #expect(outcome.head?.headers["etag"] == "\"a\"")
        guard case .curl(code: 18, _, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test func tooManyFieldsEndTheRequest() async throws {
        let flood = (0..<5000).map { "X-\($0): \(String(repeating: "a", count: 50))\r\n" }
        let (outcome, part) = try await run(
            "HTTP/1.1 200 OK\r\n" + flood.joined() + "Content-Length: 2\r\n\r\nok")
        #expect(outcome.failure == .headTooLarge)
        #expect(outcome.heads == 0)
        #expect(part.content.isEmpty)
    }

    @Test(arguments: [101, 200, 300])
    func oneEndlessFieldEndsTheRequest(kibibytes: Int) async throws {
        let (outcome, part) = try await run(
            "HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: kibibytes * 1024))\r\n"
                + "Content-Length: 2\r\n\r\nok")
        #expect(outcome.failure == .headTooLarge)
        #expect(part.content.isEmpty)
    }

    @Test func aLineThatIsNoFieldIsNoAnswer() async throws {
        let (outcome, part) = try await run(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nno field\r\n\r\nok")
        #expect(outcome.heads == 0)
        #expect(part.content.isEmpty)
        guard case .curl(code: 8, _, _) = outcome.failure else {  // WEIRD_SERVER_REPLY
            Issue.record("\(outcome)")
            return
        }
    }

    @Test func whatIsNoHTTPIsNoAnswer() async throws {
        let (outcome, part) = try await run("hello, this is something else\r\n\r\n")
        #expect(outcome.heads == 0)
        #expect(part.content.isEmpty)
        guard case .curl(let code, _, _) = outcome.failure else {
            Issue.record("\(outcome)")
            return
        }
        // UNSUPPORTED_PROTOCOL: HTTP/0.9 is refused.
        #expect(code == 1)
    }
}
