/// The outcome of one request.
public enum EnqueueOutcome: Hashable, Sendable {
    /// The request has a new number; with `rename` the destination may be another than the
    /// requested one.
    case recorded(TransferID, destination: String)
    /// The same URL to the same destination was asked for before, in the same session, and has not
    /// completed: it is this transfer again. A failed one is tried again, a paused one stays so.
    case existing(TransferID, destination: String)
    /// `--if-exists skip` and the file is there: nothing to do.
    case skipped(destination: String)
    /// Nothing was recorded of it, for this reason.
    case refused(LonghaulError)
}

/// Origin of a cancel, as the detail of the transfer's event says.
package enum Canceller: String, Codable, Sendable {
    case command, library
    /// The session was invalidated.
    case session
    /// The host of its session, when it was asked.
    case host
    /// Another request, which has replaced it.
    case replaced
    /// A client of aria2's JSON-RPC.
    case rpc
}
