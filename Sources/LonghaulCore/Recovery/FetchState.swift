/// State of a fetch: one row of the store, saved whole. The row exists from the first claim until
/// the transfer is completed, or is cancelled or removed with its bytes.
package struct FetchState: Hashable, Sendable {
    package var id: FetchID
    /// Raised whenever the bytes held become void: a restart, a part file made anew, a failed sync.
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
    /// Requests that went out, for people.
    package var attempts: Int = 0
    /// Times that held bytes were given up.
    package var restarts: Int = 0
    /// The digest of a file that several sources had brought was wrong, and it was begun anew.
    package var isDigestRefuted = false
    /// Attempts in a row without a gain: feeds back-off and `--retries`.
    package var fruitlessAttempts: Int = 0
    /// Answers in a row that brought no byte although a range was asked for: at two, one start from
    /// zero is tried.
    package var emptyAnswers: Int = 0
    /// Index into url + mirrors of the source in use.
    package var source: Int = 0
    /// The request's URL when the validator was pinned: another one must prove its identity by
    /// length and overlap. Of an upload, the URL that it goes to: at another one it begins anew.
    package var askedURL: String?
    /// The URL that answered last, after redirects.
    package var effectiveURL: String?
    /// Name proposed by the server, sanitised; used when the request allows it.
    package var proposedName: String?
    /// The server sent a content coding although identity was asked for; kept as it came, and said.
    package var contentCoding: String?
    /// The path under which the whole, durable file may stand: it is about to be, or was, renamed
    /// to that. Committed before the rename, so that a successor knows where to look; `nil` again
    /// once the file was found under the part's name.
    package var publication: String?
    /// Facts that the server gave about the representation, where the request asks to keep them.
    package var response: TransferResponse? {
        get { keptResponse?.value }
        set { keptResponse = newValue.map(CopyOnWrite.init) }
    }
    /// The fetch was made ready for a connection that others had then, and none of its bytes were
    /// recorded since.
    package var isPrefetched = false
    /// State of the server's side, for uploads only. ``durable`` is then the offset that the server
    /// has acknowledged, and there is no part file.
    package var upload: UploadState? {
        get { keptUpload?.value }
        set { keptUpload = newValue.map(CopyOnWrite.init) }
    }
    /// Transfer that leads the fetch; `nil` = the fetch has never been shared. Read here; written
    /// where the leader changes, and not with the rest.
    package var leader: TransferID?
    /// Most fetches have neither: a state is copied at every step, and these would double it.
    private var keptResponse: CopyOnWrite<TransferResponse>?
    private var keptUpload: CopyOnWrite<UploadState>?

    package init(id: FetchID) {
        self.id = id
    }

    /// Disk on which the part file was made.
    package var partDisk: MountedDisk? {
        guard let partMount, let partIdentity else { return nil }
        return MountedDisk(mountPoint: partMount, device: partIdentity.device)
    }

    /// Every byte is on the disk.
    package var isDurable: Bool { durable.contains(0..<(bytesTotal ?? .max)) }

    /// The whole file was about to be renamed, and no engine has compared since.
    package var mayHaveItsName: Bool { publication != nil && isDurable }
}

/// How a file gets a name over FTP and SFTP that another file has, where the server does not
/// replace it by renaming.
package enum RemoteSwap: String, Hashable, Codable, Sendable {
    /// A single request renames the old file aside and puts the new one in its place.
    case swapping
    /// The server refused the swap; the old file gets its name back if it had lost it.
    case restoring
    /// The old file may stand aside: a request was broken off, and the new one is renamed next.
    case unknown
    /// The new file has its name, and the old one is deleted.
    case tidying
}

/// State of an upload besides the offset that the server has acknowledged (``FetchState/durable``).
/// A part of the fetch's row.
package struct UploadState: Hashable, Codable, Sendable {
    /// `nil` = the server is still to be asked.
    package var dialect: UploadDialect?
    /// The version of draft-ietf-httpbis-resumable-upload that the server is asked for next.
    /// `nil` = the newest.
    package var draftToAsk: UploadDialect?
    /// The server has not shown yet that it speaks the dialect.
    package var isGuess = false
    /// The dialect is what the origin spoke before, perhaps at another URL.
    package var isRemembered = false
    /// The protocol that the origin spoke before is not spoken at this URL.
    package var mustDiscover = false
    /// The resource at the server that takes the bytes. Committed before any byte is sent to it.
    package var address: String?
    /// The version that was sent so far; `nil` = that of the request.
    package var source: SourceVersion?
    /// The digest that the source was found to have, in the version that is sent.
    package var checked: Checksum?
    /// No byte at or after this offset has been sent to the address. Committed before the bytes go
    /// out: after a crash the kernel still delivers some of them.
    package var sentBound: Int64 = 0
    /// How far the server is, is not known: it is asked before anything else is sent.
    package var mustAsk = false
    /// The server may have the whole file in a request whose answer is not known.
    package var mayHaveArrived = false
    /// Most bytes that the server takes in one request; of S3, the size of a part.
    package var appendLimit: Int64?
    /// A creation may carry bytes (tus extension `creation-with-upload`).
    package var takesBytesAtCreation = false
    /// Uploads can be deleted (tus extension `termination`); `nil` = not asked.
    package var terminates: Bool?
    /// Entity tags of the S3 parts that the server has, from the first one on; empty where the
    /// server has not got that part yet.
    package var partTags: [String] = []
    /// Last S3 part that is compared with the server's list; `nil` = none is.
    package var listedThrough: Int?
    /// Moment at which the S3 upload began, by the server's clock.
    package var begunAt: Timestamp?
    /// The S3 server does not know the upload any more, and may have made the object of it.
    package var isForgotten = false
    /// Over FTP and SFTP, where the server has refused to rename the file to the target.
    package var swap: RemoteSwap?
    /// The server's words for that.
    package var renameRefusal: String?
    /// Over FTP: times that the server has refused to append since it last did.
    package var refusedAppends = 0

    package init() {}
}
