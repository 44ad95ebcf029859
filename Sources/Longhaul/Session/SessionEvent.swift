public import FoundationEssentials
public import LonghaulCore

/// Something that happened in a session: recorded when it happened, delivered at least once, and
/// delivered again after a restart until it is acknowledged.
public struct SessionEvent: Sendable {
    /// The kinds of events; others may be added.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The text in the event log and in JSON.
        public let rawValue: String

        /// A kind by its text; an unknown text is a kind, too.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The file is there, whole and durable.
        public static let transferCompleted = Kind(rawValue: "transferCompleted")
        /// The transfer gave up; ``LonghaulModel/Transfer/error`` says why.
        public static let transferFailed = Kind(rawValue: "transferFailed")
        /// A command or the program ended it.
        public static let transferCancelled = Kind(rawValue: "transferCancelled")
        /// The server's file had changed: the transfer restarts. Not an end.
        public static let transferRestarted = Kind(rawValue: "transferRestarted")
        /// The transfer waits for a new URL, credentials or a word. No end.
        public static let transferNeedsInput = Kind(rawValue: "transferNeedsInput")
        /// The bytes that a failed or cancelled transfer keeps for ``TransferQueue/retry(_:)`` go
        /// in three days; ``SessionEvent/detail`` has the moment.
        public static let transferBytesExpire = Kind(rawValue: "transferBytesExpire")
        /// All transfers of the session have ended.
        public static let sessionFinished = Kind(rawValue: "sessionFinished")
        /// The session was opened with another command for its host than was known: that one is
        /// started from now on. ``SessionEvent/detail`` has both.
        public static let hostChanged = Kind(rawValue: "hostChanged")
        /// A version of the session's bundle is whole; ``SessionEvent/detail`` names it.
        public static let bundleReady = Kind(rawValue: "bundleReady")
        /// A newer version has taken the place of the one that was ready.
        public static let bundleUpdated = Kind(rawValue: "bundleUpdated")
        /// The bundle cannot be had; ``SessionEvent/detail`` has the error.
        public static let bundleFailed = Kind(rawValue: "bundleFailed")
    }

    /// The number of the event, larger than that of any earlier one: the order of the events.
    public var sequence: Int64
    /// The kind of the event.
    public var kind: Kind
    /// When it was recorded, to the millisecond.
    public var date: Date
    /// The identifier of the session.
    public var session: String
    /// The transfer at the time of delivery; `nil` when the event is about the session, and when
    /// the transfer was removed since.
    public var transfer: Transfer?
    /// More about it, as JSON.
    public var detail: String?
}

extension SessionEvent {
    /// The file of a completed transfer; `nil` where another one was kept in its place.
    public var file: URL? {
        guard let transfer, transfer.state == .completed, !transfer.isSkipped else { return nil }
        return URL(fileURLWithPath: transfer.path, isDirectory: false)
    }
}

extension SessionEvent.Kind: CustomStringConvertible {
    /// The text of the kind.
    public var description: String { rawValue }
}

extension SessionEvent: CustomStringConvertible {
    /// The event, its transfer and its session as text. Secrets of a URL are left out.
    public var description: String {
        let about = transfer.map { ", transfer \($0.id) \(Redaction.url($0.url))" } ?? ""
        let more = detail.map { ", \(Redaction.text($0))" } ?? ""
        let when = RFC3339.format(Timestamp(date))
        return "\(kind) (\(sequence), \(when)) of \(session)\(about)\(more)"
    }
}
