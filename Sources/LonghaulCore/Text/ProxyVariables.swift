/// The variables by which libcurl finds a proxy where a request names none.
package struct ProxyVariables: Hashable, Sendable {
    private let proxied: Set<String>
    private let exceptions: [String]

    /// - Parameter value: Of the variable of that name; `nil` = it is not set.
    package init(_ value: (String) -> String?) {
        func isSet(_ name: String) -> Bool { value(name).map { !$0.isEmpty } ?? false }
        let all = isSet("all_proxy") || isSet("ALL_PROXY")
        let schemes = ["http", "https", "ftp", "ftps", "sftp"].filter { scheme in
            // HTTP_PROXY is what a CGI script finds of a request's field Proxy.
            all || isSet("\(scheme)_proxy")
                || (scheme != "http" && isSet("\(scheme.uppercased())_PROXY"))
        }
        proxied = Set(schemes)
        exceptions = (value("no_proxy") ?? value("NO_PROXY") ?? "")
            .split { $0 == "," || $0 == " " }.map { $0.lowercased() }
    }

    /// Whether a request goes through one: the `named` one (empty = none), or the variables'.
    package func apply(to url: String, named: String?) -> Bool {
        if let named, named.isEmpty { return false }
        if named == nil, proxied.isEmpty { return false }
        guard let parts = try? URLParts(url) else { return named != nil }
        let host = parts.host
        let isExcepted = exceptions.contains { exception in
            let name = exception.hasPrefix(".") ? exception.dropFirst() : exception[...]
            return exception == "*" || host == name || host.hasSuffix(".\(name)")
        }
        return !isExcepted && (named != nil || proxied.contains(parts.scheme.rawValue))
    }
}
