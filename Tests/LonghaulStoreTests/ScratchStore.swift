import Foundation
import LonghaulCore
import LonghaulTestValues
import Testing

@testable import LonghaulStore

/// A store in a directory of its own that goes away with it, and short names for what tests do with
/// it.
final class ScratchStore {
    let directory: String
    let store: Store
    var location: StoreLocation { StoreLocation(directory: directory) }

    init() throws {
        directory = try Scratch.directory()
        store = try Store.open(directory: directory)
    }

    deinit {
        try? store.close()
        Scratch.remove(directory)
    }

    /// Enqueues one transfer with default wants.
    @discardableResult
    func add(
        _ destination: String, origin: String = "https://a.example:443",
        session: String = "default",
        now: Timestamp = .start, _ edit: (inout TransferRequest) -> Void = { _ in }
    ) throws -> TransferID {
        let outcomes = try store.wants.enqueue(
            [.sample(destination, origin: origin, session: session, edit)], now: now)
        guard case .recorded(let id, _) = try #require(outcomes.first) else {
            throw LonghaulError(.internal, "not recorded")
        }
        return id
    }

    /// Takes the lease.
    func lead() throws -> Epoch {
        try store.lease.raiseEpoch(
            EngineHolder(pid: 1, pidStart: 2, bootID: "boot", mode: "daemon"), now: .start)
    }

    /// One engine transaction.
    @discardableResult
    func turn<Value>(
        _ epoch: Epoch, _ body: (borrowing EngineTransaction) throws -> Value
    ) throws -> Value {
        try store.withEngineTransaction(epoch, .durable, body)
    }

    /// Decides about tasks in conditions that let everything run, and records it.
    func decide(_ epoch: Epoch, at now: Timestamp) throws -> TaskPlan {
        try turn(epoch) { tx in
            let snapshot = try tx.tasks.facts().snapshot
            let plan = TaskPlan.decide(snapshot, .favourable, TaskNews(), now: now)
            try tx.tasks.apply(plan.changes, now: now)
            return plan
        }
    }

    /// Inserts a row of SQL literals.
    func insert(_ table: String, _ row: Literals) throws {
        let names = row.map(\.key).joined(separator: ", ")
        let values = row.map(\.value).joined(separator: ", ")
        try store.access { try $0.run("INSERT INTO \(table) (\(names)) VALUES (\(values))") }
    }

    /// The literals that these columns of the last row have.
    func stored(_ table: String, _ row: Literals) throws -> [String] {
        try row.map { column in
            let values: [String] = try store.access {
                try $0.values("SELECT quote(\(column.key)) FROM \(table) ORDER BY rowid")
            }
            return try #require(values.last)
        }
    }

    func state(_ id: TransferID, now: Timestamp = .start) throws -> TransferState? {
        try store.transfers.find(id, now: now)?.state
    }
}

extension TransferStatus {
    /// Starts a ready transfer alone, as an engine does; `nil` = it is not ready.
    @discardableResult
    func claim(
        _ id: TransferID, now: Timestamp
    ) throws -> (work: TransferWork, fetch: FetchState)? {
        guard let work = try work(id), work.isReady(at: now), !work.isUnreadable else {
            return nil
        }
        let own = try work.fetchID.flatMap { try FetchRecord.find($0, connection) }
        return try SharedFetches(connection: connection).start(work, into: own, now: now)
    }
}

/// SQL literals by the names of columns.
typealias Literals = KeyValuePairs<String, String>

func quoted(_ value: some Encodable) -> String { "'\(StoredJSON.encode(value))'" }

func milliseconds(_ moments: Timestamp?...) -> [Int64?] { moments.map { $0?.milliseconds } }

enum Scratch {
    static func directory() throws -> String {
        let path =
            FileManager.default.temporaryDirectory.path + "/longhaul-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        return path
    }

    static func remove(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
    }
}

extension Timestamp {
    /// 2026-01-01T00:00:00Z.
    static let start = Timestamp(milliseconds: 1_767_225_600_000)
}

extension NewTransfer {
    static func sample(
        _ destination: String, origin: String = "https://a.example:443",
        session: String = "default", _ edit: (inout TransferRequest) -> Void = { _ in }
    ) -> NewTransfer {
        var request = TransferRequest(
            url: "https://a.example/file", destination: .file(destination))
        request.session = session
        edit(&request)
        return NewTransfer(request: request, origin: origin, destination: destination)
    }
}

/// The error that a body throws, for a closer look than `#expect(throws:)` takes.
func refusal(_ body: () throws -> Void) throws -> LonghaulError {
    do {
        try body()
    } catch let error as LonghaulError {
        return error
    }
    throw LonghaulError(.internal, "nothing was thrown")
}

/// `#expect` where the macro cannot reach: what it makes of a call on a transaction, which cannot
/// be copied, does not compile.
func verify(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: sourceLocation)
}
