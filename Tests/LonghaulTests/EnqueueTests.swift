import Foundation
import Testing

@testable import Longhaul

/// Long inputs are read on one thread and inserted on another; nothing of it shows.
@Suite struct EnqueueTests {
    private struct Torn: Error, Equatable {
        var at: Int
    }

    private let home: SessionHome
    private let queue: TransferQueue

    init() throws {
        home = try SessionHome()
        queue = try TransferQueue(directory: home.store)
    }

    private func request(_ number: Int) -> TransferRequest {
        TransferRequest(
            url: "http://127.0.0.1:1/\(number)", destination: .file(home.file("f\(number)").path))
    }

    /// For the same file from another URL.
    private func conflicting(with number: Int) -> TransferRequest {
        var request = request(number)
        request.url += "?other"
        return request
    }

    /// The outcomes, and what ended it all.
    private func enqueue(
        _ count: Int, keepGoing: Bool = false, _ make: (Int) throws -> TransferRequest
    ) -> (outcomes: [EnqueueOutcome], error: (any Error)?) {
        var number = 0
        var outcomes: [EnqueueOutcome] = []
        do {
            try queue.enqueue(keepGoing: keepGoing) {
                if number == count { return nil }
                defer { number += 1 }
                return try make(number)
            } report: {
                outcomes.append($0)
            }
        } catch {
            return (outcomes, error)
        }
        return (outcomes, nil)
    }

    private func refusal(_ outcome: EnqueueOutcome) -> LonghaulError.Code? {
        if case .refused(let error) = outcome { error.code } else { nil }
    }

    @Test(arguments: [0, 1, 255, 256, 257, 512, 5000])
    func outcomesComeInOrder(count: Int) throws {
        let (outcomes, error) = enqueue(count, request)
        #expect(error == nil)
        let destinations = outcomes.map {
            if case .recorded(let id, let destination) = $0 { "\(id) \(destination)" } else { "" }
        }
        #expect(destinations == (0..<count).map { "\($0 + 1) \(home.file("f\($0)").path)" })
        #expect(try queue.status().counts[.waiting, default: 0] == count)
    }

    /// In time at no moment.
    @Test func headerFieldsHaveABound() throws {
        let line = String(repeating: "v", count: 1000)
        let outcomes = enqueue(2, keepGoing: true) { number in
            var request = self.request(number)
            for index in 0..<(number == 0 ? 100 : 400) {
                request.options.headers.append(name: "X-\(index)", value: line)
            }
            return request
        }.outcomes
        #expect(outcomes.map(refusal) == [nil, .invalidRequest])
    }

    private typealias Edit = @Sendable (inout TransferRequest) -> Void

    private static let outOfBounds: [(String, Edit)] = [
        ("a line break", { $0.options.headers["X-A"] = "a\r\nX-B: b" }),
        ("a space in a name", { $0.options.headers["X A"] = "a" }),
        ("an empty name", { $0.options.headers[""] = "a" }),
        ("a header of ours", { $0.options.headers["Range"] = "bytes=5-9" }),
        ("no connection", { $0.options.connections = .exactly(0) }),
        ("fewer connections", { $0.options.connections = .exactly(-3) }),
        ("many connections", { $0.options.connections = .exactly(99_999) }),
        ("retries", { $0.options.retries = -1 }),
        ("the largest size", { $0.options.maxSize = -1 }),
        ("the size", { $0.expectedBytes = -1 }),
        ("no JSON", { $0.options.metadata = "{" }),
        ("no charge", { $0.schedule.requires.battery = 0 }),
        ("more than a full charge", { $0.schedule.prefers = ConditionNeeds(battery: 101) }),
        ("an endless silence", { $0.options.stallTimeout = .infinity }),
        ("no number of seconds", { $0.options.waiveAfter = .nan }),
        ("never", { $0.options.waiveAfter = .infinity }),
        ("before it begins", { $0.options.waiveAfter = -1 }),
    ]

    /// By the library as by the command, and nothing is recorded.
    @Test(arguments: outOfBounds.map(\.0))
    func whatIsOutOfBoundsIsRefused(_ name: String) throws {
        let edit = try #require(Self.outOfBounds.first { $0.0 == name }).1
        let (outcomes, _) = enqueue(1, keepGoing: true) { number in
            var request = request(number)
            edit(&request)
            return request
        }
        #expect(outcomes.map(refusal) == [.invalidRequest], "\(outcomes)")
        #expect(try queue.transfer(TransferID(rawValue: 1)) == nil)
    }

    @Test func aChangeHasTheSameBounds() throws {
        #expect(enqueue(1, request).outcomes.map(refusal) == [nil])
        let edits: [(inout TransferChange) -> Void] = [
            { $0.headers = [HeaderFields.Field(name: "Range", value: "bytes=5-9")] },
            { $0.connections = .exactly(17) }, { $0.retries = -1 }, { $0.maxSize = -1 },
            { $0.expectedBytes = -1 }, { $0.metadata = "{" }, { $0.waiveAfter = -1 },
            { $0.requires = ConditionNeeds(battery: 0) },
            { $0.prefers = ConditionNeeds(battery: 101) },
        ]
        for edit in edits {
            var change = TransferChange()
            edit(&change)
            let error = #expect(throws: LonghaulError.self) {
                try queue.change(TransferID(rawValue: 1), change)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test func aNewDestinationIsCheckedAsAFirstOne() throws {
        try Data("x".utf8).write(to: home.file("source"))
        var upload = TransferRequest(
            url: "http://127.0.0.1:1/u", destination: .file(home.file("source").path))
        upload.options.upload = UploadOptions()
        #expect(enqueue(2, request).outcomes.map(refusal) == [nil, nil])
        #expect(enqueue(1) { _ in upload }.outcomes.map(refusal) == [nil])
        func change(_ id: Int64, _ path: String) -> LonghaulError.Code? {
            var change = TransferChange()
            change.destination = path
            do throws(LonghaulError) {
                try queue.change(TransferID(rawValue: id), change)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(change(1, home.file("f1").path) == .conflict)
        #expect(change(1, home.file("source").path) == .destinationExists)
        #expect(change(1, home.file("d").path + "/") == .invalidRequest)
        #expect(change(1, home.file(String(repeating: "n", count: 256)).path) == .invalidRequest)
        #expect(change(3, home.file("g").path) == .invalidRequest)
        #expect(change(1, home.file("g").path) == nil)
        #expect(try queue.transfer(TransferID(rawValue: 1))?.destination == home.file("g").path)
    }

    @Test func whatIsAtItsBoundIsRecorded() throws {
        let (outcomes, _) = enqueue(1) { number in
            var request = request(number)
            request.options.headers["X-A"] = "a\tb"
            request.options.connections = .exactly(16)
            request.options.retries = 0
            request.options.maxSize = 0
            request.expectedBytes = 0
            request.options.waiveAfter = .greatestFiniteMagnitude
            request.schedule.requires.battery = 100
            request.options.metadata = "{ \"a\":\n1 }"
            return request
        }
        #expect(outcomes.map(refusal) == [nil])
        let transfer = try #require(try queue.transfer(TransferID(rawValue: 1)))
        #expect(transfer.metadata == #"{"a":1}"#)
    }

    @Test(arguments: [0, -1, .nan]) func aDeadlineThatIsOverIsRefused(_ seconds: Double) throws {
        let (outcomes, _) = enqueue(1, keepGoing: true) { number in
            var request = request(number)
            request.deadline = .after(seconds: seconds)
            return request
        }
        #expect(outcomes.map(refusal) == [.invalidRequest])
        let (good, _) = enqueue(1, request)
        #expect(good.map(refusal) == [nil])
        var change = TransferChange()
        change.deadline = .after(seconds: seconds)
        let error = #expect(throws: LonghaulError.self) {
            try queue.change(TransferID(rawValue: 1), change)
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func aDeadlineBeforeTheBeginningIsRefused() throws {
        let now = Timestamp(.now)
        func request(_ number: Int, _ deadline: Double) -> TransferRequest {
            var request = self.request(number)
            request.earliestBegin = now + 3600
            request.deadline = .at(now + deadline)
            return request
        }
        let (outcomes, _) = enqueue(3, keepGoing: true) { request($0, [3600, 60, 3601][$0]) }
        #expect(outcomes.map(refusal) == [.invalidRequest, .invalidRequest, nil])
        for seconds in [-60.0, 3600] {
            var change = TransferChange()
            change.deadline = .at(now + seconds)
            let error = #expect(throws: LonghaulError.self) {
                try queue.change(TransferID(rawValue: 1), change)
            }
            #expect(error?.code == .invalidRequest)
        }
        var later = TransferChange()
        later.earliestBegin = now + 7200
        #expect(throws: LonghaulError.self) { try queue.change(TransferID(rawValue: 1), later) }
        later.deadline = .at(now + 7201)
        try queue.change(TransferID(rawValue: 1), later)
    }

    @Test func aClockThatWasNeverSetIsNamed() throws {
        let dawn = Timestamp(milliseconds: -1000)
        let error = #expect(throws: LonghaulError.self) {
            try RequestValidator.check(earliest: dawn, now: { dawn + -1 })
        }
        #expect(error?.message.contains("before 1970") == true)
        try RequestValidator.check(earliest: dawn, now: { dawn + 1 })
        try RequestValidator.check(earliest: nil)
    }

    /// To the kernel a path ends there: another one would be meant.
    @Test(arguments: ["a_b", "a_b/c", "_", "a/b_"])
    func aPathWithAZeroByteIsRefused(_ pattern: String) throws {
        let name = pattern.replacing("_", with: "\0")
        let place = home.file("a").deletingLastPathComponent().path
        for number in 0..<5 {
            let (outcomes, _) = enqueue(1, keepGoing: true) { _ in
                var request = request(number)
                let path = place + "/" + name
                switch number {
                case 0: request.destination = .file(path)
                case 1: request.destination = .directory(path, remoteName: false)
                case 2: request.options.caCertificate = "/etc/passwd\0" + name
                case 3: request.options.clientCertificate = "/etc/passwd\0" + name
                default: request.options.clientKey = "/etc/passwd\0" + name
                }
                return request
            }
            #expect(outcomes.map(refusal) == [.invalidRequest])
            #expect("\(outcomes)".contains("zero byte"), "\(outcomes)")
        }
    }

    /// Where it is asked for, and not when it fails hours later; without the password.
    @Test(arguments: ["foo://u:s3cret@h", "u:s3cret@h:99999", "http://u:s3cret t@h", "http://"])
    func aProxyThatIsNoneIsRefused(_ proxy: String) throws {
        let (outcomes, _) = enqueue(1, keepGoing: true) { number in
            var request = request(number)
            request.options.proxy = proxy
            return request
        }
        let wanted: LonghaulError.Code = proxy.hasPrefix("foo") ? .unsupported : .invalidRequest
        #expect(outcomes.map(refusal) == [wanted])
        #expect(!"\(outcomes)".contains("s3cret"))
        #expect(enqueue(1, request).outcomes.map(refusal) == [nil])
        var change = TransferChange()
        change.proxy = proxy
        let error = #expect(throws: LonghaulError.self) {
            try queue.change(TransferID(rawValue: 1), change)
        }
        #expect(error?.code == wanted && error?.message.contains("s3cret") == false)
    }

    /// What came first is reported, whichever thread found it.
    @Test(arguments: [0, 100, 256, 3000], [1, 300])
    func theFirstRefusalEndsAll(at number: Int, later: Int) throws {
        let (outcomes, error) = enqueue(6000) {
            if $0 == number + later { throw Torn(at: $0) }
            return $0 == number && $0 > 0 ? self.conflicting(with: 0) : self.request($0)
        }
        if number == 0 {
            #expect(error as? Torn == Torn(at: later))
            #expect(outcomes.count == later)
        } else {
            #expect((error as? LonghaulError)?.code == .conflict)
            #expect(outcomes.count == number)
        }
        #expect(try queue.status().counts[.waiting, default: 0] == 0)
    }

    @Test func theOthersAreRecordedWhenAsked() throws {
        let (outcomes, error) = enqueue(2000, keepGoing: true) {
            var request = self.request($0)
            if $0 % 10 == 3 { request = self.conflicting(with: $0 - 1) }
            if $0 % 10 == 7 { request.url = "gopher://x/" }
            return request
        }
        #expect(error == nil)
        var wanted: [LonghaulError.Code?] = Array(repeating: nil, count: 2000)
        for number in wanted.indices {
            if number % 10 == 3 { wanted[number] = .conflict }
            if number % 10 == 7 { wanted[number] = .unsupported }
        }
        #expect(outcomes.map(refusal) == wanted)
        #expect(try queue.status().counts[.waiting, default: 0] == 1600)
    }
}
