public import LonghaulCore

/// A transfer waits for a word of the program that asked for it.
public struct InputNeed: Sendable {
    /// Why it waits.
    public enum Reason: Hashable, Sendable {
        /// The server refuses its link or its credentials (401, 403, 404, 410). Its bytes are kept.
        case expired
        /// The transfer was put off (`earliestBeginDate`) and is about to begin, see
        /// ``BackgroundSession/Configuration/asksBeforeDelayedRequests``.
        case delayedRequest
    }

    /// Why it waits.
    public var reason: Reason
    /// The transfer, as it was when the need was read.
    public var transfer: Transfer
}

/// The answer to a need.
public enum InputReply: Sendable {
    /// Continues unchanged: a delayed transfer begins, one whose link has expired is tried once
    /// more.
    case `continue`
    /// Continues with the URL and the header fields of this request. The bytes are kept if the
    /// server proves that it has the same file.
    case use(TransferRequest)
    /// Ends the transfer; its part file is deleted.
    case cancel
}
