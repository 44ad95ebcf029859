/// How a file is sent. Stored with the transfer's options; a request that has one is an upload.
public struct UploadOptions: Hashable, Codable, Sendable {
    /// Default PUT; POST with ``formField``, and where a resumable protocol creates a resource.
    public var method: UploadMethod?
    /// Default ``UploadProtocol/auto``.
    public var uploadProtocol: UploadProtocol = .auto
    /// The file is one part of a `multipart/form-data` body, under this name (RFC 7578). Such an
    /// upload is not resumed: it is sent again if that is allowed.
    public var formField: String?
    /// Other fields of that form, which come before the file, in this order: S3 ignores fields
    /// after it (Amazon S3 API Reference, POST Object). Values are secrets: hidden in every output,
    /// and deleted when the upload completes. `nil` = none.
    public var formFields: [FormField]?
    /// A POST may be sent again after its answer was lost. A PUT always may (RFC 9110 §9.2.2).
    public var isRepeatable = false
    /// Treatment of a file that is no longer the one that was handed over.
    public var ifChanged: SourceChangePolicy = .fail
    /// With ``SourceChangePolicy/follow``: the file is complete when for so many seconds no program
    /// has had it open for writing and it has not changed. Default: ten. The kernel shows writers
    /// to the owner of a file, and on local file systems; elsewhere only changes are seen.
    public var settle: Double?
    /// The upload sends the file as it was when the request was recorded, even if it changes later:
    /// a copy is made first, in the state directory, which shares the file's blocks where it can
    /// (ioctl_ficlone(2)). The copy survives crashes, and goes when the upload completes, is
    /// cancelled or removed. Default `false`.
    public var snapshot = false
    /// Over FTP and SFTP: the bytes go to the target itself and not to a temporary file that is
    /// renamed, for servers that rename nothing. After a break the whole file is sent again. Until
    /// then the target is incomplete. Default `false`.
    public var inPlace = false
    /// Directories of the URL that the server has not got are made: by MKCOL for a PUT (RFC 4918
    /// §9.3), by the commands of FTP and SFTP. None is ever deleted. Default `false`.
    public var createsDirectories = false
    /// The field `Content-Type`, and the type of the part of a form. Default: that of the file's
    /// name when the upload is recorded, by the system's list (`/etc/mime.types`) or a built-in
    /// one, else `application/octet-stream`. A header field of the request comes before the list.
    public var contentType: String?
    /// Bytes of one part of an S3 multipart upload (`nil` = from the file's length), or of one
    /// request by tus or the draft (`nil` = as many as the server takes).
    public var partSize: Int64?
    /// Version of the file that is sent.
    package var source: SourceVersion?
    /// The file that is sent in place of the user's, where a ``snapshot`` was made.
    package var snapshotPath: String?

    /// The defaults of the command line.
    public init() {}

    /// The URL names the file at the server: the next upload to it replaces the file. Otherwise
    /// each upload may create a separate resource.
    package var namesItsPlace: Bool {
        if formField != nil || method == .post { return false }
        return switch uploadProtocol {
        case .auto, .put, .s3: true
        case .ietf: method == .put
        case .post, .tus: false
        }
    }

    /// Why a file cannot be followed in this way; `nil` = it can, or is not to be.
    ///
    /// - Parameter isRemoteFile: The upload goes over FTP or SFTP.
    package func followDefect(isRemoteFile: Bool, hasDigest: Bool) -> String? {
        if ifChanged != .follow {
            return settle == nil ? nil : "a time to settle needs a file that is followed"
        }
        if isRemoteFile || formField != nil || [.put, .post].contains(uploadProtocol) {
            return "a file that is followed has no length yet; it is sent by ietf, tus or s3"
        }
        if snapshot || hasDigest {
            return "a file that is followed has neither a snapshot nor a digest yet"
        }
        return nil
    }

    /// Requests are signed with keys of the user's.
    package var isSigned: Bool { uploadProtocol == .s3 }

    /// A POST that may not be sent twice: after a crash a sent one has failed, so that it is never
    /// prepared ahead of the connections.
    package var goesOnce: Bool {
        if isRepeatable { return false }
        return formField != nil || method == .post || [.post, .ietf].contains(uploadProtocol)
    }
}

/// A text field of a form.
public struct FormField: Hashable, Codable, Sendable {
    /// Name of the field, not empty.
    public var name: String
    /// The field's text, of any characters.
    public var value: String

    /// A field of these two texts.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The method of the request that carries a file.
public enum UploadMethod: String, Codable, Sendable, CaseIterable {
    case put = "PUT"
    case post = "POST"
}

/// How an upload is carried on after a break.
public enum UploadProtocol: String, Codable, Sendable, CaseIterable {
    /// The server is asked: IETF resumable uploads, then tus, else a plain PUT or POST. The
    /// origin's protocol is remembered, but each URL is asked whether it speaks tus.
    case auto
    /// A single plain PUT.
    case put
    /// A single plain POST.
    case post
    /// draft-ietf-httpbis-resumable-upload, interop versions 9, 8 and 6.
    case ietf
    /// tus 1.0.0.
    case tus
    /// Multipart upload to Amazon S3 or a server like it.
    case s3
}

/// Treatment of an upload whose file was changed after it was handed over.
public enum SourceChangePolicy: String, Codable, Sendable, CaseIterable {
    /// The upload fails with `sourceChanged`. The default.
    case fail
    /// The upload starts over with the present file.
    case restart
    /// The file is still written, as a recording is: its bytes are sent as they come, until it is
    /// complete (``UploadOptions/settle``). The length is unknown until then. By the protocols
    /// ietf, tus and s3; `auto` needs a server that offers ietf or tus. A file that is replaced or
    /// that shrinks fails with `sourceChanged`. Bytes that were sent and are overwritten later are
    /// not sent again.
    case follow
}

/// Identity and version of the file that is sent.
package struct SourceVersion: Hashable, Codable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modified: Int64
    /// The same of the last change of the file's status.
    package var changed: Int64
    /// Media type of the file's name; `nil` = the system knows none, or it was not looked for.
    package var mediaType: String?

    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// The file is unchanged. Size and times decide. The numbers of device and file do not count:
    /// they may differ after each mount (Btrfs, exFAT, FUSE), and a file that replaces another has
    /// its own time.
    package func isSame(as other: SourceVersion) -> Bool {
        size == other.size && modified == other.modified && changed == other.changed
    }

    /// The file is the same one, with more bytes or as many. The number of its device may differ
    /// after each mount.
    package func hasGrown(from other: SourceVersion) -> Bool {
        inode == other.inode && size >= other.size
    }

    /// The fields that ``isSame(as:)`` compares.
    package var text: String { "\(size) \(modified) \(changed)" }
}
