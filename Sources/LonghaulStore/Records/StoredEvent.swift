package import LonghaulModel

/// A row of the event log. Its transfer is read separately: an event reports an occurrence, not the
/// transfer's later state.
package struct StoredEvent: Hashable, Sendable {
    /// The number of the event, larger than that of the event before it in this store; never
    /// reused.
    package var seq: Int64
    package var at: Timestamp
    package var session: String
    package var transfer: TransferID?
    package var type: EventType
    /// JSON, by type.
    package var detail: String?
    package var acknowledgedAt: Timestamp?
    /// Path of the file, of a transfer that was removed; `nil` = its own row has it.
    package var path: String?
}

/// The type of an event. The text is stored and printed.
package struct EventType: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let transferCompleted = EventType(rawValue: "transferCompleted")
    package static let transferFailed = EventType(rawValue: "transferFailed")
    package static let transferCancelled = EventType(rawValue: "transferCancelled")
    package static let transferRestarted = EventType(rawValue: "transferRestarted")
    package static let transferNeedsInput = EventType(rawValue: "transferNeedsInput")
    package static let transferBytesExpire = EventType(rawValue: "transferBytesExpire")
    package static let sessionFinished = EventType(rawValue: "sessionFinished")
    package static let hostChanged = EventType(rawValue: "hostChanged")
    package static let bundleReady = EventType(rawValue: "bundleReady")
    package static let bundleUpdated = EventType(rawValue: "bundleUpdated")
    package static let bundleFailed = EventType(rawValue: "bundleFailed")
}

extension StoredEvent {
    enum Column: Int32, StoredColumn {
        case seq, at, session, transferID, type, detail, acknowledgedAt, path

        var sql: String { self == .session ? "s.name" : "e.\(self)" }
    }

    /// Reads an event `e` and its session `s`.
    static let columns = Column.list

    init(_ row: StoredRow<Column>) {
        self.init(
            seq: row[.seq], at: row[.at], session: row[.session], transfer: row[.transferID],
            type: EventType(rawValue: row[.type]), detail: row[.detail],
            acknowledgedAt: row[.acknowledgedAt], path: row[.path])
    }
}

extension EventType {
    /// The types that report the end of a transfer.
    static let ends: Set = [transferCompleted, transferFailed, transferCancelled]

    /// True if it reports that a transfer has ended.
    var endsTransfer: Bool { Self.ends.contains(self) }
}
