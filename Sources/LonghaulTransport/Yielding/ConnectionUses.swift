/// Who is on connections of HTTP/1.1 where libcurl takes all of an authority's for ones to share,
/// or for ones not to share.
struct ConnectionUses {
    private var unshared: Set<Substring> = []
    /// Authorities that have agreed on HTTP/2.
    private var shared: Set<Substring> = []
    /// With more, all are forgotten: what that costs is a connection.
    private static let sharedMax = 1024

    mutating func noteShared(_ authority: Substring) {
        if shared.contains(authority) { return }
        if shared.count >= Self.sharedMax { shared.removeAll() }
        shared.insert(authority)
    }

    /// Whether a request may stay on such a connection: as the only one, and where no other
    /// connection may be shared.
    mutating func takeUnshared(_ authority: Substring) -> Bool {
        guard !shared.contains(authority) else { return false }
        return unshared.insert(authority).inserted
    }

    mutating func leaveUnshared(_ authority: Substring) { unshared.remove(authority) }

    func isUnshared(_ authority: Substring) -> Bool {
        unshared.contains(authority)
    }
}
