/// A request on the wire: everything that the transport needs to move one range of bytes into a
/// part file, as values.
package struct SegmentRequest: Sendable {
    package var key: SegmentKey
    package var url: String
    /// Complete, in order: the user's, and Range, If-Range and Accept-Encoding as the resume ladder
    /// chose them.
    package var headers: HeaderFields
    /// Asked offset for FTP and SFTP, which have no Range field (CURLOPT_RESUME_FROM_LARGE).
    package var offset: Int64
    package var connection: ConnectionSettings
    package var target: SegmentTarget
    /// Bytes that the range ends before, for FTP/SFTP segments and as a bound on what is written;
    /// `nil` = to the end.
    package var end: Int64?
    /// Judges what to do with a body, once, from the final head, by pure code on the transport's
    /// thread: the first body byte must not be written before this is known, and a hop to the
    /// engine for each small file would cost more than the file.
    package var judge: @Sendable (ResponseHead) -> HeadVerdict
    /// A ``WireFact/progress(_:)`` is reported whenever this many more bytes have been written.
    package var noticeEvery: Int64
    /// Bytes per second for this request; `nil` = unlimited.
    package var limitRate: Int64?
    /// Discretionary: marked as such on its way (RFC 8622), on connections apart.
    package var isBackground = false
    /// Takes only what others leave of the line (``YieldControl``), on connections apart.
    package var yields = false
    /// The body that it sends; `nil` = it fetches. The cells then count the bytes that were read to
    /// be sent.
    package var upload: UploadBody?
    /// Signed for S3, at the origin of the request's URL; `nil` = it is not.
    package var signing: RequestSigning?
    /// Reads the files of its secrets, as ``RequestSigning/keys``; header fields and user are for
    /// the origin of the request's URL. `nil` = it has none.
    package var secrets: (@Sendable () -> Result<RequestSecrets, WireFailure>)?

    /// The request has a body that is more than empty.
    package var sendsBody: Bool { upload?.content.map { $0.length > 0 } ?? false }

    package init(
        key: SegmentKey, url: String, headers: HeaderFields, offset: Int64 = 0,
        connection: ConnectionSettings, target: SegmentTarget, end: Int64? = nil,
        noticeEvery: Int64, limitRate: Int64? = nil,
        judge: @escaping @Sendable (ResponseHead) -> HeadVerdict
    ) {
        self.key = key
        self.url = url
        self.headers = headers
        self.offset = offset
        self.connection = connection
        self.target = target
        self.end = end
        self.noticeEvery = noticeEvery
        self.limitRate = limitRate
        self.judge = judge
    }
}

/// How a request is signed.
package struct RequestSigning: Sendable {
    /// The value of CURLOPT_AWS_SIGV4.
    package var signature: String
    /// Reads the keys, on the transport's thread and for each message, as libcurl reads netrc. The
    /// failure is how the request ends. `nil` = they are user and password of the connection.
    package var keys: (@Sendable () -> Result<S3Keys, WireFailure>)?

    package init(_ signature: String) {
        self.signature = signature
    }
}

/// How to reach the server.
package struct ConnectionSettings: Hashable, Sendable {
    /// `user:password`; sent to the origin of the request's first URL only.
    package var user: String?
    package var authentication = HTTPAuthentication.basic
    package var netrc = false
    /// Named; empty = none. `nil` = by the variables.
    package var proxy: String?
    /// `nil` = this process's.
    package var proxyVariables: ProxyVariables?
    package var caCertificate: String?
    package var clientCertificate: String?
    package var clientKey: String?
    package var insecure = false
    package var privateAddresses = PrivateAddresses.allow
    /// Seconds without a body byte (or without any answer) after which the attempt ends with
    /// ``WireFailure/stalled``.
    package var stallTimeout: Double = 60
    /// Seconds for name look-up, connect and TLS together.
    package var connectTimeout: Double = 30
    /// Do not share a connection: parallel segments are to be parallel on the wire, over HTTP/2
    /// too.
    package var ownConnection = false
    /// The server may say nothing until the stall timeout, not even after the head, which is judged
    /// without a body byte. The thread sleeps meanwhile: whether the local address is still there
    /// is checked only after a change of network.
    package var expectsSilence = false

    package init() {}
}

/// The place where the bytes go. In the simulation both numbers name things of the simulated disk.
package struct SegmentTarget: Hashable, Sendable {
    /// An open, writable descriptor of the part file. Stays open until the request has ended.
    package var descriptor: Int32
    /// Address of the request's two cells on the progress board (``ProgressCell``); 0 = none.
    package var cell: UInt
    /// The number of the device that the part file is on.
    package var device: UInt64

    package init(descriptor: Int32, cell: UInt, device: UInt64 = 0) {
        self.descriptor = descriptor
        self.cell = cell
        self.device = device
    }
}

/// The meaning of the judged head for the body.
package enum HeadVerdict: Hashable, Sendable {
    /// Write it as planned, at once.
    case accept(BodyPlan)
    /// Take no byte yet: the engine must commit what this head means first, and then says `proceed`
    /// or `stop`.
    case hold
    /// Ask again at this URL, as redirect. The transport resolves relative references, keeps
    /// the Range and If-Range fields, and drops credentials when the origin changes.
    case redirect
    /// The answer to an upload: its body is kept in ``SegmentEnd/answer``.
    case keep
    /// The body is of no use (an error page, an unusable range): end the request without reading
    /// it.
    case refuse
}

/// The places of the body's bytes. A body is first skipped, then compared, then written.
package struct BodyPlan: Hashable, Sendable {
    /// Body bytes to drop from the start: a 200 for a file of which we hold the beginning.
    package var skip: Int64
    /// Body bytes that must equal what the part file holds at `position`: the overlap check.
    package var compare: Int64
    /// File offset of the first byte after those skipped.
    package var position: Int64
    /// No byte at or after this offset is written: where the range ends, or what the response
    /// promised. A body that goes on ends as ``WireFailure/bodyTooLong``.
    package var end: Int64?
    /// The head says that the body goes on beyond `end`: the request is cut off there, and has
    /// ended well.
    package var isCutAtEnd: Bool

    package init(
        skip: Int64 = 0, compare: Int64 = 0, position: Int64, end: Int64? = nil,
        isCutAtEnd: Bool = false
    ) {
        assert(skip >= 0 && compare >= 0 && position >= 0, "a body lies in the file")
        self.skip = skip
        self.compare = compare
        self.position = position
        self.end = end
        self.isCutAtEnd = isCutAtEnd
    }
}
