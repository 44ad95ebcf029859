public import FoundationEssentials
public import LonghaulCore

extension TransferRequest {
    /// A request for a URL, to be given to a `BackgroundSession`, which has its destination.
    public init(url: URL) {
        self.init(url: url.absoluteString, destination: .file(""))
    }

    /// Header fields to be sent, by name in any case.
    public var headers: HeaderFields {
        get { options.headers }
        set { options.headers = newValue }
    }

    /// Earliest moment of the start; `nil` = at once.
    public var earliestBeginDate: Date? {
        get { earliestBegin.map(Date.init) }
        set { earliestBegin = newValue.map(Timestamp.init) }
    }

    /// Expected size in bytes. A wrong guess costs nothing but quality.
    public var countOfBytesClientExpectsToReceive: Int64? {
        get { expectedBytes }
        set { expectedBytes = newValue }
    }

    /// Expected number of bytes to send, for uploads. A hint; the file's own length counts.
    public var countOfBytesClientExpectsToSend: Int64? {
        get { expectedBytes }
        set { expectedBytes = newValue }
    }

    /// Method of the request that carries the file, for uploads; `nil` = PUT, or the protocol's
    /// own.
    public var method: UploadMethod? {
        get { options.upload?.method }
        set { changeUpload { $0.method = newValue } }
    }

    /// Protocol that continues an upload after a break. Default ``UploadProtocol/auto``.
    public var uploadProtocol: UploadProtocol {
        get { options.upload?.uploadProtocol ?? .auto }
        set { changeUpload { $0.uploadProtocol = newValue } }
    }

    /// The upload sends a snapshot of the file, made when the request is recorded. Default `false`.
    /// See `UploadOptions.snapshot`.
    public var snapshot: Bool {
        get { options.upload?.snapshot ?? false }
        set { changeUpload { $0.snapshot = newValue } }
    }

    private mutating func changeUpload(_ change: (inout UploadOptions) -> Void) {
        var upload = options.upload ?? UploadOptions()
        change(&upload)
        options.upload = upload
    }

    /// The digest that the whole file must have; a file that has another fails with
    /// `checksumMismatch`, and is kept beside the destination as `NAME.longhaul-bad` until the
    /// transfer is removed or tried again.
    public var checksum: Checksum? {
        get { options.checksum }
        set { options.checksum = newValue }
    }

    /// The caller's own JSON, kept with the transfer and shown with it.
    public var metadata: String? {
        get { options.metadata }
        set { options.metadata = newValue }
    }
}

extension Checksum {
    /// Hexadecimal digits in any case; a wrong number of them is refused when the request is made.
    public static func sha256(_ hex: String) -> Checksum {
        Checksum(algorithm: .sha256, hex: hex.lowercased())
    }

    /// Creates a SHA-512 checksum from 128 digits, as ``sha256(_:)`` does.
    public static func sha512(_ hex: String) -> Checksum {
        Checksum(algorithm: .sha512, hex: hex.lowercased())
    }

    /// Creates a SHA-1 checksum from 40 digits, as ``sha256(_:)`` does; guards against accidents
    /// only.
    public static func sha1(_ hex: String) -> Checksum {
        Checksum(algorithm: .sha1, hex: hex.lowercased())
    }

    /// Creates an MD5 checksum from 32 digits, as ``sha256(_:)`` does; guards against accidents
    /// only.
    public static func md5(_ hex: String) -> Checksum {
        Checksum(algorithm: .md5, hex: hex.lowercased())
    }
}

extension Date {
    /// To the millisecond.
    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1000)
    }
}

extension Timestamp {
    /// To the millisecond; what lies beyond the year 9999 becomes its end.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let last = Double(Timestamp.distantFuture.milliseconds)
        self.init(milliseconds: Int64(bounding: min(max(milliseconds, 0), last)))
    }
}
