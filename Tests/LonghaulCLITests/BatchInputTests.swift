import Foundation
import Longhaul
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulCLI

@Suite struct BatchInputTests {
    let scratch: Scratch

    init() throws {
        scratch = try Scratch("batch")
    }

    private func input(
        _ text: String, urls: [String] = [], lineBytesMaximum: Int = 1 << 20,
        _ adjust: (inout RequestTemplate) -> Void = { _ in }
    ) throws -> BatchInput {
        try scratch.write(text, to: "input")
        var template = RequestTemplate(directory: "/work")
        adjust(&template)
        return BatchInput(
            urls: urls,
            lines: try ByteLines(path: scratch("input"), lineBytesMaximum: lineBytesMaximum),
            template: template, context: Sample.context())
    }

    private func all(_ input: BatchInput) throws -> [TransferRequest] {
        var requests: [TransferRequest] = []
        while let request = try input.next() { requests.append(request) }
        return requests
    }

    /// Each request that is good as `LINE url`, each that is not as `LINE!`.
    private func outcomes(_ input: BatchInput) -> [String] {
        var outcomes: [String] = []
        while true {
            do {
                guard let request = try input.next() else { return outcomes }
                outcomes.append("\(input.line ?? 0) \(request.url)")
            } catch {
                outcomes.append("\(error.line ?? 0)!")
            }
        }
    }

    @Test func aPlainListHasOneURLOnALine() throws {
        let text = "http://h/a\r\n\n# http://h/no\n   \nhttp://h/b"
        #expect(outcomes(try input(text)) == ["1 http://h/a", "5 http://h/b"])
        #expect(outcomes(try input("")).isEmpty)
        #expect(outcomes(try input("\n\n")).isEmpty)
    }

    /// What follows the first bytes is of no use to anybody, however it is cut into lines.
    @Test(arguments: [0, 5000]) func aCompressedListIsRefusedAsAWhole(length: Int) throws {
        let bytes = [0x1F, 0x8B, 0x08, 0x0A] + [UInt8](repeating: 0x80, count: length) + [0x0A]
        try Data(bytes).write(to: URL(filePath: scratch("input")))
        let input = BatchInput(
            urls: [], lines: try ByteLines(path: scratch("input"), lineBytesMaximum: 1024),
            template: RequestTemplate(directory: "/work"), context: Sample.context())
        let problem = #expect(throws: InputProblem.self) { try input.next() }
        #expect(problem?.line == nil)
        let path = scratch("input")
        #expect(
            problem?.error.message
                == "\(path) is compressed (gzip); `zcat \(path) | longhaul enqueue -` reads it")
        #expect(try input.next() == nil)
    }

    /// In time that grows with their number, and not with its square.
    @Test(.timeLimit(.minutes(60))) func anEntryMayHaveManyHeaderFields() throws {
        let line = "  header=X-A: 1\n"
        let text = "http://h/a\n" + String(repeating: line, count: 100_000)
        let request = try #require(try all(try input(text)).first)
        #expect(request.options.headers.fields.count == 100_000)
    }

    @Test func aByteOrderMarkIsNoPartOfTheFirstLine() throws {
        #expect(
            outcomes(try input("\u{FEFF}http://h/a\nhttp://h/b\n"))
                == ["1 http://h/a", "2 http://h/b"])
        #expect(outcomes(try input("\u{FEFF}{\"url\":\"http://h/a\"}\n")) == ["1 http://h/a"])
        #expect(outcomes(try input("\u{FEFF}")).isEmpty)
        #expect(outcomes(try input("http://h/a\n\u{FEFF}http://h/b\n")) == ["1 http://h/a", "2!"])
    }

    @Test func whatIsNamedOnTheCommandLineComesFirst() throws {
        let input = try input("http://h/b\n", urls: ["http://h/a"])
        #expect(outcomes(input) == ["0 http://h/a", "1 http://h/b"])
    }

    @Test func anAria2FileBringsMirrorsAndOptions() throws {
        let digest = String(repeating: "ab", count: 32)
        let requests = try all(
            input(
                Fixture.text("input/aria2.txt")))
        #expect(requests.map(\.url) == ["http://h/a", "http://h/b", "http://h/c"])
        let first = requests[0]
        #expect(first.destination == .file("/work/sub/x.bin"))
        #expect(first.options.mirrors == ["http://m/a", "ftp://n/a"])
        #expect(first.options.headers.fields.map(\.value) == ["1", "2"])
        #expect(first.options.checksum == Checksum(algorithm: .sha256, hex: digest))
        #expect(first.options.connections == .exactly(4) && first.options.limitRate == 1 << 20)
        #expect(requests[1].destination == .directory("/other", remoteName: false))
        #expect(requests[1].options == TransferOptions())
        #expect(requests[2].destination == .file("/abs/c"))
        #expect(requests[2].options.user == "me:pw" && requests[2].options.ifExists == .overwrite)
    }

    @Test func optionsOfTheCommandLineHoldForEveryLine() throws {
        let requests = try all(
            input("http://h/a\n  out=n\nhttp://h/b\n") {
                $0.request.session = "s"
                $0.directory = "/down"
                $0.request.options.mirrors = ["http://always/"]
            })
        #expect(requests.map(\.session) == ["s", "s"])
        #expect(requests[0].destination == .file("/down/n"))
        #expect(requests[1].destination == .directory("/down", remoteName: false))
        #expect(requests.map(\.options.mirrors) == [["http://always/"], ["http://always/"]])
    }

    @Test func theOptionsOfARefusedEntryAreNoEntries() throws {
        let text = try Fixture.text("input/aria2-refused.txt")
        #expect(outcomes(try input(text)) == ["1!", "4!", "7!", "10!", "11 http://h/e"])
    }

    @Test func blanksRoundNamesAndValuesAreNoPartOfThem() throws {
        let requests = try all(
            input("http://h/a\n  dir= /data\n\tout = J1 \n  header= X: y\n  user-agent =a b\n"))
        #expect(requests.map(\.destination) == [.file("/data/J1")])
        let fields = [("X", "y"), ("User-Agent", "a b")]
        #expect(
            requests[0].options.headers.fields
                == fields.map { HeaderFields.Field(name: $0.0, value: $0.1) })
    }

    @Test func commentsAndEmptyLinesCutNoEntry() throws {
        let text = try Fixture.text("input/aria2-comments.txt")
        #expect(outcomes(try input(text)) == ["3 http://h/a", "13!", "17 http://h/c"])
        #expect(try input(text).next()?.destination == .file("/d/1"))
    }

    @Test(arguments: ["  out=a\nhttp://h/b", "\n# c\n  checksum=md5:x\nhttp://h/b"])
    func anOptionBelongsToAURL(_ text: String) throws {
        #expect(outcomes(try input(text)).last?.hasSuffix("http://h/b") == true)
        let problem = #expect(throws: InputProblem.self) { try input(text).next() }
        #expect(problem?.error.message == "an option without a URL before it")
        #expect(outcomes(try input("  http://h/a?x=1\nhttp://h/b\n")).count == 2)
    }

    @Test(
        arguments: [
            ("true", .overwrite), ("false", .fail), (" false ", .fail),
        ] as [(String, ExistingFilePolicy)])
    func allowOverwriteIsObeyed(_ value: String, _ policy: ExistingFilePolicy) throws {
        let text = "http://h/a\n  allow-overwrite=\(value)\nhttp://h/b\n"
        let requests = try all(input(text) { $0.request.options.ifExists = .rename })
        #expect(requests.map(\.options.ifExists) == [policy, .rename])
    }

    @Test(arguments: [
        "allow-overwrite=yes", "allow-overwrite=", "user-agent=a\u{7}", "referer=http://h/\rX: y",
        "out= ",
    ])
    func anOptionThatMakesNoSenseIsRefused(_ option: String) throws {
        #expect(
            outcomes(try input("http://h/a\n  \(option)\nhttp://h/b")) == ["2!", "3 http://h/b"])
    }

    @Test(arguments: [
        ("http-user=me\n http-passwd=pw", "me:pw"), ("http-passwd=pw\n http-user=me", "me:pw"),
        ("ftp-user=me\n ftp-passwd=no", "c:l"), ("ftp-user=f\n http-user=h", "h"),
        ("http-user=h\n ftp-user=f", "h"), ("http-passwd=pw", ":pw"), ("gid=1", "c:l"),
    ])
    func userAndPasswordComeInAnyOrder(_ options: String, _ user: String) throws {
        let requests = try all(
            input("http://h/a\n \(options)\n") { $0.request.options.user = "c:l" })
        #expect(requests[0].options.user == user)
    }

    @Test(
        arguments: [
            ("ftp://h/a", "ftp-user=f\n http-user=h", "f"), ("sftp://h/a", "ftp-passwd=p", ":p"),
            ("https://h/a", "http-user=h\n ftp-passwd=p", "h"), ("ftp://h/a", "http-user=h", nil),
        ] as [(String, String, String?)])
    func userAndPasswordAreThoseOfTheProtocol(
        _ url: String, _ options: String, _ user: String?
    ) throws {
        #expect(try all(input("\(url)\n \(options)\n"))[0].options.user == user)
    }

    @Test(arguments: [
        ("http://h/a", "http-proxy=one\n https-proxy=two", "one"),
        ("https://h/a", "https-proxy=two\n http-proxy=one", "two"),
        ("sftp://h/a", "http-proxy=one\n ftp-proxy=three", "three"),
        ("http://h/a", "ftp-proxy=three", "line"),
        ("http://h/a", "http-proxy=one\n all-proxy=all", "one"),
        ("https://h/a", "http-proxy=one\n all-proxy=all", "all"),
        ("http://h/a", "http-proxy=\n all-proxy=all", ""),
        ("http://h/a\tftp://h/a", "all-proxy=all", "all"),
        ("http://h/a\thttp://m/a", "http-proxy=one", "one"),
    ])
    func theProxyIsThatOfTheProtocol(_ urls: String, _ options: String, _ proxy: String) throws {
        let requests = try all(
            input("\(urls)\n \(options)\n") { $0.request.options.proxy = "line" })
        #expect(requests[0].options.proxy == proxy)
    }

    @Test func mirrorsThatNeedAnotherProxyAreRefused() throws {
        let text = "http://h/a\tftp://h/a\n http-proxy=one\n out=b\nhttp://h/b\n"
        #expect(outcomes(try input(text)) == ["3!", "4 http://h/b"])
        let problem = #expect(throws: InputProblem.self) { try input(text).next() }
        #expect(problem?.error.message.contains("another for ftp than for http") == true)
    }

    @Test func aStarIsTheURLAsReferer() throws {
        let requests = try all(
            input("http://u:p@h/u:p@?x#é\n referer=*\nhttp://h/b\n referer=http://r/\n"))
        #expect(requests.map { $0.options.headers["Referer"] } == ["http://h/u:p@?x", "http://r/"])
    }

    /// Both would go out.
    @Test(arguments: [
        "http://h/a\n header=authorization: B\n header=AUTHORIZATION: C\n",
        #"{"url":"http://h/a","headers":{"authorization":"B","AUTHORIZATION":"C"}}"#,
    ])
    func aHeaderOfALineTakesThePlaceOfTheCommandLines(_ text: String) throws {
        let requests = try all(
            input(text) {
                $0.request.options.headers = HeaderFields([
                    .init(name: "Authorization", value: "A"), .init(name: "X-A", value: "1"),
                    .init(name: "Authorization", value: "A2"),
                ])
            })
        #expect(requests[0].options.headers.fields.map(\.value) == ["1", "B", "C"])
    }

    /// The context's now is 2026-03-01T12:00:00Z.
    @Test func anHourIsTheFirstAfterTheTransferMayBegin() throws {
        let line = #"{"url":"http://h/f","deadline":"13:00","earliestBegin":"22:00"}"#
        let requests = try all(input(line))
        #expect(requests[0].earliestBegin == Sample.now + 36_000)
        #expect(requests[0].deadline == .at(Sample.now + 90_000))
    }

    @Test func jsonLinesNameEveryField() throws {
        let line = try Fixture.text("input/requests.jsonl")
        let keys = RequestField.all.filter { !$0.rules.contains(.upload) }.map(\.key)
        for key in keys where !key.isEmpty { #expect(line.contains("\"\(key)\":"), "\(key)") }
        var wanted = TransferRequest(url: "http://h/f", destination: .file("/work/d/f"))
        wanted.session = "s"
        wanted.priority = .low
        wanted.isDiscretionary = true
        wanted.earliestBegin = Sample.now + 3600
        wanted.deadline = .at(Sample.now + 7200)
        wanted.expectedBytes = 7
        wanted.options.checksum = Checksum(
            algorithm: .md5, hex: "d41d8cd98f00b204e9800998ecf8427e")
        wanted.options.metadata = #"{"n":12345678901234567890123}"#
        wanted.options.headers.append(name: "X-A", value: "1")
        wanted.options.user = "u:p"
        wanted.options.netrc = true
        wanted.options.proxy = "http://p"
        wanted.options.caCertificate = "/work/ca"
        wanted.options.clientCertificate = "/c"
        wanted.options.clientKey = "/k"
        wanted.options.insecure = true
        wanted.options.mirrors = ["http://m/f"]
        wanted.options.ifExists = .skip
        wanted.options.limitRate = 10_240
        wanted.options.connections = .exactly(3)
        wanted.options.maxSize = 9
        wanted.options.retries = 2
        wanted.options.stallTimeout = 30
        wanted.options.spread = 90
        wanted.options.notifies = true
        wanted.schedule.windows = TimeWindows(parsing: "22:00-06:00;Sat,Sun")
        #expect(try all(input(line)) == [wanted])
    }

    /// `list --json` prints it so.
    @Test func aPrintedTransferIsARequest() throws {
        var transfer = Sample.transfer(7, .failed, name: "f", done: 5, total: 9, rate: 1)
        transfer.host = "h"
        transfer.priority = .high
        transfer.deadline = Sample.now + 7200
        transfer.error = LonghaulError(.notFound, "it is gone")
        transfer.response = TransferResponse(url: transfer.url, statusCode: 404)
        transfer.options.ifExists = .rename
        transfer.options.stallTimeout = 1.5
        transfer.options.metadata = #"{"a":[1]}"#
        var line = JSONText()
        line.value(transfer, as: Transfer.listed)
        var wanted = TransferRequest(
            url: transfer.url, destination: .file(transfer.path))
        wanted.priority = .high
        wanted.deadline = .at(Sample.now + 7200)
        wanted.schedule.prefers = ConditionNeeds()
        wanted.options = transfer.options
        #expect(try all(input(line.text)) == [wanted])

        transfer.file = .source(transfer.path)
        var upload = UploadOptions()
        upload.uploadProtocol = .tus
        upload.isRepeatable = true
        upload.ifChanged = .restart
        upload.settle = 20
        upload.contentType = "a/b"
        upload.partSize = 5 << 20
        upload.snapshot = true
        upload.inPlace = true
        transfer.options.upload = upload
        wanted.options.upload = upload
        line.clear()
        line.value(transfer, as: Transfer.listed)
        #expect(try all(input(line.text)) == [wanted])
    }

    /// It would be asked for without what is hidden in it.
    @Test(arguments: [
        ("url", #"{"url":"http://REDACTED@h/f"}"#),
        ("url", #"{"url":"http://h/f?a=1&token=REDACTED"}"#),
        ("mirrors", #"{"url":"http://h/f","mirrors":["http://h/f?sig=REDACTED"]}"#),
        ("proxy", #"{"url":"http://h/f","options":{"proxy":"http://REDACTED@p"}}"#),
        ("user", #"{"url":"http://h/f","options":{"user":"REDACTED"}}"#),
        ("headers", #"{"url":"http://h/f","options":{"headers":["Cookie"]}}"#),
    ])
    func aHiddenSecretIsRefused(_ field: String, _ line: String) throws {
        let problem = #expect(throws: InputProblem.self) { try input(line).next() }
        #expect(problem?.error.code == .invalidRequest)
        #expect(problem?.error.message.hasPrefix(field + ": a secret in it is hidden") == true)
    }

    @Test(arguments: [
        #"{"url":"http://h/f?mode=REDACTED"}"#, #"{"url":"http://h/REDACTED@/f"}"#,
        #"{"url":"http://h/f","options":{"headers":[],"user":null}}"#,
    ])
    func whatHidesNothingIsNoSecret(_ line: String) throws {
        #expect(try all(input(line)).count == 1)
    }

    @Test(arguments: [
        #"{"url":"http://h/f","protocol":"tus"}"#,
        #"{"url":"http://h/f","source":"f","protocol":"x"}"#,
        #"{"url":"http://h/f","options":{"state":"waiting"}}"#,
        #"{"url":"http://h/f","retries":1,"options":{"retries":1}}"#,
        #"{"url":"http://h/f","stallTimeout":-1}"#, #"{"url":"http://h/f","stallTimeout":1e999}"#,
    ])
    func whatMakesNoSenseIsRefused(_ line: String) throws {
        #expect(outcomes(try input(line)) == ["1!"])
    }

    @Test func nullLeavesWhatTheCommandLineSays() throws {
        let requests = try all(
            input(
                """
                  {"url":"http://h/a","session":null,"destination":null}
                {"url":"http://h/b","directory":"/x","remoteName":true}
                """
            ) { $0.request.session = "s" })
        #expect(requests[0].session == "s")
        #expect(requests[0].destination == .directory("/work", remoteName: false))
        #expect(requests[1].destination == .directory("/x", remoteName: true))
    }

    @Test(arguments: [
        "{}", #"{"destination":"f"}"#, #"{"url":"http://h/f""#, #"{"url":7}"#,
        #"{"url":"http://h/f","states":"waiting"}"#, #"{"url":"http://h/f","URL":"x"}"#,
        #"{"url":"http://h/f","kind":"upload"}"#, #"{"url":"http://h/f","retries":-1}"#,
        #"{"url":"http://h/f","deadline":7}"#, #"{"url":"http://h/f","headers":{"a b":"c"}}"#,
        #"{"url":"http://h/f","headers":{"a":"b\r\nc: d"}}"#, #"{"url":"http://h/f"} x"#,
        #"{"url":"http://h/f","destination":""}"#, #"{"url":"http://h/f","connections":99}"#,
        #"{"url":"http://h/f","bogus":null}"#, #"{"url":"http://h/f","url":"http://h/g"}"#,
        #"{"session":"s","url":"http://h/f","session":null}"#,
        "http://h/f", "[]",
    ])
    func aMalformedObjectIsRefusedWithItsLine(_ line: String) throws {
        let good = #"{"url":"http://h/f"}"#
        let outcomes = outcomes(try input("\(good)\n\n\(line)\n\(good)"))
        #expect(outcomes == ["1 http://h/f", "3!", "4 http://h/f"])
    }

    @Test func aLineWithoutEndIsRefusedInBoundedMemory() throws {
        let long = "http://h/" + String(repeating: "a", count: 600)
        let input = try input("http://h/a\n" + long, lineBytesMaximum: 200)
        #expect(try input.next()?.url == "http://h/a")
        let problem = #expect(throws: InputProblem.self) { try input.next() }
        #expect(problem?.line == 2)
        #expect(try input.next() == nil)
    }

    /// However much of it has come when it is looked for.
    @Test(arguments: [201, 399, 400, 401, 1000])
    func whatFollowsALineThatIsTooLongIsRead(_ length: Int) throws {
        let long = "http://h/" + String(repeating: "a", count: length - 9)
        let text = "http://h/a\n\(long)\n out=x\nhttp://h/b\n out=\(long)\n dir=x\nhttp://h/c\n"
        #expect(
            outcomes(try input(text, lineBytesMaximum: 200))
                == ["1 http://h/a", "2!", "5!", "7 http://h/c"])
        let json = #"{"url":"http://h/"#
        #expect(
            outcomes(
                try input(
                    "\(json)a\"}\n\(json)\(long)\"}\n  \(json)b\"}\n", lineBytesMaximum: 200))
                == ["1 http://h/a", "2!", "3 http://h/b"])
    }

    @Test func ofWhatIsRefusedLittleIsQuoted() throws {
        let problem = #expect(throws: InputProblem.self) {
            try input(String(repeating: "a", count: 100_000)).next()
        }
        #expect((problem?.error.message.count ?? .max) < 500)
    }

    /// Nobody knows yet what the lines are when the first is too long: the next is an entry.
    @Test func nothingVanishesBehindALineThatIsTooLong() throws {
        let long = String(repeating: "y", count: 200)
        let json = #"{"url":"http://h/a","meta":"\#(long)"}"# + "\n"
        let lines = try input(
            json + #"  {"url":"http://h/b"}"# + "\n" + #"{"url":"http://h/c"}"#,
            lineBytesMaximum: 100)
        #expect(outcomes(lines) == ["1!", "2 http://h/b", "3 http://h/c"])
        let list = try input(
            "http://h/\(long)\n out=x\nhttp://h/c\n", lineBytesMaximum: 100)
        #expect(outcomes(list) == ["1!", "2!", "3 http://h/c"])
    }

    /// Of lines that are too long it does not.
    @Test func aPipeIsReadToItsEndFirst() throws {
        let urls = (0..<500).map { "http://h/" + String(repeating: "x", count: $0 % 89) }
        var lines = urls.map { $0[...] }
        lines.insert(Substring(String(repeating: "y", count: 5000)), at: 300)
        #expect(mkfifo(scratch("pipe"), 0o600) == 0)
        let pipe = open(scratch("pipe"), O_RDWR)
        let input = try ByteLines(path: scratch("pipe"), lineBytesMaximum: 100)
        var text = lines.joined(separator: "\n")
        let written = text.withUTF8 { write(pipe, $0.baseAddress, $0.count) }
        #expect(written == text.utf8.count)
        close(pipe)
        try input.gather { open(scratch("spool"), O_RDWR | O_CREAT, 0o600) }
        let spooled = try Data(contentsOf: URL(fileURLWithPath: scratch("spool"))).count
        #expect((written - 5200..<written - 4800).contains(spooled))
        let batch = BatchInput(
            urls: [], lines: input, template: RequestTemplate(directory: "/work"),
            context: Sample.context())
        let outcomes = outcomes(batch)
        #expect(outcomes[300] == "301!")
        #expect(
            outcomes.map { $0.split(separator: " ").last ?? "" }.filter { $0 != "301!" }
                == urls.map { $0[...] })
    }

    @Test func linesMayBeCutAnywhereByTheReadsUnderneath() throws {
        let urls = (0..<500).map { "http://h/" + String(repeating: "x", count: $0 % 89) }
        let requests = try all(input(urls.joined(separator: "\n"), lineBytesMaximum: 100))
        #expect(requests.map(\.url) == urls)
    }
}

@Suite struct BatchRecordTests {
    private let conflict = LonghaulError(.conflict, "taken")

    private func recorded(_ id: Int64) -> EnqueueOutcome {
        .recorded(TransferID(rawValue: id), destination: "/d")
    }

    @Test func idsInSequenceAreOneRange() {
        var runs = IDRuns()
        for id in [5, 6, 7, 9, 10, 3] as [Int64] { runs.append(id) }
        #expect(runs.runs == [5...7, 9...10, 3...3])
    }

    @Test func aRefusalNamesTheLineOfItsRequest() {
        let console = Sample.console()
        let record = BatchRecord()
        for line in [2, 4, 6, 7] { record.handOver(line: line, hasChecksum: line == 7) }
        record.record(recorded(1), on: console)
        record.record(.refused(conflict), on: console)
        record.record(.skipped(destination: "/d"), on: console)
        record.record(.skipped(destination: "/e"), on: console)
        #expect(
            console.diagnostics.text == """
                longhaul: line 4: taken
                longhaul: exists already, skipped: /d
                longhaul: exists already, skipped (not compared with the checksum): /e

                """)
        #expect(record.blamedLine == nil)
        for line in [8, 10] { record.handOver(line: line) }
        #expect(record.blamedLine == 8)
    }

    @Test func sixtyFourPromisesThatNothingWasRecorded() {
        let console = Sample.console(json: true)
        let malformed = BatchRecord()
        malformed.refuse(.usage("x"), line: 1, on: console)
        #expect(malformed.status == .usage)
        malformed.handOver(line: 2)
        malformed.record(recorded(1), on: console)
        #expect(malformed.status == .refused)
        #expect(BatchRecord().status == .done)
        #expect(
            console.results.text
                == #"{"error":{"code":"invalidRequest","message":"x","line":1}}"# + "\n")
    }
}
