/// State of a fetch: one row of the store, saved whole. The row exists from the first claim until
/// the transfer is completed, or is cancelled or removed with its bytes.
package struct FetchState: Hashable, Sendable {
    package var id: FetchID
    /// Raised whenever the bytes held become void: a restart, a new part file, a failed sync.
    package var generation: Int64 = 1
    /// Absolute path of the part file; empty until the first claim has named it.
    package var partPath: String = ""
    /// Identity of the part file. `nil` until it was first created.
    package var partIdentity: FileIdentity?
    /// Mount point of the part file's disk when the file was created; `nil` = `/`, or unknown.
    package var partMount: String?
    /// Bytes known durable. Committed after the sync that made them so, never before.
    package var durable = ByteRanges()
    package var validator: Validator?
    package var bytesTotal: Int64?
    /// Body bytes ever received; only grows.
    package var bytesFetched: Int64 = 0
    /// Requests that were sent, for output.
    package var attempts: Int = 0
    /// Times that held bytes were given up.
    package var restarts: Int = 0
    /// The digest of a file from several sources was wrong, and the file was restarted.
    package var isDigestRefuted = false
    /// Attempts in a row without a gain: feeds back-off and `--retries`.
    package var fruitlessAttempts: Int = 0
    /// Answers in a row that brought no byte although a range was asked for: at two, one start from
    /// zero is tried.
    package var emptyAnswers: Int = 0
    /// Index into url + mirrors of the source in use.
    package var source: Int = 0
    /// The request's URL when the validator was pinned: another one must prove its identity by
    /// length and overlap. For an upload, the URL that it goes to: at another one it restarts.
    package var askedURL: String?
    /// The URL that answered last, after redirects.
    package var effectiveURL: String?
    /// Name proposed by the server, sanitised; used when the request allows it.
    package var proposedName: String?
    /// The server sent a content coding although identity was asked for; kept as it came, and said.
    package var contentCoding: String?
    /// The path that the whole, durable file is about to be, or was, renamed to. Committed before
    /// the rename, for a successor; `nil` again once the file was found under the part's name.
    package var publication: String?
    /// Facts that the server gave about the representation, where the request asks to keep them.
    package var response: TransferResponse? {
        get { keptResponse?.value }
        set { keptResponse = newValue.map(CopyOnWrite.init) }
    }
    /// The fetch was prepared for a connection that was in use, and none of its bytes were recorded
    /// since.
    package var isPrefetched = false
    /// State of the server's side, for uploads only. ``durable`` is then the offset that the server
    /// has acknowledged, and there is no part file.
    package var upload: UploadState? {
        get { keptUpload?.value }
        set { keptUpload = newValue.map(CopyOnWrite.init) }
    }
    /// Transfer that leads the fetch; `nil`: never shared. Written where the leader changes, not
    /// with the rest.
    package var leader: TransferID?
    /// Most fetches have neither: a state is copied at every step, and these would double it.
    private var keptResponse: CopyOnWrite<TransferResponse>?
    private var keptUpload: CopyOnWrite<UploadState>?

    package init(id: FetchID) {
        self.id = id
    }

    /// Disk where the part file was created.
    package var partDisk: MountedDisk? {
        guard let partMount, let partIdentity else { return nil }
        return MountedDisk(mountPoint: partMount, device: partIdentity.device)
    }

    /// Every byte is on the disk.
    package var isDurable: Bool { durable.contains(0..<(bytesTotal ?? .max)) }

    /// The whole file was about to be renamed, and no engine has compared since.
    package var mayHaveItsName: Bool { publication != nil && isDurable }
}
