package import Longhaul
internal import NIOHTTP1

/// Decides from its header whether a request may be answered at all: against names that were bound
/// to this address by others (DNS rebinding), against requests that a page of another site makes a
/// browser send, and against clients without the secret.
struct Gatekeeper: Sendable {
    enum Verdict: Equatable, Sendable {
        case admitted
        /// No browser of the user's own pages sends this.
        case foreign(String)
        /// The secret is missing.
        case unproven
        /// The secret is wrong.
        case disproven
    }

    /// `nil` = none is asked for.
    let secret: Secret?
    /// Origins of pages that may use the server, as `https://ariang.example`; `*` = of all.
    let allowedOrigins: Set<String>

    /// - Parameter proven: The request brings its secret in another way, or needs none.
    func verdict(_ headers: HTTPHeaders, proven: Bool) -> Verdict {
        if let reason = foreignness(headers) { return .foreign(reason) }
        guard let secret, !proven else { return .admitted }
        guard let given = bearer(headers) else { return .unproven }
        return secret.matches(given) ? .admitted : .disproven
    }

    /// The secret of `Authorization: Bearer SECRET`.
    func bearer(_ headers: HTTPHeaders) -> String? {
        guard let text = headers.first(name: "authorization") else { return nil }
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
    }

    /// The origin that the answer allows to read it; `nil` = the page is the server's own, or the
    /// client is no browser.
    func sharedOrigin(_ headers: HTTPHeaders) -> String? {
        guard let origin = headers.first(name: "origin"), isAllowed(origin) else { return nil }
        return origin
    }

    private func isAllowed(_ origin: String) -> Bool {
        allowedOrigins.contains("*") || allowedOrigins.contains(origin)
    }

    private func foreignness(_ headers: HTTPHeaders) -> String? {
        let hosts = headers["host"]
        guard hosts.count == 1, let host = hosts.first, isOwn(host) else {
            return "the Host of the request is not this server; ask by its address, or localhost"
        }
        if let origin = headers.first(name: "origin") {
            if isAllowed(origin) { return nil }
            if origin.lowercased() != "http://" + host.lowercased() {
                return "the page's origin is another; --allow-origin allows it"
            }
        }
        switch headers.first(name: "sec-fetch-site") {
        case nil, "same-origin", "none": return nil
        case .some: return "the request comes from another site"
        }
    }

    /// An address cannot be bound to a name of others; a name can, except for these.
    private func isOwn(_ host: String) -> Bool {
        var name = host.lowercased()[...]
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return false }
            let port = name[name.index(after: end)...]
            return port.isEmpty || isPort(port)
        }
        if let colon = name.lastIndex(of: ":") {
            guard isPort(name[colon...]) else { return false }
            name = name[..<colon]
        }
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) { return true }
        return allowedOrigins.contains { origin in
            origin.lowercased().split(separator: "/").last.map { isSame($0, name) } ?? false
        }
    }

    private func isSame(_ authority: Substring, _ name: Substring) -> Bool {
        authority == name || authority.hasPrefix(name + ":")
    }

    private func isPort(_ text: Substring) -> Bool {
        text.first == ":" && UInt16(text.dropFirst()) != nil
    }
}

/// A secret that clients have to know.
package struct Secret: Sendable {
    private let bytes: [UInt8]

    /// - Throws: `invalidRequest` for an empty one.
    package init(_ text: String) throws(LonghaulError) {
        bytes = Array(text.utf8)
        if bytes.isEmpty { throw LonghaulError(.invalidRequest, "the secret is empty") }
    }

    /// The time does not depend on where the two differ.
    func matches(_ text: String) -> Bool {
        let given = Array(text.utf8)
        var difference = UInt64(bitPattern: Int64(given.count ^ bytes.count))
        for (index, byte) in given.enumerated() {
            difference |= UInt64(byte ^ bytes[index % bytes.count])
        }
        return difference == 0
    }
}
