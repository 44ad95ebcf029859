public import LonghaulCore

/// The changes that `set` can make. `nil` = unchanged; `.some(nil)` unsets an optional value.
public struct TransferChange: Equatable, Sendable {
    /// Another URL of the same file (BITS: `SetRemoteName`). Bytes are kept if the server proves
    /// that it has the same file. Of an upload: where it goes; `s3:` URLs are taken as when it is
    /// enqueued, with region, endpoint and keys of this process.
    public var url: String?
    /// Another path for the file of a download. A part file in another directory stays there until
    /// it is whole, and is then copied.
    public var destination: String?
    /// Fields to set; an empty value removes the field.
    public var headers: [HeaderFields.Field] = []
    /// The file of an upload that follows it (`SourceChangePolicy.follow`) is complete as it is
    /// now.
    public var completesFile = false
    /// All other changes.
    package var fields = PartialRequest()

    /// Changes nothing.
    public init() {}
}

extension TransferChange {
    /// ``LonghaulModel/TransferRequest/priority``.
    public var priority: Priority? {
        get { fields[\.priority] }
        set { fields[\.priority] = newValue }
    }

    /// `.some(nil)` removes it.
    public var earliestBegin: Timestamp?? {
        get { fields[\.earliestBegin] }
        set { fields[\.earliestBegin] = newValue }
    }

    /// ``LonghaulModel/TransferRequest/deadline``.
    public var deadline: Deadline? {
        get { fields[\.deadline] }
        set { fields[\.deadline] = newValue }
    }

    /// User and password; `.some(nil)` removes them, here and in the following fields.
    public var user: String?? {
        get { fields[\.user] }
        set { fields[\.user] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/proxy``.
    public var proxy: String?? {
        get { fields[\.proxy] }
        set { fields[\.proxy] = newValue }
    }

    /// Files are given by absolute paths.
    public var caCertificate: String?? {
        get { fields[\.caCertificate] }
        set { fields[\.caCertificate] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/clientCertificate``.
    public var clientCertificate: String?? {
        get { fields[\.clientCertificate] }
        set { fields[\.clientCertificate] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/clientKey``.
    public var clientKey: String?? {
        get { fields[\.clientKey] }
        set { fields[\.clientKey] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/netrc``.
    public var usesNetrc: Bool? {
        get { fields[\.netrc] }
        set { fields[\.netrc] = newValue }
    }

    /// The server's certificate is not verified.
    public var isInsecure: Bool? {
        get { fields[\.insecure] }
        set { fields[\.insecure] = newValue }
    }
    /// As `TransferOptions.privateAddresses`.
    public var privateAddresses: PrivateAddresses? {
        get { fields[\.privateAddresses] }
        set { fields[\.privateAddresses] = newValue }
    }

    /// Bytes per second.
    public var limitRate: Int64?? {
        get { fields[\.limitRate] }
        set { fields[\.limitRate] = newValue }
    }

    /// Bytes per second at least, see `TransferOptions.minRate`; `.some(nil)` = any.
    public var minRate: Int64?? {
        get { fields[\.minRate] }
        set { fields[\.minRate] = newValue }
    }

    /// True if it takes only what other traffic leaves of the line; `.some(nil)` = if
    /// discretionary.
    public var yields: Bool?? {
        get { fields[\.yields] }
        set { fields[\.yields] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/connections``.
    public var connections: ConnectionCount? {
        get { fields[\.connections] }
        set { fields[\.connections] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/checksum``.
    public var checksum: Checksum?? {
        get { fields[\TransferOptions.checksum] }
        set { fields[\TransferOptions.checksum] = newValue }
    }

    /// Seconds without a byte that end an attempt.
    public var stallTimeout: Double? {
        get { fields[\.stallTimeout] }
        set { fields[\.stallTimeout] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/retries``.
    public var retries: Int?? {
        get { fields[\.retries] }
        set { fields[\.retries] = newValue }
    }

    /// ``LonghaulModel/TransferRequest/expectedBytes``.
    public var expectedBytes: Int64?? {
        get { fields[\.expectedBytes] }
        set { fields[\.expectedBytes] = newValue }
    }

    /// ``LonghaulModel/TransferRequest/isDiscretionary``.
    public var isDiscretionary: Bool? {
        get { fields[\.isDiscretionary] }
        set { fields[\.isDiscretionary] = newValue }
    }

    /// `.some(nil)` = at any time.
    public var windows: TimeWindows?? {
        get { fields[\.windows] }
        set { fields[\.windows] = newValue }
    }

    /// ``LonghaulModel/TransferSchedule/requires``.
    public var requires: ConditionNeeds? {
        get { fields[\.requires] }
        set { fields[\.requires] = newValue }
    }

    /// `.some(nil)` = the default.
    public var prefers: ConditionNeeds?? {
        get { fields[\.prefers] }
        set { fields[\.prefers] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/spread``, seconds.
    public var spread: Double? {
        get { fields[\.spread] }
        set { fields[\.spread] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/after``; an empty list = it waits for no other.
    public var after: [TransferID]? {
        get { fields[\.after] }
        set { fields[\.after] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/afterAny``.
    public var afterAny: Bool? {
        get { fields[\.afterAny] }
        set { fields[\.afterAny] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/waiveAfter``, seconds.
    public var waiveAfter: Double? {
        get { fields[\.waiveAfter] }
        set { fields[\.waiveAfter] = newValue }
    }

    /// Bytes.
    public var maxSize: Int64?? {
        get { fields[\.maxSize] }
        set { fields[\.maxSize] = newValue }
    }

    /// All of them; an empty list removes them.
    public var mirrors: [String]? {
        get { fields[\.mirrors] }
        set { fields[\.mirrors] = newValue }
    }

    /// The caller's own JSON.
    public var metadata: String?? {
        get { fields[\TransferOptions.metadata] }
        set { fields[\TransferOptions.metadata] = newValue }
    }

    /// ``LonghaulModel/TransferOptions/ifExists``.
    public var ifExists: ExistingFilePolicy? {
        get { fields[\.ifExists] }
        set { fields[\.ifExists] = newValue }
    }
}
