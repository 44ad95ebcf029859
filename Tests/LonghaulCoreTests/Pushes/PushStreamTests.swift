import LonghaulTestValues
import Testing

@testable import LonghaulCore

/// Streams of pushes: bytes and their events, requests, answers, and what follows an end.
@Suite struct PushStreamTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let events: [PushEvent]
        var lastID: String?
    }

    private static func event(_ name: String, _ text: String?, _ id: String? = nil) -> PushEvent {
        PushEvent(identifier: name, text: text, id: id)
    }

    /// Most are the examples of the standard.
    static let eventStreams: [Row] = [
        Row(
            testDescription: "lines of data are joined",
            text: "data: YHOO\ndata: +2\ndata: 10\n\n", events: [event("message", "YHOO\n+2\n10")]),
        Row(
            testDescription: "ids, comments and an id that is taken away",
            text: ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
                + "data:  third event\n\n",
            events: [
                event("message", "first event", "1"), event("message", "second event"),
                event("message", " third event"),
            ]),
        Row(
            testDescription: "the last event is not whole",
            text: "data\n\ndata\ndata\n\ndata:",
            events: [event("message", ""), event("message", "\n")]),
        Row(
            testDescription: "a blank after the colon is optional",
            text: "data:test\n\ndata: test\n\n",
            events: [event("message", "test"), event("message", "test")]),
        Row(
            testDescription: "all ends of lines, and a byte order mark",
            text: "\u{FEFF}event: add\r\ndata: 7\r\rdata: 8\n\r\n",
            events: [event("add", "7"), event("message", "8")]),
        Row(
            testDescription: "an id without an event counts", text: "id: 5\n\nevent: x\n\n",
            events: [], lastID: "5"),
        Row(
            testDescription: "an id with a null is none", text: "id: 5\u{0}\ndata: a\n\n",
            events: [event("message", "a")]),
        Row(
            testDescription: "names become identifiers", text: "event: a b,c\ndata: x\n\n",
            events: [event("a_b_c", "x")]),
        Row(
            testDescription: "fields of later days are passed over",
            text: "color: red\nretry: soon\ndata: x\n\n", events: [event("message", "x")]),
        Row(
            testDescription: "an event that is too large has no data",
            text: "data: \(String(repeating: "x", count: 70_000))\nid: 9\n\n",
            events: [event("message", nil, "9")], lastID: "9"),
        Row(
            testDescription: "a line that is too long is none",
            text: "data: \(String(repeating: "x", count: 200_000))\n\ndata: y\n\n",
            events: [event("message", nil), event("message", "y")]),
    ]

    static let topics: [Row] = [
        Row(
            testDescription: "messages count alone",
            text: """
                {"id":"a","time":1,"event":"open","topic":"t"}
                {"id":"b","time":1,"event":"message","topic":"t","message":"hi","tags":["x"]}
                {"id":"c","time":1,"event":"keepalive","topic":"t"}

                """, events: [event("t", "hi", "b")], lastID: "b"),
        Row(
            testDescription: "a line that is no JSON is passed over",
            text: "<html>\n[1]\n{\"event\":\"message\"}\n{\"event\":\"message\",\"topic\":\"u\"}\n",
            events: [event("u", nil)]),
        Row(
            testDescription: "half a line waits",
            text: "{\"id\":\"b\",\"event\":\"message\",\"topic\":\"t\",\"message\":\"hi\"}",
            events: []),
    ]

    /// The same in one piece and byte by byte.
    @Test(arguments: eventStreams, [1, 1 << 20]) func anEventStream(row: Row, size: Int) {
        var parser = EventStreamParser()
        #expect(pieces(row.text, size).flatMap { parser.receive($0) } == row.events)
        #expect(parser.lastID == row.lastID)
    }

    @Test(arguments: topics, [1, 1 << 20]) func aTopic(row: Row, size: Int) {
        var parser = TopicParser()
        #expect(pieces(row.text, size).flatMap { parser.receive($0) } == row.events)
        #expect(parser.lastID == row.lastID)
    }

    private func pieces(_ text: String, _ size: Int) -> [[UInt8]] {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: size).map {
            Array(bytes[$0..<min($0 + size, bytes.count)])
        }
    }

    // MARK: - Requests and answers

    private func subscription(_ url: String, lastID: String? = nil) -> PushSubscription {
        var subscription = PushSubscription(id: 1, host: "h", url: url)
        subscription.lastID = lastID
        return subscription
    }

    @Test(
        arguments: [
            ("https://a/x", nil, "https://a/x", nil), ("https://a/x", "7", "https://a/x", "7"),
            ("https://a/t/json", nil, "https://a/t/json", nil),
            ("https://a/t/json", "b c", "https://a/t/json?since=b%20c", nil),
            ("https://a/t/json?since=all&p=1", "b", "https://a/t/json?p=1&since=b", nil),
            ("https://a/x", "7\n8", "https://a/x", nil),
        ] as [(String, String?, String, String?)])
    func aRequest(url: String, lastID: String?, wanted: String, field: String?) {
        let request = PushStream.request(of: subscription(url, lastID: lastID))
        #expect(request.url == wanted && request.headers["Last-Event-ID"] == field)
    }

    private func head(
        _ status: Int, _ type: String?, _ url: String = "https://a/x",
        receivedAt: Timestamp = PushStreamTests.now
    ) -> ResponseHead {
        var headers = HeaderFields()
        headers["Content-Type"] = type
        return ResponseHead(
            status: status, headers: headers, effectiveURL: url, receivedAt: receivedAt)
    }

    @Test func answers() {
        let accepted = HeadVerdict.accept(BodyPlan(position: 0))
        #expect(PushStream.verdict(head(200, "text/event-stream; charset=utf-8")) == accepted)
        #expect(PushStream.verdict(head(200, "application/x-ndjson")) == accepted)
        #expect(PushStream.verdict(head(200, "text/plain", "https://a/t/json?x=1")) == accepted)
        #expect(PushStream.verdict(head(307, nil)) == .redirect)
        for (status, type) in [
            (200, "text/html"), (200, nil), (204, "text/event-stream"), (503, nil),
        ] {
            #expect(PushStream.verdict(head(status, type)) == .refuse)
        }
        #expect(PushStream.failure(head(200, "text/html")).kind == .permanent)
        #expect(PushStream.failure(head(503, nil)).kind == .transient)
        #expect(PushStream.failure(head(401, nil)).kind != .transient)
    }

    /// A server may send the event again that it was asked to go on after: once, at the beginning.
    @Test func aRepeatedEventIsPassedOver() throws {
        let known = subscription("https://a/x", lastID: "7")
        var stream = try #require(PushStream(head(200, "text/event-stream"), of: known))
        let events = stream.receive(
            Array(
                "id: 7\ndata: old\n\ndata: own\n\nid: 8\ndata: new\n\nid: 7\ndata: again\n\n".utf8))
        #expect(events.map(\.text) == ["own", "new", "again"])
    }

    // MARK: - Plans

    @Test func connectionsFollowTheSubscriptions() {
        var first = PushSubscription(id: 1, host: "h", url: "https://a")
        let second = PushSubscription(id: 2, host: "h", url: "https://b")
        func plan(open: Set<Int64>, isOffline: Bool = false) -> PushPlan {
            PushPlan.decide([first, second], open: open, isOffline: isOffline, now: Self.now)
        }
        #expect(plan(open: []).opens == [first, second])
        #expect(plan(open: [2, 3]).opens == [first] && plan(open: [2, 3]).closes == [3])
        let offline = plan(open: [1], isOffline: true)
        #expect(offline.opens.isEmpty && offline.closes == [1])
        first.retryAt = Self.now + 30
        #expect(plan(open: []).opens == [second] && plan(open: []).next == Self.now + 30)
        // The clock was ahead.
        first.retryAt = Self.now + 9e6
        #expect(plan(open: []).opens == [first, second])
    }

    @Test func anEndIsFollowedByAPause() throws {
        var random = SeededRandom(seed: 1)
        func after(
            _ failure: Failure?, _ stream: PushStream?, failures: Int = 0
        ) -> (failures: Int, retryAt: Timestamp, error: LonghaulError?) {
            PushPlan.afterEnd(
                failure, of: stream, failures: failures, now: Self.now, using: &random)
        }
        var stream = try #require(
            PushStream(head(200, "text/event-stream"), of: subscription("https://a/x")))
        let empty = after(nil, stream)
        #expect(empty.failures == 1 && empty.error?.code == .serverError)
        _ = stream.receive(Array("retry: 60000\n".utf8))
        #expect(after(nil, stream).failures == 1 && after(nil, stream).retryAt - Self.now >= 60)
        _ = stream.receive(Array("data: x\n\n".utf8))
        let lived = after(nil, stream, failures: 9)
        #expect(lived.failures == 0 && lived.error == nil && lived.retryAt - Self.now == 60)
        // Minutes without a byte are no failure of a stream that has brought something, or has
        // lived.
        let stalled = FailureTable.classify(.stalled)
        let silent = after(stalled, stream, failures: 9)
        #expect(silent.failures == 0 && silent.error == nil && silent.retryAt - Self.now == 60)
        let old = try #require(
            PushStream(
                head(200, "text/event-stream", receivedAt: Self.now + -Limits.pushSilenceSeconds),
                of: subscription("https://a/x")))
        #expect(after(stalled, old).failures == 0 && after(stalled, old).error == nil)
        let young = try #require(
            PushStream(head(200, "text/event-stream"), of: subscription("https://a/x")))
        #expect(after(stalled, young, failures: 2).failures == 3)
        let mute = after(stalled, nil, failures: 2)
        #expect(mute.failures == 3 && mute.error?.code == .timedOut && mute.retryAt > Self.now)
        let busy = after(FailureTable.classify(status: 503, retryAfter: 120), nil, failures: 3)
        #expect(busy.failures == 4 && busy.retryAt - Self.now >= 120)
        let refused = after(PushStream.failure(head(404, nil)), nil)
        #expect(refused.failures == 1 && refused.retryAt - Self.now == Limits.pushRefusedSeconds)
    }
}
