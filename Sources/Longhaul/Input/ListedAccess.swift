internal import LonghaulCore

/// The credentials and the proxy of an entry of an aria2 file. Each is set for a protocol, and
/// applies to that one only.
struct ListedAccess {
    private enum Service: String {
        case http, https, ftp, all

        /// The service whose proxy applies; SFTP has no proxy setting.
        init(_ scheme: URLParts.Scheme) {
            switch scheme {
            case .http: self = .http
            case .https: self = .https
            case .ftp, .ftps, .sftp: self = .ftp
            }
        }

        /// The service whose user applies.
        var family: Service { self == .https ? .http : self }
    }

    private var users: [Service: String] = [:]
    private var passwords: [Service: String] = [:]
    private var proxies: [Service: String] = [:]

    var isEmpty: Bool { users.isEmpty && passwords.isEmpty && proxies.isEmpty }

    /// Applies an option of this kind; `false` if it is of another.
    mutating func apply(_ name: String, _ value: String) throws(LonghaulError) -> Bool {
        switch name {
        case "http-user": users[.http] = value
        case "ftp-user": users[.ftp] = value
        case "http-passwd": passwords[.http] = value
        case "ftp-passwd": passwords[.ftp] = value
        case "http-proxy": proxies[.http] = try OptionText.proxy(value, name)
        case "https-proxy": proxies[.https] = try OptionText.proxy(value, name)
        case "ftp-proxy": proxies[.ftp] = try OptionText.proxy(value, name)
        case "all-proxy": proxies[.all] = try OptionText.proxy(value, name)
        default: return false
        }
        return true
    }

    /// Sets the values that apply to the request's URL.
    func settle(_ request: inout TransferRequest) throws(LonghaulError) {
        guard let own = ListedAccess.service(of: request.url) else { return }
        let (user, password) = (users[own.family], passwords[own.family])
        if user != nil || password != nil {
            request.options.user = (user ?? "") + (password.map { ":" + $0 } ?? "")
        }
        if proxies.isEmpty { return }
        let proxy = proxy(for: own)
        for mirror in request.options.mirrors {
            guard let other = ListedAccess.service(of: mirror), self.proxy(for: other) != proxy
            else { continue }
            throw .usage(
                "the URLs of a transfer have one proxy, and here it would be another for \(other)"
                    + " than for \(own); give all-proxy alone, or an entry to each")
        }
        if let proxy { request.options.proxy = proxy }
    }

    private func proxy(for own: Service) -> String? { proxies[own] ?? proxies[.all] }

    private static func service(of url: String) -> Service? {
        (try? URLParts(url)).map { Service($0.scheme) }
    }
}
