import Foundation
import Glibc
import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Synchronization
import Testing

/// A transport with a mailbox: tests start requests and wait for what is reported.
final class Wire: Sendable {
    private struct Mail {
        var facts: [WireFact] = []
        var batches = 0
    }

    let transport: Transport
    private let box: Box
    /// Descriptors must stay open until the requests have ended.
    private let parts = Mutex<[PartFile]>([])

    private final class Box: Sendable {
        let mail = Mutex(Mail())
    }

    init(
        budget: TransportBudget = TransportBudget(),
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = TransportConfiguration()
        configuration.userAgent = "longhaul/test"
        change(&configuration)
        let box = Box()
        self.box = box
        transport = try Transport(configuration: configuration, budget: budget) { facts in
            box.mail.withLock { mail in
                mail.facts += facts
                mail.batches += 1
            }
        }
    }

    func request(
        _ url: String, _ part: PartFile, headers: [(String, String)] = [], offset: Int64 = 0,
        end: Int64? = nil, noticeEvery: Int64 = 0, limitRate: Int64? = nil,
        connection: ConnectionSettings = ConnectionSettings(),
        judge: @escaping @Sendable (ResponseHead) -> HeadVerdict = Wire.takeSuccess
    ) -> SegmentRequest {
        let serial = parts.withLock { parts in
            parts.append(part)
            return Int64(parts.count)
        }
        var connection = connection
        // A test that reaches this has failed; the default minute only makes that slow.
        connection.stallTimeout = min(connection.stallTimeout, 20)
        return SegmentRequest(
            key: SegmentKey(fetch: FetchID(rawValue: 1), serial: serial), url: url,
            headers: HeaderFields(headers.map { HeaderFields.Field(name: $0.0, value: $0.1) }),
            offset: offset, connection: connection, target: part.target, end: end,
            noticeEvery: noticeEvery, limitRate: limitRate, judge: judge)
    }

    /// Writes a success from zero, follows redirects, refuses the rest.
    static let takeSuccess: @Sendable (ResponseHead) -> HeadVerdict = { head in
        switch head.status {
        case 200..<300: .accept(BodyPlan(position: 0))
        case 301, 302, 303, 307, 308: .redirect
        default: .refuse
        }
    }

    var facts: [WireFact] { box.mail.withLock { $0.facts } }
    var batches: Int { box.mail.withLock { $0.batches } }

    /// Starts one request and waits for its end.
    func run(_ request: SegmentRequest) async throws -> Outcome {
        transport.start([request])
        return try await outcome(of: request)
    }

    func outcome(of request: SegmentRequest) async throws -> Outcome {
        try await wait { facts in
            var heads: [(ResponseHead, HeadVerdict)] = []
            var notices = 0
            for fact in facts {
                switch fact {
                case .head(request.key, let head, let verdict): heads.append((head, verdict))
                case .progress(request.key): notices += 1
                case .ended(request.key, let end):
                    return Outcome(
                        head: heads.last?.0, verdict: heads.last?.1, heads: heads.count,
                        notices: notices, end: end)
                case .head, .interim, .progress, .ended: break
                }
            }
            return nil
        }
    }

    func head(of request: SegmentRequest) async throws -> ResponseHead {
        try await wait { facts in
            for case .head(request.key, let head, _) in facts { return head }
            return nil
        }
    }

    /// Looks until there is a result. Asynchronous, because the tests share few threads.
    func wait<Result>(
        for result: @Sendable ([WireFact]) throws -> Result?
    ) async throws -> Result {
        var found: Result?
        try await eventually("a result") {
            found = try result(facts)
            return found != nil
        }
        return try #require(found)
    }
}

struct Outcome {
    var head: ResponseHead?
    var verdict: HeadVerdict?
    var heads: Int
    var notices: Int
    var end: SegmentEnd

    var failure: WireFailure? { end.failure }
}

/// A part file with its two cells.
final class PartFile: @unchecked Sendable {
    let descriptor: Int32
    private let board: UnsafeMutablePointer<UInt64>

    init(_ content: [UInt8] = []) {
        var template = Array((NSTemporaryDirectory() + "/wire-XXXXXX").utf8CString)
        descriptor = mkstemp(&template)
        unlink(template)
        if !content.isEmpty { pwrite(descriptor, content, content.count, 0) }
        board = Self.makeBoard()
    }

    /// Opens something that is there already.
    init(path: String) {
        descriptor = open(path, O_RDWR)
        board = Self.makeBoard()
    }

    private static func makeBoard() -> UnsafeMutablePointer<UInt64> {
        let board = UnsafeMutablePointer<UInt64>.allocate(capacity: 16)
        board.initialize(repeating: 0, count: 16)
        board[ProgressCell.fetchCell] = UInt64(UInt(bitPattern: board + 8))
        return board
    }

    deinit {
        close(descriptor)
        board.deallocate()
    }

    var target: SegmentTarget {
        SegmentTarget(descriptor: descriptor, cell: UInt(bitPattern: board))
    }

    func segmentCell(_ word: Int) -> UInt64 { board[word] }
    func fetchCell(_ word: Int) -> UInt64 { board[8 + word] }

    var content: [UInt8] {
        var status = stat()
        fstat(descriptor, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes[..<max(0, count)])
    }
}
