/// What the transport reports. It decides nothing: the engine turns facts into what happens next.
package enum WireFact: Sendable {
    /// The final head arrived and was judged. Exactly one per request that got a head.
    indirect case head(SegmentKey, ResponseHead, HeadVerdict)
    /// `noticeEvery` more bytes were written; how many stands on the progress board.
    case progress(SegmentKey)
    /// The request has left the wire; nothing is written for it any more. Exactly one per started
    /// request.
    indirect case ended(SegmentKey, SegmentEnd)
}

/// How a request ended.
package struct SegmentEnd: Hashable, Sendable {
    /// `nil` = the response ended as its framing promised (which proves nothing about the file's
    /// length).
    package var failure: WireFailure?
    /// File offset after the last byte written; the plan's position if none was.
    package var writtenThrough: Int64
    /// Body bytes received, those skipped or compared included.
    package var bytesReceived: Int64
    /// Seconds, for metrics and connection health.
    package var seconds: Double
    /// HTTP version used (10, 11, 20), 0 if none.
    package var httpVersion: Int
    /// It went through a proxy: what failed before an answer may be that one.
    package var isProxied = false

    package init(
        failure: WireFailure?, writtenThrough: Int64, bytesReceived: Int64, seconds: Double = 0,
        httpVersion: Int = 0
    ) {
        self.failure = failure
        self.writtenThrough = writtenThrough
        self.bytesReceived = bytesReceived
        self.seconds = seconds
        self.httpVersion = httpVersion
    }
}

/// Why a request ended early, as a fact.
package enum WireFailure: Hashable, Sendable {
    /// The engine said stop, or its rate was limited and the rest goes another way.
    case stopped
    /// It was taken back before it went out: nobody was asked for anything.
    case withdrawn
    /// The verdict was `refuse`: see the head.
    case refused
    /// The compared bytes differ from those in the file.
    case overlapDiffers
    /// More body than the plan's end allows.
    case bodyTooLong
    /// No bytes for the stall timeout.
    case stalled
    /// Writing the part file failed with this errno.
    case disk(errno: Int32)
    /// Redirects: more than the limit, to a refused scheme, or from https to http.
    case redirect(RedirectProblem)
    /// Header fields over the limit.
    case headTooLarge
    /// The proxy answered CONNECT with this status: the server was never reached.
    case proxyRefused(status: Int)
    /// A SOCKS proxy has no way to the server. libcurl's words.
    case proxyCannotReach(text: String)
    /// A SOCKS proxy has a rule against it, or cannot do what it takes. libcurl's words.
    case proxyForbids(text: String)
    /// A SOCKS proxy does not accept who we say we are, or how. libcurl's words.
    case proxyRefusedCredentials(text: String)
    /// The key of an SSH host is not the one in `known_hosts`, or none is there. libcurl's words.
    case unknownHostKey(text: String)
    /// libcurl's code and its own words.
    case curl(code: Int32, text: String, osError: Int32)
}

package enum RedirectProblem: Hashable, Sendable {
    case tooMany
    case scheme(String)
    case downgrade
    case missingLocation
}
