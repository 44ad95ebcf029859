internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// 256 random bits are beyond guessing.
private let tokenBytes = 32

/// Wake-ups of hosts from elsewhere: tokens for other machines, and streams. All calls are
/// synchronous, short, and safe from any thread.
public struct HostPushes: Sendable {
    private let queue: TransferQueue
    private var store: Store { queue.store }

    /// The tokens and streams of the hosts of a queue.
    public init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// Makes the secret that wakes a host over HTTP (`POST /v1/hosts/ID/wake`), and allows nothing
    /// else. The one before does not count any more. Only its digest is stored.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` for a job; `storeUnavailable`.
    public func makeToken(host name: String) throws(LonghaulError) -> String {
        var random = SystemRandom()
        let secret = Hex.text(
            (0..<tokenBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        try store.hosts.setToken(FileDigest.sha256(of: secret), of: name)
        return secret
    }

    /// No secret wakes the host over HTTP any more.
    ///
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` for a job; `storeUnavailable`.
    public func revokeToken(host name: String) throws(LonghaulError) {
        try store.hosts.setToken(nil, of: name)
    }

    /// Keeps a connection to a stream while an engine runs: each of its events wakes the host. One
    /// of the same URL is replaced and keeps its place.
    ///
    /// - Parameters:
    ///   - name: Of the host.
    ///   - url: A `text/event-stream`, or ntfy's JSON lines (`…/json`).
    ///   - headersFrom: A file with header fields, read at each connection and never stored.
    ///   - isUrgent: Its wake-ups are urgent.
    /// - Throws: `LonghaulError` `noSuchHost`; `conflict` for a job, or if the host has eight;
    ///   `invalidRequest`; `storeUnavailable`.
    public func subscribe(
        host name: String, to url: String, headersFrom: String? = nil, isUrgent: Bool = false
    ) throws(LonghaulError) {
        let scheme = try RequestValidator.parse(url).scheme
        guard scheme == .http || scheme == .https else {
            throw LonghaulError(.invalidRequest, "the URL of a stream is http or https")
        }
        try RequestValidator.check(SecretFiles(headers: headersFrom))
        try store.subscriptions.add(
            PushSubscription(
                id: 0, host: name, url: url, headersFrom: headersFrom, isUrgent: isUrgent))
        WakeChannel.poke(queue.directory)
    }

    /// Ends subscriptions of a host and returns their number.
    ///
    /// - Parameters:
    ///   - name: Of the host.
    ///   - url: `nil` = all of them.
    /// - Throws: `LonghaulError` `noSuchHost`, `storeUnavailable`.
    @discardableResult public func unsubscribe(
        host name: String, from url: String? = nil
    ) throws(LonghaulError) -> Int {
        let count = try store.subscriptions.remove(of: name, url: url)
        WakeChannel.poke(queue.directory)
        return count
    }

    /// Streams of a host. What an engine that is gone has written of its connections is left out.
    func all(of host: String) throws(LonghaulError) -> [PushSubscription] {
        let isKnown = queue.isEngineRunning
        return try store.subscriptions.all(of: host).map { subscription in
            var subscription = subscription
            if !isKnown { subscription.connectedAt = nil }
            return subscription
        }
    }

    /// Tells whether the secret wakes the host. The work is the same for an unknown host.
    package func admits(token: String, host name: String) throws(LonghaulError) -> Bool {
        let known = try store.hosts.token(of: name)
        let given = FileDigest.sha256(of: token).utf8
        let wanted = (known ?? FileDigest.sha256(of: "")).utf8
        let difference = zip(given, wanted).reduce(UInt8(0)) { $0 | $1.0 ^ $1.1 }
        return known != nil && given.count == wanted.count && difference == 0
    }
}
