import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import LonghaulCLI

@Suite struct JSONShapeTests {
    private func line(_ write: (inout JSONText) -> Void) -> String {
        var json = JSONText()
        write(&json)
        return json.text
    }

    /// The keys, their order and the nulls are the contract with scripts.
    @Test func aNewTransfer() throws {
        let transfer = Sample.transfer(1, .waiting, name: "f")
        let shown = try Fixture.line("output/new-transfer.jsonl")
        #expect(
            line { $0.transfer(transfer) } == shown)
    }

    @Test func aTransferOfWhichAllIsKnown() throws {
        var transfer = Sample.transfer(9, .failed, name: "f", done: 5, total: 10, rate: 1.6)
        transfer.host = "com.example.h"
        transfer.priority = .high
        transfer.isDiscretionary = true
        transfer.schedule.windows = TimeWindows(parsing: "22:00-06:00")
        transfer.schedule.requires = ConditionNeeds(power: true, battery: 50)
        transfer.arePreferencesWaived = true
        transfer.waiverCheck = Sample.now + 2
        transfer.stallTimeout = 90.5
        transfer.contentCoding = "gzip"
        transfer.earliestBegin = Sample.now
        transfer.deadline = Sample.now + 0.5
        transfer.expectedBytes = 11
        transfer.startedAt = Sample.now
        transfer.finishedAt = Sample.now + 1
        transfer.attempts = 3
        transfer.restarts = 1
        transfer.sharedWith = [TransferID(rawValue: 4), TransferID(rawValue: 5)]
        transfer.waitingFor = [
            WaitReason(
                .backoff, required: "r", current: "c", since: Sample.now, nextCheck: Sample.now)
        ]
        transfer.error = LonghaulError(
            .serverError, "busy", httpStatus: 503, curlCode: 22, retryable: true, bytesKept: 5)
        transfer.checksum = Checksum(algorithm: .md5, hex: "00ff")
        transfer.metadata = "{\"b\": 1,\n\"a\": 12345678901234567890123}"
        let shown = try Fixture.line("output/known-transfer.jsonl")
        #expect(
            line { $0.transfer(transfer) } == shown)
    }

    @Test func showAddsAttemptsAndEvents() throws {
        let transfer = Sample.transfer()
        let attempt = AttemptRecord(
            number: 1, startedAt: Sample.now, endedAt: Sample.now + 1, url: "https://example.com/f",
            bytes: 7,
            httpStatus: 206, httpVersion: 2, outcome: "stopped", message: nil,
            phases: RequestPhases(peer: "192.0.2.1:80", connect: 0.02, firstByte: 0.001))
        let event = EventRecord(
            sequence: 3, at: Sample.now, session: "default", type: "transferRestarted",
            transferID: transfer.id, detail: "{ }", acknowledgedAt: nil)
        let whole = try JSONValue(
            line { $0.shown(transfer, attempts: [attempt], events: [event]) })
        #expect(whole["attempts"] == .int(0))
        #expect(whole["attemptRecords"][0]["httpStatus"] == .int(206))
        #expect(
            line { $0.event(event) } == """
                {"seq":3,"at":"2026-03-01T12:00:00.000Z","session":"default",\
                "type":"transferRestarted","detail":{},"acknowledgedAt":null}
                """)
        #expect(
            line { $0.shown(transfer, attempts: [attempt], events: [event]) }.contains(
                """
                "attemptRecords":[{"startedAt":"2026-03-01T12:00:00.000Z",\
                "endedAt":"2026-03-01T12:00:01.000Z","url":"https://example.com/f","bytes":7,\
                "httpStatus":206,"httpVersion":2,"outcome":"stopped","message":null,\
                "peer":"192.0.2.1:80","nameLookupSeconds":null,"connectSeconds":0.02,\
                "tlsHandshakeSeconds":null,"firstByteSeconds":0.001}]
                """))
    }

    @Test func statusNamesEveryState() {
        let idle = QueueStatus(engine: nil, counts: [.waiting: 2], bytesPerSecond: 0, nextWake: nil)
        #expect(
            line { $0.status(idle) } == """
                {"engine":null,"counts":{"waiting":2,"running":0,"paused":0,"completed":0,\
                "failed":0,"cancelled":0},"hostsFailed":0,"bytesPerSecond":0,"nextWake":null,\
                "configuration":null}
                """)
        let engine = QueueStatus.Engine(pid: 42, mode: .daemon, since: Sample.now)
        let busy = QueueStatus(
            engine: engine, counts: [:], bytesPerSecond: 1.5e6, nextWake: Sample.now)
        #expect(
            line { $0.status(busy) }.hasPrefix(
                """
                {"engine":{"pid":42,"mode":"daemon","since":"2026-03-01T12:00:00.000Z"},
                """))
    }

    @Test func summaryAndFinding() {
        let summary = EngineSummary(
            completed: 3, failed: 1, left: 2, bytes: 1000, seconds: 1.2345, stoppedBy: .maxTime)
        #expect(
            line { $0.summary(summary) } == """
                {"type":"summary","completed":3,"failed":1,"hostsFailed":0,"left":2,\
                "bytes":1000,"seconds":1.235,"stoppedBy":"maxTime"}
                """)
        let finding = DoctorFinding(check: "store", ok: true, detail: "fine", fix: nil)
        #expect(
            line { $0.finding(finding) }
                == #"{"check":"store","ok":true,"detail":"fine","fix":null}"#)
    }

    @Test func aRefusalIsAnObject() {
        let error = LonghaulError(.conflict, "taken", transferID: TransferID(rawValue: 3))
        #expect(
            line { $0.refusal(error, line: 7) }
                == #"{"error":{"code":"conflict","message":"taken","id":3,"line":7}}"#)
    }
}

@Suite struct JSONTextTests {
    private func quoted(_ text: String) -> String {
        var json = JSONText()
        json.value(text)
        return json.text
    }

    @Test(arguments: [
        ("plain", #""plain""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{1B}[31m", #""\u001b[31m""#), ("\u{7F}", #""\u007f""#), ("\u{9B}", #""\u009b""#),
        ("\u{202E}", #""\u202e""#), ("é读👍", #""é读👍""#), ("\u{E0041}", #""\udb40\udc41""#),
        ("\0", #""\u0000""#),
    ])
    func stringsDoNothingToATerminal(_ text: String, _ json: String) throws {
        #expect(quoted(text) == json)
        #expect(try JSONValue(json) == .string(text))
    }

    @Test func numbersThatAreNoneAreUnknown() {
        var json = JSONText()
        json.object {
            $0.field("a", rate: .infinity)
            $0.field("b", rate: .nan)
            $0.field("c", seconds: 1e300)
            $0.field("d", seconds: 0.25)
            $0.field("e", Int64.min)
        }
        #expect(json.text == #"{"a":null,"b":null,"c":null,"d":0.25,"e":-9223372036854775808}"#)
    }

    @Test func whatIsNoJSONIsHandedOnAsText() {
        var json = JSONText()
        json.object {
            $0.field("good", json: " [1, {\"a\" : null}] ")
            $0.field("bad", json: "{\"a\"")
            $0.field("none", json: nil)
        }
        #expect(json.text == #"{"good":[1,{"a":null}],"bad":"{\"a\"","none":null}"#)
    }
}

@Suite struct JSONScannerTests {
    @Test(arguments: [
        ("{}", "{}"), (" [ ] ", "[]"), ("[[],{}]", "[[],{}]"), ("null", "null"), ("true", "true"),
        ("-0.5e+10", "-0.5e+10"), ("0", "0"), ("100000000000000000000", "100000000000000000000"),
        (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#), (#""\ud83d\udc4d""#, #""👍""#),
        (#""\u0041\/""#, #""A/""#), ("\t[1 ,\r\n2]", "[1,2]"),
    ])
    func takesJSON(_ text: String, _ compact: String) throws {
        let result = String(decoding: try JSONScanner.compacted(text), as: UTF8.self)
        #expect(result == compact)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "01", "+1", "1.", ".5", "1e",
        "- 1", "nul", "nulll", "tru", "\"", "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "1 2", "[1}",
        "{\"a\" 1}", "NaN", "// c\n1", "\u{FEFF}1",
    ])
    func refusesEverythingElse(_ text: String) {
        #expect(throws: JSONProblem.self) { try JSONScanner.compacted(text) }
    }

    @Test func refusesWhatIsNestedTooDeeply() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSONScanner.compacted(nested(64))
        let problem = JSONProblem(message: "more than 64 levels of nesting", byte: 66)
        #expect(throws: problem) { try JSONScanner.compacted(nested(65)) }
        #expect(throws: problem) {
            try JSONScanner.compacted(String(repeating: "[", count: 1_000_000))
        }
    }

    /// No text, and not to be taken for another one. So some programs write names of files that
    /// are not UTF-8.
    @Test(arguments: [#""\ud83d!""#, #""caf\udce9""#, #""\udc4d\ud83d""#, #"["\ud83d"]"#])
    func aLoneSurrogateIsRefused(text: String) {
        #expect(throws: JSONProblem.self) { try JSONScanner.compacted(text) }
    }
}
