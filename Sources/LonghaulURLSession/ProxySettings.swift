#if !canImport(Darwin)
internal import Foundation

/// Proxies as CFNetwork's dictionary has them.
struct ProxySettings: Sendable {
    private var texts: [String: String] = [:]
    private var numbers: [String: Int] = [:]

    init(_ dictionary: [AnyHashable: Any]) {
        for (key, value) in dictionary {
            if let number = value as? Int {
                numbers["\(key)"] = number
            } else if let flag = value as? Bool {
                numbers["\(key)"] = flag ? 1 : 0
            } else {
                texts["\(key)"] = "\(value)"
            }
        }
    }

    var dictionary: [AnyHashable: Any] {
        texts.merging(numbers.mapValues { "\($0)" }) { $1 }.reduce(into: [:]) { result, pair in
            result[pair.key] = numbers[pair.key].map { $0 as Any } ?? pair.value
        }
    }

    /// The URL of the proxy for a URL; empty = none.
    func proxy(for url: URL) -> String {
        let kinds = [(url.scheme == "https" ? "HTTPS" : "HTTP", "http"), ("SOCKS", "socks5h")]
        for (kind, scheme) in kinds {
            guard numbers["\(kind)Enable"] != 0, let name = texts["\(kind)Proxy"] else { continue }
            var proxy = URLComponents()
            proxy.scheme = scheme
            proxy.host = name
            proxy.port = numbers["\(kind)Port"]
            proxy.user = texts["kCFProxyUsernameKey"]
            proxy.password = texts["kCFProxyPasswordKey"]
            if let text = proxy.string { return text }
        }
        return ""
    }
}
#endif
