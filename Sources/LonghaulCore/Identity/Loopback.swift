/// Hosts that are this machine itself and need no network: 127.0.0.0/8, ::1, and `localhost` with
/// what is below it (RFC 6761 §6.3).
package enum Loopback {
    package static func isLoopback(host: some StringProtocol) -> Bool {
        if host == "::1" || host == "0:0:0:0:0:0:0:1" { return true }
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        if name.equalsIgnoringCase("localhost") { return true }
        if name.count > 10, name.suffix(10).equalsIgnoringCase(".localhost") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "127" else { return false }
        return parts.allSatisfy { $0.utf8.count <= 3 && ($0.decimalValue ?? 256) < 256 }
    }

    /// - Parameter origin: `scheme://host:port`, see ``URLParts/origin``.
    package static func isLoopback(origin: String) -> Bool {
        guard let mark = origin.firstIndex(of: "/") else { return isLoopback(host: origin) }
        var host = origin[mark...].drop { $0 == "/" }
        if let colon = host.lastIndex(of: ":") { host = host[..<colon] }
        if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
        return isLoopback(host: host)
    }
}
