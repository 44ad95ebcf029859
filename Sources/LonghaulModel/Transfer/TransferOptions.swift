/// The part of a request that the scheduler ignores. Stored as one JSON text, absent when all
/// options have their defaults.
public struct TransferOptions: Hashable, Codable, Sendable {
    /// Request header fields by name. Values are secrets: redacted in every output. Refused are
    /// names and values that cannot be sent (RFC 9110 §5.1, §5.5), and fields that Longhaul sets:
    /// ranges, conditions, framing, and codings other than `identity`. Of a completed upload only
    /// fields that may go to any origin are kept (`Accept`, `User-Agent`).
    public var headers: HeaderFields = HeaderFields()
    /// `user:password`, sent to the origin of `url` only; deleted when an upload completes.
    public var user: String?
    /// Absolute path of a file with lines `Name: value`: header fields that are read at each
    /// attempt, never stored, and sent to the origin of `url` only.
    public var headersFrom: String?
    /// Absolute path of a file with one line `user:password`, as `headersFrom`.
    public var userFrom: String?
    /// Absolute path of a file of cookies in Netscape's format, as browsers and curl write it
    /// (CURLOPT_COOKIEFILE): read at each attempt, never stored or written. Each cookie is sent
    /// where it says.
    public var cookiesFrom: String?
    /// How `user` proves itself to the server and to the proxy (CURLOPT_HTTPAUTH,
    /// CURLOPT_PROXYAUTH).
    public var authentication: HTTPAuthentication = .basic
    /// Look credentials up in ~/.netrc (CURLOPT_NETRC).
    public var netrc: Bool = false
    /// URL of a proxy (CURLOPT_PROXY): http, https, socks4, socks4a, socks5 or socks5h; `nil` = by
    /// the `*_proxy` variables.
    public var proxy: String?
    /// Proxy variables of the process that asked for the transfer, if no `proxy` is named; `nil` =
    /// variables of the process that carries it out.
    package var proxyVariables: ProxyVariables?
    /// File of the authorities to believe, in place of the system's (CURLOPT_CAINFO).
    public var caCertificate: String?
    /// File of the certificate to show to the origin of `url` (CURLOPT_SSLCERT).
    public var clientCertificate: String?
    /// File of its private key (CURLOPT_SSLKEY), without a passphrase; over SFTP the key to log in
    /// with.
    public var clientKey: String?
    /// Do not verify the server's certificate.
    public var insecure: Bool = false
    /// Allows private addresses for the URLs and their redirects.
    public var privateAddresses: PrivateAddresses = .allow
    /// Further URLs of the same bytes, tried when one fails.
    public var mirrors: [String] = []
    /// The digest that the whole file must have; compared before it gets its name.
    public var checksum: Checksum?
    /// Treatment of a destination that exists.
    public var ifExists: ExistingFilePolicy = .fail
    /// How many requests may fetch parts of the file at a time, at most 16.
    public var connections: ConnectionCount = .automatic
    /// Bytes per second; `nil` = unlimited.
    public var limitRate: Int64?
    /// An attempt that gets fewer bytes per second for 30 s ends, and counts as a stalled one; with
    /// mirrors the next source is asked. `nil` = any rate will do.
    public var minRate: Int64?
    /// Refuse a body larger than this, 0 bytes or more; `nil` = any size.
    public var maxSize: Int64?
    /// How many retries follow the first attempt, 0 or more; gained bytes reset the count. `nil` =
    /// until the deadline.
    public var retries: Int?
    /// HTTP statuses, 400…599, that are tried again like 503: a busy network of caches may answer
    /// 403.
    public var retryStatus: [Int] = []
    /// An answer of 400…599 that would end the transfer completes it: its body, bounded by
    /// `maxSize`, is the file, and ``Transfer/response`` has its status and header fields. Bytes
    /// held of the file are given up for it, and the page is compared with no checksum. Statuses
    /// that are tried again complete the transfer once `retries` are used up. With `mirrors` no
    /// page is delivered. URLSession does so always, and curl without `--fail`.
    public var deliversErrorPages: Bool = false
    /// No bytes for this many seconds end an attempt, never the transfer. More than 0, and finite.
    public var stallTimeout: Double = 60
    /// Preferences stop to count when they have kept the transfer waiting for this many seconds, or
    /// its deadline comes near. 0 or more, and finite.
    public var waiveAfter: Double = PreferenceExpiry.defaultSeconds
    /// The transfer begins at a moment that is chosen once, up to this many seconds late: after its
    /// earliest begin, and after each opening of its windows (at most half of a window).
    /// ``Transfer/earliestBegin`` is the chosen moment. 0 = at once; at most 7 days.
    public var spread: Double = 0
    /// The transfer begins when all of these have completed. One of them that fails, is cancelled,
    /// or is removed before it has completed fails it (`cancelled`), and `retry` lets it wait
    /// again. Running it now gives them up. A relative deadline starts again at their end. An end
    /// is noted in the commit that records it, so that a crash loses none.
    public var after: [TransferID] = []
    /// The transfer begins when the transfers in ``after`` have ended in any state.
    public var afterAny: Bool = false
    /// The name may come from the server's `Content-Disposition`.
    public var remoteName: Bool = false
    /// The file's modification time is that of the server's file (Last-Modified, MDTM; curl's
    /// `--remote-time`).
    public var remoteTime: Bool = false
    /// The user is notified when the transfer has ended or needs an answer, by the desktop and by
    /// the command of the configuration; transfers that were recorded together have one notice.
    /// After a crash of the engine a notice may come twice (User Notifications on Apple's systems).
    public var notifies: Bool = false
    /// The file at the destination is the beginning of this one, left by another program: its bytes
    /// are kept if the server and an overlap at their end prove them. Otherwise the transfer fails,
    /// and the file stays unchanged.
    public var continues: Bool = false
    /// The continued file; `nil` = none.
    package var continued: ContinuedFile?
    /// The disk that the destination was on when the request was recorded; `nil` = that of `/`, or
    /// unknown. While it is not mounted, nothing is written to the one below.
    package var disk: MountedDisk?
    /// A full disk fails the transfer instead of letting it wait for space: the command is in the
    /// foreground.
    public var failOnFullDisk: Bool = false
    /// Attempts in a row that reach no server, before the first byte, after which the transfer
    /// fails: a user waits, and has misspelt the name. `nil` = it waits until the deadline.
    package var unreachableAttempts: Int?
    /// The server's answer about the file is kept with the transfer (``Transfer/response``).
    public var keepsResponse: Bool = false
    /// The caller's own JSON, stored and shown unchanged, on one line; invalid JSON is refused.
    public var metadata: String?

    /// The name that a client of aria2's JSON-RPC has given it: 16 hexadecimal digits.
    package var gid: String?

    /// Take only what other traffic leaves of the line; `nil` = if discretionary.
    public var yields: Bool?

    /// Treatment of a request to which an equal transfer is live.
    public var onDuplicate: DuplicatePolicy = .join
    /// Copy the file of a completed transfer with an equal request, where the server says that its
    /// version is still the current one.
    public var reuse: Bool = false

    /// How the file at the destination is sent to the URL; `nil` = a download.
    public var upload: UploadOptions?
    /// Requests are signed for S3; `nil` = they are not.
    package var s3: S3Access?

    /// The defaults of the command line.
    public init() {}

    package var secretFiles: SecretFiles {
        SecretFiles(headers: headersFrom, user: userFrom, cookies: cookiesFrom)
    }
}

/// The existing file that a download continues, as of the recording of the request. It is stored
/// with the transfer's options.
package struct ContinuedFile: Hashable, Codable, Sendable {
    package var path: String
    package var device: UInt64
    package var inode: UInt64
    /// Creation time in nanoseconds since 1970; 0 = unknown.
    package var birth: Int64
    package var size: Int64
    /// When the file, its name or its mode was last changed, in milliseconds since 1970.
    package var touched: Int64

    package init(
        path: String, device: UInt64, inode: UInt64, birth: Int64, size: Int64, touched: Int64
    ) {
        self.path = path
        self.device = device
        self.inode = inode
        self.birth = birth
        self.size = size
        self.touched = touched
    }
}

/// A scheme that proves user and password over HTTP (RFC 9110 §11).
public enum HTTPAuthentication: String, Codable, Sendable, CaseIterable {
    /// User and password are sent with the first request (RFC 7617). The default.
    case basic
    /// The password is not sent (RFC 7616). The server is asked first.
    case digest
    /// Kerberos or NTLM of the user that runs the engine (RFC 4559).
    case negotiate
    /// The safest that the server offers. The server is asked first.
    case any
}

/// Treatment of a destination that exists, decided at enqueue and again when the file is published.
public enum ExistingFilePolicy: String, Codable, Sendable, CaseIterable {
    /// The transfer is refused, or fails (`destinationExists`). The default.
    case fail
    /// The existing file is kept, and the transfer completes without a file.
    case skip
    /// The file is replaced, in one step, when the new one is whole.
    case overwrite
    /// The new file gets a free name: ` (n)` is added.
    case rename
}

/// A bound for the requests that fetch parts of one file at a time.
public enum ConnectionCount: Hashable, Sendable {
    /// The number of connections that is fastest, within the limits for the origin.
    case automatic
    /// At most this many; 1 = never more than one.
    case exactly(Int)
}

extension ConnectionCount: Codable {
    /// 0 = automatic.
    ///
    /// - Throws: `DecodingError` when it is no integer.
    public init(from decoder: any Decoder) throws {
        let count = try decoder.singleValueContainer().decode(Int.self)
        self = count > 0 ? .exactly(count) : .automatic
    }

    /// 0 = automatic.
    ///
    /// - Throws: errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .automatic: try container.encode(0)
        case .exactly(let count): try container.encode(count)
        }
    }
}
