/// A report of the transport. The transport decides nothing: the engine turns facts into what
/// happens next.
package enum WireFact: Sendable {
    /// The final head arrived and was judged. Exactly one per request that got a head.
    indirect case head(SegmentKey, ResponseHead, HeadVerdict)
    /// An interim answer with the status 104: how far an upload has come (IETF resumable uploads).
    indirect case interim(SegmentKey, ResponseHead)
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
    /// The request went through a proxy: a failure before the answer may be the proxy's.
    package var isProxied = false
    /// The beginning of the body of an answer to an upload (``HeadVerdict/keep``); also of one that
    /// refuses a download, where it came with the head.
    package var answer: [UInt8] = []
    /// Bytes of the upload's body that libcurl has taken to send. The server may have fewer of
    /// them, and never more.
    package var bytesSent: Int64 = 0
    /// The part of ``bytesSent`` that has not left libcurl.
    package var bytesUnsent: Int64 = 0
    /// For the record of the attempt.
    package var phases = RequestPhases()

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
package enum WireFailure: Error, Hashable, Sendable {
    /// The engine said stop, or its rate was limited and the rest goes another way.
    case stopped
    /// The request was withdrawn before it was sent: no server has seen it.
    case withdrawn
    /// The verdict was `refuse`: see the head.
    case refused
    /// The compared bytes differ from those in the file.
    case overlapDiffers
    /// More body than the plan's end allows.
    case bodyTooLong
    /// No bytes for the stall timeout.
    case stalled
    /// A body that ends with its connection, over TLS, and nothing says that it was not cut off:
    /// the connection has ended without close_notify (RFC 9112 §9.8).
    case unannouncedEnd
    /// Writing the part file failed with this errno.
    case disk(errno: Int32)
    /// The file that is sent is another version than the pinned one, or ended early.
    case sourceChanged
    /// Redirects: more than the limit, to a refused scheme, or from https to http.
    case redirect(RedirectProblem)
    /// The host has private addresses alone, or the connection leads to one, and the request
    /// refuses them.
    case privateAddress(host: String)
    /// Header fields over the limit.
    case headTooLarge
    /// The proxy answered CONNECT with this status: the server was never reached.
    case proxyRefused(status: Int)
    /// A SOCKS proxy has no way to the server. libcurl's words.
    case proxyCannotReach(text: String)
    /// A SOCKS proxy has a rule against it, or cannot do what it takes. libcurl's words.
    case proxyForbids(text: String)
    /// A SOCKS proxy does not accept the credentials, or their kind. libcurl's words.
    case proxyRefusedCredentials(text: String)
    /// The key of an SSH host is not the one in `known_hosts`, or none is there. libcurl's words.
    case unknownHostKey(text: String)
    /// The request was not made: there are no keys to sign it with.
    indirect case noKeys(S3Profile, S3KeysProblem)
    /// A file of the request's secrets is of no use. The request was not sent.
    indirect case secretFile(SecretFileProblem)
    /// libcurl's code and its own words.
    case curl(code: Int32, text: String, osError: Int32)
}

package enum RedirectProblem: Hashable, Sendable {
    case tooMany
    case scheme(String)
    case downgrade
    case missingLocation
}

/// Compares the bytes of a response that ended as its framing promised with the length that its
/// head promised. The end of a response alone proves nothing: libcurl reports success for much that
/// is short.
package enum SizeProof: Hashable, Sendable {
    /// Every promised byte is in the file.
    case complete
    /// The response ended this many bytes short of its promise.
    case short(missing: Int64)
    /// More came than was promised.
    case tooLong
    /// No length was promised; the file is as long as what came.
    case unknownLengthComplete(length: Int64)

    /// - Parameters:
    ///   - plan: Where the body went.
    ///   - bytesTotal: Length of the whole file, where it is known from anywhere.
    package static func judge(
        plan: BodyPlan, end: SegmentEnd, bytesTotal: Int64?
    ) -> SizeProof {
        if end.failure == .bodyTooLong { return .tooLong }
        // Bytes that were only compared are there too.
        let compared = min(max(end.bytesReceived - plan.skip, 0), plan.compare)
        let through = max(end.writtenThrough, plan.position + compared)
        if let bytesTotal, through > bytesTotal { return .tooLong }
        guard let promised = plan.end ?? bytesTotal else {
            // A body that ended while held bytes were still being passed over or compared proves
            // nothing.
            let needed = plan.skip.addingClamped(plan.compare)
            if end.bytesReceived < needed { return .short(missing: needed - end.bytesReceived) }
            return .unknownLengthComplete(length: through)
        }
        if through < promised { return .short(missing: promised - through) }
        return through > promised ? .tooLong : .complete
    }
}

/// The layout of the two cells through which the transport tells how far it has written: plain
/// memory, mapped from a file in the state directory, so that after `kill -9` (same boot) the next
/// engine still finds what the kernel holds in its page cache.
///
/// Each is 64 bytes of native `UInt64`: the cell at `SegmentTarget.cell` belongs to the segment,
/// its word `fetchCell` holds the address of the fetch's. The transport, one thread, stores
/// `written` after each `pwrite` and adds to both `received` words; no other thread writes them
/// while the request runs.
package enum ProgressCell {
    package static let size = 64
    // Word indices.
    /// Fetch id; 0 = free. Stored last when a cell is taken, cleared first when it is freed.
    package static let fetch = 0
    /// The fetch's generation: bytes of an older one mean nothing.
    package static let generation = 1
    /// The mount that the fetch's part file was opened through (fetch cells only); see
    /// ``FileFacts/mount``.
    package static let mount = 1
    /// File offset where the segment starts writing.
    package static let start = 2
    /// File offset after the last byte written.
    package static let written = 3
    /// Bytes of an upload's source that were compared with its digest so far (fetch cells only).
    package static let checked = 3
    /// Body bytes received. In the segment's cell for this request, in the fetch's cell ever.
    package static let received = 4
    /// Address of the fetch's cell (segment cells only; valid in the process that took it).
    package static let fetchCell = 5
    /// Body bytes ever received, as the engine has counted them (fetch cells only): what is shown.
    /// Its number of a transfer that leaves is never less, while `received` goes on meanwhile.
    package static let counted = 5
    /// 1 = segment, 2 = fetch.
    package static let kind = 6
    /// Bytes per second, as the engine last measured them (fetch cells only).
    package static let rate = 7
    /// ``YieldReport/packed`` of the connections that the segment is moved over; 0 = none (segment
    /// cells only).
    package static let yielding = 7
}
