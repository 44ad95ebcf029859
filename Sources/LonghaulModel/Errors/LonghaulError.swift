/// Why something could not be done: a stable code for programs, a sentence for users with the cause
/// and the advice, and whether the bytes fetched so far are kept.
public struct LonghaulError: Error, Hashable, Codable, Sendable {
    /// Code for programs; stable.
    public var code: Code
    /// Message for users: the cause and, if possible, the advice. Not stable.
    public var message: String
    /// The transfer concerned, if any.
    public var transferID: TransferID?
    /// The status of the last answer over HTTP, if that is the reason.
    public var httpStatus: Int?
    /// libcurl's CURLcode, if the error came from libcurl.
    public var curlCode: Int?
    /// Another attempt without any change may succeed.
    public var retryable: Bool
    /// Bytes that are kept for a later `resume` or `retry`.
    public var bytesKept: Int64

    /// An error of the library or of a program that uses it; by default not retryable, with no
    /// bytes kept.
    public init(
        _ code: Code, _ message: String, transferID: TransferID? = nil, httpStatus: Int? = nil,
        curlCode: Int? = nil, retryable: Bool = false, bytesKept: Int64 = 0
    ) {
        self.code = code
        self.message = message
        self.transferID = transferID
        self.httpStatus = httpStatus
        self.curlCode = curlCode
        self.retryable = retryable
        self.bytesKept = bytesKept
    }
}

extension LonghaulError {
    /// The id names no transfer.
    package static func noSuchTransfer(_ id: TransferID) -> LonghaulError {
        LonghaulError(
            .noSuchTransfer, "no such transfer; `longhaul list --all` shows all", transferID: id)
    }

    package static let sourceChanged = LonghaulError(
        .sourceChanged,
        "the file was changed after it was handed over; enqueue it again, or with --if-changed "
            + "restart"
    )

    /// The answer to a POST was lost, and the POST may not be sent twice.
    package static func answerLost(_ id: TransferID) -> LonghaulError {
        LonghaulError(
            .conflict,
            "the answer to its POST was lost, and the server may have the file; look there, then "
                + "give the same upload with --repeatable to send it again", transferID: id)
    }

    /// A cancel has deleted it, or someone else.
    package static let snapshotLost = LonghaulError(
        .sourceChanged, "the snapshot of the file is gone; enqueue the file again")

    /// The same, of another transfer.
    package func about(_ id: TransferID) -> LonghaulError {
        var error = self
        error.transferID = id
        return error
    }

    /// The message in two parts: the cause, and the advice if the message has one.
    package var parts: (what: String, advice: String?) {
        guard let mark = message.firstRange(of: "; ") else { return (message, nil) }
        return (String(message[..<mark.lowerBound]), String(message[mark.upperBound...]))
    }
}

extension LonghaulError {
    /// The ``message`` without command-line text: a clause ends before the first option (`--x`) or
    /// command (in backquotes), and is left out if it becomes empty. The cause stays, without its
    /// backquotes.
    package var plainMessage: String {
        let clauses = message.clauses(by: "; ").enumerated().compactMap { index, clause in
            clause.withoutCommandLine
                ?? (index == 0 && clause.option == nil ? clause.filter { $0 != "`" } : nil)
        }
        return clauses.isEmpty ? code.rawValue : clauses.joined(separator: "; ")
    }
}

extension String {
    /// Where an option (` --x`) begins; dashes alone are part of a name.
    fileprivate var option: Index? {
        indices.first { index in
            let rest = self[index...]
            return rest.hasPrefix(" --") && rest.dropFirst(3).first?.isLetter == true
        }
    }

    /// The clause up to its first option or command; `nil` if nothing is left.
    fileprivate var withoutCommandLine: String? {
        guard let mark = [option, firstIndex(of: "`")].compactMap(\.self).min() else { return self }
        let ends = [", ", ": ", " ("].map {
            self[..<mark].clauses(by: $0).dropLast().joined(separator: $0)
        }
        return ends.max { $0.utf8.count < $1.utf8.count }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension StringProtocol {
    /// The parts between the separators.
    fileprivate func clauses(by separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

extension LonghaulError: CustomStringConvertible {
    /// The ``message``.
    public var description: String { message }
}

extension LonghaulError {
    /// A stable code. New ones may be added; the text of one never changes: the store, the JSON and
    /// the exit status use it.
    public struct Code: RawRepresentable, Hashable, Codable, Sendable {
        /// Text of the code in the store and in JSON.
        public let rawValue: String

        /// A code by its text; an unknown text is a code, too.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The deadline has passed, or the server sent nothing for the stall timeout.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The server has no such file (404, 410; what FTP and SFTP say of a name that does not
        /// exist).
        public static let notFound = Code(rawValue: "notFound")
        /// The server refuses access (403): a link that has expired, perhaps. Another URL may
        /// continue with the bytes.
        public static let forbidden = Code(rawValue: "forbidden")
        /// Credentials are missing or were refused, by the server (401) or a proxy (407).
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// Another answer that blames the request (4xx).
        public static let clientError = Code(rawValue: "clientError")
        /// The server failed (5xx), or its answer made no sense.
        public static let serverError = Code(rawValue: "serverError")
        /// The connection could not be made, broke, or brought less than was promised.
        public static let network = Code(rawValue: "network")
        /// The name of the server or proxy was not found.
        public static let dns = Code(rawValue: "dns")
        /// The TLS handshake failed, or one side refuses the other's certificate.
        public static let tls = Code(rawValue: "tls")
        /// The whole file has another digest than the expected one. It is kept beside the
        /// destination as `NAME.longhaul-bad`. Of an upload: the server says that it has received
        /// another file.
        public static let checksumMismatch = Code(rawValue: "checksumMismatch")
        /// A file stands at the destination, and was not to be replaced.
        public static let destinationExists = Code(rawValue: "destinationExists")
        /// The disk is full, or its quota or the file system's limits are reached.
        public static let noSpace = Code(rawValue: "noSpace")
        /// The disk failed, or the machine is short of memory or descriptors.
        public static let io = Code(rawValue: "io")
        /// A directory or file may not be read or written.
        public static let permission = Code(rawValue: "permission")
        /// Larger than was allowed, or than any file can be.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// A scheme, option or answer that this program or its libcurl cannot deal with.
        public static let unsupported = Code(rawValue: "unsupported")
        /// The request is malformed or contradicts itself.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        /// The file to send was changed, replaced or removed after it was handed over.
        public static let sourceChanged = Code(rawValue: "sourceChanged")
        /// The list of a bundle's files cannot be used: a line is broken, a name is unsafe, or a
        /// signature is missing or wrong.
        public static let invalidManifest = Code(rawValue: "invalidManifest")
        /// The transfer was cancelled, or one that it waits for (``TransferOptions/after``) did not
        /// complete.
        public static let cancelled = Code(rawValue: "cancelled")

        // Refusals of a command, which no transfer ends with.
        /// The id names no transfer: it never did, or the transfer was removed.
        public static let noSuchTransfer = Code(rawValue: "noSuchTransfer")
        /// No session has this name.
        public static let noSuchSession = Code(rawValue: "noSuchSession")
        /// No host has this name.
        public static let noSuchHost = Code(rawValue: "noSuchHost")
        /// There is no such bundle.
        public static let noSuchBundle = Code(rawValue: "noSuchBundle")
        /// There is no such watched folder.
        public static let noSuchFolder = Code(rawValue: "noSuchFolder")
        /// No task request has this identifier.
        public static let noSuchTask = Code(rawValue: "noSuchTask")
        /// The host does not permit the task's identifier (`BGTaskScheduler.Error.notPermitted`).
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// The host has the largest number of waiting requests
        /// (`BGTaskScheduler.Error.tooManyPendingTaskRequests`).
        public static let tooManyPendingTaskRequests = Code(
            rawValue: "tooManyPendingTaskRequests")
        /// A continued task with the strategy `fail` cannot begin at once
        /// (`BGTaskScheduler.Error.immediateRunIneligible`).
        public static let immediateRunIneligible = Code(rawValue: "immediateRunIneligible")
        /// The host cannot be launched as things are (`BGTaskScheduler.Error.unavailable`).
        public static let unavailable = Code(rawValue: "unavailable")
        /// No event has this sequence number.
        public static let noSuchEvent = Code(rawValue: "noSuchEvent")
        /// The requested name, file or lease belongs to another transfer, session, host or engine.
        /// Nothing was changed.
        public static let conflict = Code(rawValue: "conflict")
        /// The queue cannot be opened, read or written. Its content is kept.
        public static let storeUnavailable = Code(rawValue: "storeUnavailable")
        /// The `BackgroundSession` was invalidated before or during the call.
        public static let sessionInvalidated = Code(rawValue: "sessionInvalidated")
        /// A fault of Longhaul itself. The bytes are kept.
        public static let `internal` = Code(rawValue: "internal")
    }
}
