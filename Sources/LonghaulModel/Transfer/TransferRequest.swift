/// The request of a user: a URL, a destination for its bytes, and options.
///
/// Defaults are the command line's. Once a transfer has been enqueued, its request changes only by
/// a `TransferChange`.
public struct TransferRequest: Hashable, Sendable {
    /// Absolute URL: http, https, ftp, ftps or sftp.
    public var url: String
    /// The place of the file. Reserved when the request is enqueued.
    public var destination: Destination
    /// Name of the session; created if missing. Default ``defaultSession``.
    public var session: String
    /// The host of the session; `nil` leaves the host unchanged. Refused if the session belongs to
    /// another one.
    public var host: String?
    /// Default `normal`.
    public var priority: Priority
    /// The engine picks the moment.
    public var isDiscretionary: Bool { didSet { saysDiscretionary = Mark(isSet: true) } }
    /// Window, requirements and preferences.
    public var schedule = TransferSchedule()
    /// The earliest begin; `nil` = at once.
    public var earliestBegin: Timestamp?
    /// When the whole transfer gives up. Default 7 days after it may begin (URLSession's
    /// `timeoutIntervalForResource`).
    public var deadline: Deadline
    /// The size that the user expects. A hint: a wrong guess costs only quality.
    public var expectedBytes: Int64?
    /// Request and file options.
    public var options: TransferOptions {
        unsafeAddress { sharedOptions.address }
        _modify { yield &sharedOptions.value }
    }
    /// Requests are copied at every step of a transfer's life, and most have the same options.
    package private(set) var sharedOptions = TransferRequest.standardOptions
    package static let standardOptions = CopyOnWrite(TransferOptions())

    /// A request with the defaults; checked when it is enqueued.
    public init(url: String, destination: Destination) {
        self.url = url
        self.destination = destination
        session = TransferRequest.defaultSession
        priority = .normal
        isDiscretionary = false
        deadline = .after(seconds: Deadline.defaultSeconds)
    }

    /// Notes the disk of the destination.
    ///
    /// - Parameter last: The options of the last request before and after that: requests that
    ///   share them still do.
    package mutating func setDisk(
        _ disk: MountedDisk?,
        sharing last: inout (CopyOnWrite<TransferOptions>, CopyOnWrite<TransferOptions>)?
    ) {
        if options.disk == disk { return }
        if let last, last.0.isSame(sharedOptions), last.1.value.disk == disk {
            sharedOptions = last.1
            return
        }
        let before = sharedOptions
        options.disk = disk
        last = (before, sharedOptions)
    }

    /// The session of requests that name none.
    public static let defaultSession = "default"

    /// Tells whether ``isDiscretionary`` was given or has its default: a given value has precedence
    /// over a session's own default.
    package private(set) var saysDiscretionary = Mark(isSet: false)

    /// A mark that is ignored by comparison: two requests that differ by it alone are equal.
    package struct Mark: Hashable, Sendable {
        package let isSet: Bool

        package static func == (left: Mark, right: Mark) -> Bool { true }
        package func hash(into hasher: inout Hasher) {}
    }
}

/// The place of a download's file. Paths are absolute when they reach the store.
public enum Destination: Hashable, Sendable {
    /// This path.
    case file(String)
    /// A file in this directory, named by the URL's last path segment, or by the server's
    /// `Content-Disposition`.
    case directory(String, remoteName: Bool)
}

/// The order of transfers that may start.
public enum Priority: Int, Codable, Sendable, CaseIterable {
    /// Before all others.
    case high = 0
    /// The default.
    case normal = 1
    /// After all others; waiting raises it in time.
    case low = 2
}

/// When a transfer gives up (URLSession's `timeoutIntervalForResource`). Its bytes are kept.
public enum Deadline: Hashable, Sendable {
    /// At this moment.
    case at(Timestamp)
    /// Counted from the moment the transfer may begin; starts again at `retry`.
    case after(seconds: Double)

    /// Seven days.
    public static let defaultSeconds: Double = 7 * 86_400

    /// Refuses one that is over before the transfer may begin.
    package func check(earliest: Timestamp?) throws(LonghaulError) {
        guard case .at(let end) = self, let earliest, end <= earliest else { return }
        throw LonghaulError(
            .invalidRequest,
            "the deadline \(RFC3339.format(end)) is not after \(RFC3339.format(earliest)), before "
                + "which the transfer is not to begin: it could never be fetched")
    }
}
