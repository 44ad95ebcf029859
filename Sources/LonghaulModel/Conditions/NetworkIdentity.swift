/// Identity of a network: interface, gateway and prefix of the route to the outside, and the
/// connection of NetworkManager where that runs. Empty = no network was found.
package struct NetworkIdentity: Hashable, Codable, Sendable {
    package struct Way: Hashable, Codable, Sendable {
        package var link: String
        package var gateway: String?
        package var prefixes: Set<String>

        package init(link: String, gateway: String? = nil, prefixes: Set<String> = []) {
            self.link = link
            self.gateway = gateway
            self.prefixes = prefixes
        }
    }

    package var ipv4: Way?
    package var ipv6: Way?
    /// NetworkManager's connection: two wireless networks may have all else in common.
    package var connection: String?

    package init(ipv4: Way? = nil, ipv6: Way? = nil, connection: String? = nil) {
        self.ipv4 = ipv4
        self.ipv6 = ipv6
        self.connection = connection
    }

    /// Goes on with what is seen now.
    ///
    /// A part that is gone is remembered until there is another: a network that comes back is no
    /// other. A part that was not known before is no change either.
    ///
    /// - Returns: Whether this is another network than before.
    package mutating func follow(_ new: Self) -> Bool {
        let wasNone = self == NetworkIdentity()
        var isAnother = wasNone && new != NetworkIdentity()
        if Self.follow(&ipv4, new.ipv4) { isAnother = true }
        if Self.follow(&ipv6, new.ipv6) { isAnother = true }
        if let found = new.connection {
            if let known = connection, known != found { isAnother = true }
            connection = found
        }
        return isAnother
    }

    private static func follow(_ way: inout Way?, _ new: Way?) -> Bool {
        guard var new else { return false }
        defer { way = new }
        guard let old = way else { return false }
        if old.link != new.link || old.gateway != new.gateway { return true }
        // A link may have several prefixes, which come one after the other. The network is the same
        // as long as one of them has been there all the time.
        let kept = old.prefixes.intersection(new.prefixes)
        if !kept.isEmpty || new.prefixes.isEmpty {
            new.prefixes = new.prefixes.isEmpty ? old.prefixes : kept
            return false
        }
        return !old.prefixes.isEmpty
    }
}
