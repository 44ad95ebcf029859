internal import Longhaul
internal import LonghaulPlatform
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

    /// What a request asks for.
    enum Target: Sendable {
        /// The page, which holds nothing secret and asks for the secret.
        case page
        /// The file of a download, which a link of the page saves.
        case file
        case data
    }

    /// `nil` = none is asked for.
    let secret: Secret?
    /// Origins of pages that may use the server, as ``WebOrigin/normal(_:)`` writes them; `*` = of
    /// all.
    let allowedOrigins: Set<String>

    /// - Parameter proven: The request may bring its secret in its body, or has a ticket.
    func verdict(_ headers: HTTPHeaders, proven: Bool, target: Target = .data) -> Verdict {
        if let reason = foreignness(headers, target) { return .foreign(reason) }
        guard let secret, target != .page else { return .admitted }
        guard let given = bearer(headers) else { return proven ? .admitted : .unproven }
        return secret.matches(given) ? .admitted : .disproven
    }

    /// Why a wake-up of a host is refused whatever secret it brings: another machine calls this one
    /// by any name, and no page of a browser wakes a host.
    func foreignness(ofWakeUp headers: HTTPHeaders) -> String? {
        headers.contains(name: "origin") || headers.contains(name: "sec-fetch-site")
            ? "a page of a browser cannot wake a host" : nil
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
            || WebOrigin.normal(origin).map(allowedOrigins.contains) ?? false
    }

    private func foreignness(_ headers: HTTPHeaders, _ target: Target) -> String? {
        let hosts = headers["host"]
        guard hosts.count == 1, let host = hosts.first, isOwn(host) else {
            return wrongHost(hosts.first ?? "")
        }
        let places = headers["sec-fetch-dest"]
        if headers["sec-fetch-mode"].contains("navigate") || places.contains(where: Self.opens) {
            // A link from any site only shows the page. In a frame a click could be stolen.
            let isWhole = places.isEmpty || places == ["document"]
            // To Chromium a link that saves a file is a navigation to nowhere.
            let isOwnFile =
                target == .file && headers["sec-fetch-site"] == ["same-origin"]
                && (isWhole || places == ["empty"])
            return target == .page && isWhole || isOwnFile
                ? nil : "a link opens the page at / and nothing else; the page itself asks for more"
        }
        let origins = headers["origin"]
        if origins.count > 1 { return "the request has more than one Origin" }
        if let origin = origins.first {
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

    /// Destinations of a request whose answer a browser shows as a document (Fetch, "destination").
    private static func opens(_ destination: String) -> Bool {
        ["document", "iframe", "frame", "embed", "object", "fencedframe"].contains(destination)
    }

    /// An address cannot be bound to a name of others; a name can, except for these.
    private func isOwn(_ host: String) -> Bool {
        guard let host = HostAndPort(host) else { return false }
        if let address = HostAddress(host.name) { return address.namesAMachine }
        if host.name == "localhost" || host.name.hasSuffix(".localhost") { return true }
        return allowedOrigins.contains { WebOrigin.host(of: $0)?.name == host.name }
    }

    private func wrongHost(_ host: String) -> String {
        let reason = "the Host of the request is not this server; ask by its address, or localhost"
        // Without a secret a name would be the way in for every page that is bound to it.
        guard secret != nil, let known = HostAndPort(host), HostAddress(known.name) == nil,
            let origin = WebOrigin.normal("http://" + host)
        else { return reason }
        return reason + ", or start it with --allow-origin \(origin)"
    }
}
