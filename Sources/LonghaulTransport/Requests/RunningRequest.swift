internal import LonghaulModel

/// A request that a handle serves, from the queue to `ended`, hops of redirects included.
struct RunningRequest {
    let request: SegmentRequest
    let host: HostQueue
    /// An end before the requested one that counts as success.
    var stopAt: Int64?
    /// Monotonic nanoseconds.
    var begunAt: Int64
    /// The request holds an exclusive connection slot.
    var isAlone: Bool
    /// A rate may apply to the request's body, from the start.
    private(set) var isSlowed = false
    /// The limit of the request itself in bytes per second; `nil` = unlimited.
    var ownRate: Int64?
    /// The limit set by ``YieldDriver``, in bytes per second; `nil` = unlimited.
    var yieldRate: Int64?
    /// Nanoseconds; older connections are not used. `nil` = any may be used.
    var connectionsTrustedFor: Int64?
    private(set) var hops = 0
    var hop: Hop

    init(_ waiting: WaitingRequest, host: HostQueue, trustedFor: Int64?, now: Int64) {
        request = waiting.request
        self.host = host
        stopAt = waiting.stopAt
        begunAt = now
        isAlone = waiting.isAlone
        ownRate = waiting.request.limitRate
        connectionsTrustedFor = trustedFor
        hop = Hop(url: waiting.request.url)
    }

    /// The stricter of both limits, in bytes per second; 0 = unlimited.
    var rate: Int64 { [ownRate, yieldRate].compactMap(\.self).min() ?? 0 }

    /// A slowed body must not share its connection: libcurl 7.88 continues reading for the other
    /// streams there, and keeps this one's bytes in memory, up to a window of 32 MiB, which it
    /// copies with each portion that is taken.
    ///
    /// Nor does a body that is sent. Where the server answers before its end, libcurl 7.88 loses
    /// the answer with the stream that is reset (RFC 9113 §8.1), or waits for a window; and a
    /// stream's window at the server is small as a rule (64 KiB with nginx), which a long way makes
    /// slow.
    mutating func slow(_ isSlowed: Bool, _ pools: ConnectionPools) {
        self.isSlowed = isSlowed
        guard hop.url.beginsIgnoringCase(with: "https:") else { return }
        if isSlowed {
            hop.framing = host.lacksHTTP1 ? .unproven : .http1
        } else if host.prefersHTTP1(request) || pools.isUnshared(hop.url) {
            hop.framing = .http1
        }
    }

    /// Begins the next hop of the redirect.
    mutating func follow(_ target: RequestURL, _ pools: ConnectionPools) {
        hops += 1
        hop = Hop(url: target.text)
        slow(isSlowed, pools)
    }

    /// Begins the same hop once more.
    mutating func ask(again framing: Hop.Framing, isUnderRate: Bool) {
        hop = Hop(url: hop.url, framing: framing, hadHTTP2: hop.hadHTTP2)
        if isUnderRate { isSlowed = true }
    }

    // MARK: - Where it goes

    var isOnFirstOrigin: Bool { otherOrigin == nil }

    /// The origin of this hop, where a redirect has led to another than the request's.
    var otherOrigin: String? {
        if hops == 0 { return nil }
        guard let first = RequestURL(request.url), let current = RequestURL(hop.url) else {
            return hop.url
        }
        return first.origin == current.origin ? nil : current.origin.text
    }

    /// The proxy for this hop. A named proxy applies regardless of `no_proxy`; otherwise the
    /// variables recorded with the transfer apply, or this process's.
    var proxy: String? {
        if let named = request.connection.proxy { return named.isEmpty ? nil : named }
        let variables = request.connection.proxyVariables ?? CurlGlobal.proxyVariables
        guard !variables.isEmpty, let origin = RequestURL(hop.url)?.origin else { return nil }
        return variables.proxy(scheme: origin.scheme, host: origin.host)
    }

    var isProxied: Bool { proxy != nil }

    /// The origin as which its connections are counted, behind a proxy, too; not 0.
    var site: UInt64 {
        let hash = RequestURL(hop.url)?.origin.hashValue ?? hop.url.hashValue
        return UInt64(bitPattern: Int64(hash)) | 1
    }

    /// Another request of its queue has begun a connection to share since the old ones are not
    /// trusted.
    func isRenewed(now: Int64) -> Bool {
        guard let renewedAt = host.renewedAt, let connectionsTrustedFor else { return false }
        return renewedAt >= now - connectionsTrustedFor
    }

    struct Refusal: Error {
        var problem: RedirectProblem
    }

    /// The next hop of a redirect. Redirects are followed here, not by libcurl: the answer is
    /// judged first, and the fields to send along are chosen here.
    func nextHop(maxRedirects: Int) -> Result<RequestURL, Refusal> {
        func refused(_ problem: RedirectProblem) -> Result<RequestURL, Refusal> {
            .failure(Refusal(problem: problem))
        }
        guard let location = hop.judged?.head.headers["location"],
            let base = RequestURL(hop.url), !location.isEmpty
        else { return refused(.missingLocation) }
        guard let target = RequestURL(location: location, base: base) else {
            let scheme = RequestURL.scheme(of: location)
            let isHTTP = scheme.isEmpty || scheme == "http" || scheme == "https"
            return refused(isHTTP ? .missingLocation : .scheme(scheme))
        }
        guard hops < maxRedirects else { return refused(.tooMany) }
        switch (base.origin.scheme, target.origin.scheme) {
        case ("https", "http"): return refused(.downgrade)
        case (_, "http"), (_, "https"): return .success(target)
        case (_, let other): return refused(.scheme(other))
        }
    }
}

/// A request message and its answer: a hop of a redirect, or a repetition of one. Its state ends
/// with it.
struct Hop {
    /// The HTTP version to request.
    enum Framing {
        case any
        /// Chunks of HTTP/1.1 prove the end of an answer, and its connection is not shared.
        case http1
        /// The server has no HTTP/1.1: the end of its answers cannot be proven.
        case unproven
    }

    enum Answer {
        case awaited
        /// The answer is dropped, and the hop is requested once more with this framing.
        case dropped(Framing)
        case judged(JudgedAnswer)
    }

    struct JudgedAnswer {
        let head: ResponseHead
        let verdict: HeadVerdict
        /// Set when the body may be written.
        var plan: BodyPlan?
    }

    let url: String
    var framing = Framing.any
    /// The hop was answered over HTTP/2 before it was requested over HTTP/1.1.
    var hadHTTP2 = false
    var answer = Answer.awaited
    /// The server is asked before the body goes out.
    var expectsContinue = false
    /// The hop may share a connection with other requests.
    var mayShare = false
    /// The origin to which it alone uses a connection that libcurl might take for one to share.
    var unsharedAt: RequestURL.Origin?
    /// The network has changed since it got its connection.
    var isSuspect = false
    var isStalled = false
    /// The bytes received on its connection when it was last found silent; `nil` = it never was.
    var receivedBelow: UInt64?
    /// libcurl has reported its end: its sockets need not be shut down.
    var isOver = false

    init(url: String, framing: Framing = .any, hadHTTP2: Bool = false) {
        self.url = url
        self.framing = framing
        self.hadHTTP2 = hadHTTP2
    }

    var isAwaited: Bool {
        switch answer {
        case .awaited: true
        case .dropped, .judged: false
        }
    }

    var judged: JudgedAnswer? {
        switch answer {
        case .judged(let judged): judged
        case .awaited, .dropped: nil
        }
    }

    /// Sets the place of the body that was judged.
    mutating func open(_ plan: BodyPlan) {
        guard var judged else { preconditionFailure("a body without a judged head") }
        judged.plan = plan
        answer = .judged(judged)
    }
}
