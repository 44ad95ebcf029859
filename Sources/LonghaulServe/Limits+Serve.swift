internal import Longhaul

/// The bounds of this module.
extension Limits {
    /// Bytes of a request's body.
    static let servedBodyBytes = 4 << 20
    /// Seconds that a client has to read an answer, or the sent part of a stream.
    static let servedAnswerSeconds: Int64 = 60
    /// Transfers of a list at most.
    static let servedPageMaximum = 1000
    /// Transfers that a list, the search and the notices of aria2's RPC look through.
    static let rpcListMaximum = 1000
}
