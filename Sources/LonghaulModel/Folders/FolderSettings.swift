/// The treatment of a file of a watched folder after it was sent.
package enum FolderEnding: Hashable, Codable, Sendable, CustomStringConvertible {
    case keep
    case delete
    /// Absolute path of a directory on the same file system.
    case move(String)

    package var description: String {
        switch self {
        case .keep: "keep"
        case .delete: "delete"
        case .move(let directory): "move=\(directory)"
        }
    }
}

/// The state of a watched folder, derived from its row.
package enum FolderState: String, Sendable, CaseIterable {
    case watching
    /// All files are being looked at.
    case scanning
    /// A client has paused the folder.
    case paused
    /// The directory is gone, or cannot be read.
    case failed
}

/// The settings of a watched folder, besides its name. Stored as one JSON text.
package struct FolderSettings: Hashable, Codable, Sendable {
    /// Absolute path.
    package var directory: String
    /// As it is shown.
    package var askedURL: String
    /// Where the files go; of S3 the URL over HTTP.
    package var url: String
    /// Seconds for which a complete file has not changed.
    package var settle = FolderSettings.defaultSettle
    /// Globs of the files that are sent; empty = all but hidden and partial ones.
    package var include: [String] = []
    /// Globs of the files that are not sent. They precede ``include``.
    package var exclude: [String] = []
    package var isRecursive = false
    package var ending = FolderEnding.keep
    package var common = RequestSettings()

    package static let defaultSettle: Double = 10

    package init(directory: String, url: String, _ request: TransferRequest) {
        self.directory = directory
        askedURL = url
        self.url = url
        common = RequestSettings(request)
    }

    /// A request of the folder's session.
    ///
    /// - Parameter path: From the directory on.
    package func request(for path: String, session: String) -> TransferRequest {
        common.request(url, "", session: session).sending(path, below: directory + "/", to: url)
    }

    /// Transfers of the other settings stay as they are.
    package func sendsSame(as other: FolderSettings) -> Bool {
        directory.isExactly(other.directory) && url.isExactly(other.url) && common == other.common
    }
}

/// Findings of the engine in a watched folder. Stored as one JSON text.
package struct FolderFindings: Hashable, Codable, Sendable {
    /// Files that have no transfer yet: they are not complete, or many others are before them.
    package var pending = 0
    /// Files that the last scan found sent and unchanged.
    package var skipped = 0
    /// Files that cannot be sent, moved or deleted.
    package var refused = 0
    /// Why, of one of them.
    package var refusal: LonghaulError?
    /// Why the directory is not watched.
    package var error: LonghaulError?
    package var lastScan: Timestamp?
    /// Why the kernel does not tell of new files: the directory is scanned at intervals.
    package var scansBecause: String?

    package init() {}
}

extension TransferRequest {
    /// The request for a file below a directory: its URL is that of its own directory, unless each
    /// upload makes a resource at the URL.
    ///
    /// - Parameters:
    ///   - path: From the root on.
    ///   - root: Empty, or with a slash at the end.
    package func sending(_ path: String, below root: String, to url: String) -> TransferRequest {
        var request = self
        request.destination = .file(root + path)
        request.url = url
        if options.upload?.namesItsPlace == true, !root.isEmpty,
            let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        {
            request.url = UploadPlace.directory(String(path[...slash]), at: url)
        }
        return request
    }
}

extension String {
    /// The session of a watched folder's transfers.
    package static func session(ofFolder name: String) -> String { "folder:" + name }
}
