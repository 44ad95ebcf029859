internal import Longhaul

/// The bounds of this module.
extension Limits {
    /// Connections at once; a further one takes the place of one that is not needed.
    static let servedConnections = 512
    /// Bytes of requests that are not answered yet, of all connections.
    static let servedWaitingBytes = 64 << 20
    /// Longest wait at the end for requests being answered.
    static let servedEndSeconds = 2.0
    /// Header fields of a request.
    static let servedHeaderFields = 100
    /// Bytes of a request's header fields.
    static let servedHeaderBytes = 32 << 10
    /// Bytes of a request's body.
    static let servedBodyBytes = 4 << 20
    /// Seconds that a client has for a whole request, between two of them, and to show the secret.
    static let servedRequestSeconds: Int64 = 30
    /// Seconds that a client has to read an answer, or the sent part of a stream.
    static let servedAnswerSeconds: Int64 = 60
    /// Delay of the answer to a wrong secret.
    static let wrongSecretSeconds: Int64 = 1
    /// Seconds after which a silent stream of events says that it is there.
    static let servedPulseSeconds: Int64 = 15
    /// Interval of reading the store without a notification.
    static let servedWaitSeconds = 30.0
    /// The pause after the store could not be read.
    static let servedRetrySeconds = 1.0
    /// Threads for the store, which blocks.
    static let servedThreads = 4
    /// Transfers of a list, unless the request says how many.
    static let servedPage = 100
    /// Transfers of a list at most.
    static let servedPageMaximum = 1000
    /// Transfers that a list, the search and the notices of aria2's RPC look through.
    static let rpcListMaximum = 1000
    /// Bytes of a pattern that paths are searched for.
    static let rpcPatternBytes = 1024
    /// Calls of `system.multicall` and of a batch.
    static let rpcCallsMaximum = 1000
    /// Largest number of reported pieces of a file.
    static let rpcPiecesMaximum = 1024
    /// The largest number of places of an engine.
    static let rpcPlacesMaximum = 64
    /// Time from the answer to `shutdown` to the end of the program.
    static let rpcShutdownSeconds = 0.3
    /// Longest wait of a removal for the engine to end a transfer.
    static let servedRemovalSeconds = 5.0
    /// Bytes of a job's log that are shown.
    static let servedLogBytes = 64 << 10
    /// Least seconds between two checks for started and paused transfers.
    static let rpcNoticeSeconds = 0.3
}
