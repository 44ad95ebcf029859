/// The proxy variables of libcurl, used if no proxy is named, with its rules: values of the process
/// that asks for a transfer, which another process may carry out.
package struct ProxyVariables: Hashable, Codable, Sendable {
    /// Proxies by the schemes of URLs.
    private var proxies: [String: String] = [:]
    /// Exceptions as `no_proxy` has them.
    private var exceptions = ""

    /// - Parameter value: Of the variable of that name; `nil` = it is not set.
    package init(_ value: (String) -> String?) {
        // An empty variable is as good as none.
        func first(_ names: String...) -> String? {
            for name in names {
                if let value = value(name), !value.isEmpty { return value }
            }
            return nil
        }
        for scheme in URLParts.Scheme.allCases.map(\.rawValue) {
            // A CGI script finds a request's field Proxy in HTTP_PROXY.
            let own =
                scheme == "http"
                ? first("http_proxy") : first("\(scheme)_proxy", "\(scheme.uppercased())_PROXY")
            proxies[scheme] = own ?? first("all_proxy", "ALL_PROXY")
        }
        if !proxies.isEmpty { exceptions = first("no_proxy", "NO_PROXY") ?? "" }
    }

    /// No variable names a proxy.
    package var isEmpty: Bool { proxies.isEmpty }

    /// All variables that are read.
    package static let names: [String] = {
        let schemes = URLParts.Scheme.allCases.map { "\($0.rawValue)_proxy" }
        let lower = ["no_proxy", "all_proxy"] + schemes
        return lower + lower.map { $0.uppercased() }.filter { $0 != "HTTP_PROXY" }
    }()

    /// The proxy for a URL; `nil` = none.
    ///
    /// - Parameter host: In lower case, as libcurl has it: an IPv6 address may be in brackets.
    package func proxy(scheme: String, host: String) -> String? {
        guard let proxy = proxies[scheme] else { return nil }
        return isExcepted(host) ? nil : proxy
    }

    package func proxy(for url: String) -> String? {
        guard let parts = try? URLParts(url) else { return nil }
        return proxy(scheme: parts.scheme.rawValue, host: parts.host)
    }

    // MARK: Exceptions

    /// Rules of libcurl's noproxy.c, from 7.86 on: names with their subdomains, addresses, networks
    /// of IPv4, separated by commas or blanks; a star stands for all hosts only if it stands alone.
    private func isExcepted(_ host: String) -> Bool {
        if exceptions == "*" { return true }
        var name = host[...]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        let address = Self.address(name)
        if address == nil, name.hasSuffix(".") { name.removeLast() }
        let patterns = exceptions.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        return patterns.contains { pattern in
            if let address { return Self.holds(pattern, address) }
            var pattern = pattern
            if pattern.hasSuffix(".") { pattern.removeLast() }
            if pattern.hasPrefix(".") { pattern.removeFirst() }
            return !pattern.isEmpty && (name == pattern || name.hasSuffix(".\(pattern)"))
        }
    }

    /// `10.0.0.0/8`, or one address; `/0`, and text that is not a number, count as no length at
    /// all.
    private static func holds(_ network: Substring, _ address: UInt32) -> Bool {
        let parts = network.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let start = self.address(first) else { return false }
        let digits = parts.dropFirst().first ?? ""
        if digits.hasPrefix("-") { return false }
        let length = UInt32(digits.prefix { $0.isNumber }) ?? 0
        if length > 32 { return false }
        return length == 0 ? address == start : (address ^ start) >> (32 - length) == 0
    }

    /// Reads an address of four decimal numbers.
    private static func address(_ text: Substring) -> UInt32? {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        guard numbers.count == 4 else { return nil }
        var address: UInt32 = 0
        for number in numbers {
            guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let byte = UInt8(number)
            else { return nil }
            address = address << 8 | UInt32(byte)
        }
        return address
    }
}
