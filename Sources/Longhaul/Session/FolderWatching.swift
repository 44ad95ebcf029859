public import FoundationEssentials
public import LonghaulCore
internal import LonghaulPlatform

/// How far a watched folder is.
public struct FolderStatus: Hashable, Sendable {
    /// The engine's work on the folder.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Files are sent as they appear.
        case watching
        /// All files are being looked at.
        case scanning
        /// A client has paused the folder.
        case paused
        /// The directory is gone, or cannot be read. It is watched again when it is back.
        case failed
    }

    /// The name of the folder.
    public var name: String
    /// The directory that is watched.
    public var directory: URL
    /// Its state.
    public var state: State
    /// Files that are not sent yet.
    public var waiting: Int
    /// Files that were sent, of those whose transfers are still in the list.
    public var uploaded: Int
    /// Files that could not be sent.
    public var failed: Int
    /// Files that the last scan found sent before and unchanged.
    public var skipped: Int
    /// When all files were last looked at.
    public var lastScan: Date?
    /// Why the folder has failed, or else why one of its files cannot be sent.
    public var error: LonghaulError?

    init(_ record: FolderRecord) {
        name = record.name
        directory = URL(fileURLWithPath: record.settings.directory, isDirectory: true)
        state =
            switch record.state {
            case .watching: .watching
            case .scanning: .scanning
            case .paused: .paused
            case .failed: .failed
            }
        waiting = record.waiting
        uploaded = record.uploaded
        failed = record.failed
        skipped = record.skipped
        lastScan = record.lastScan.map {
            Date(timeIntervalSince1970: Double($0.milliseconds) / 1_000)
        }
        error = record.error
    }
}

/// Watched folders: what appears in one and is complete is uploaded
/// (Photos' `PHBackgroundResourceUploadJobExtension`).
///
/// Folders are recorded in the store: they survive this process, the engine and the machine. The
/// engine watches them: this process as long as the manager lives, or another one. Each file is a
/// transfer of the session `folder:NAME`.
public final class FolderManager: Sendable {
    /// The treatment of a file after it was sent, and the server has confirmed it.
    public enum Ending: Hashable, Sendable {
        /// The file stays.
        case keep
        /// The file is deleted.
        case delete
        /// The file is moved to a directory on the same file system. Nothing is replaced there.
        case move(to: URL)
    }

    private let managed: ManagerStore

    private var executor: StoreExecutor { managed.executor }

    /// Opens the queue.
    ///
    /// - Parameters:
    ///   - store: The state directory; `nil` = as for the command.
    ///   - engine: Whether this process moves bytes itself, as for a session.
    /// - Throws: `storeUnavailable`.
    public init(
        store: String? = nil, engine: BackgroundSession.Engine = .automatic
    ) async throws(LonghaulError) {
        managed = try await ManagerStore(store, engine)
    }

    /// Watches a folder, durably. One of the same name is replaced.
    ///
    /// - Parameters:
    ///   - name: Letters, digits, `.`, `_` and `-`.
    ///   - directory: The directory that is watched.
    ///   - request: Where the files go, a URL with a slash at the end, and the options of the
    ///     uploads.
    ///   - recursive: The directories below it are watched, too.
    ///   - settle: Seconds for which a complete file has not changed.
    ///   - including: Globs of the files that are sent; empty = all but hidden and partial ones.
    ///   - excluding: Globs of the files that are not.
    ///   - ending: What is done with a file after it was sent.
    /// - Throws: `invalidRequest`; `conflict` when a directory does not exist, or is on another
    ///   file system; `storeUnavailable`. Then nothing was recorded.
    public func add(
        _ name: String, watching directory: URL, with request: TransferRequest,
        recursive: Bool = false, settle: Double = 10, including: [String] = [],
        excluding: [String] = [], ending: Ending = .keep
    ) async throws(LonghaulError) {
        var new = Folders.New(
            name, directory: directory.standardizedFileURL.path(percentEncoded: false),
            url: request.url, request)
        new.settings.isRecursive = recursive
        new.settings.settle = settle
        new.settings.include = including
        new.settings.exclude = excluding
        switch ending {
        case .keep: new.settings.ending = .keep
        case .delete: new.settings.ending = .delete
        case .move(let target):
            new.settings.ending = .move(target.standardizedFileURL.path(percentEncoded: false))
        }
        let wanted = new
        try await executor.change { queue throws(LonghaulError) in try Folders(queue).add(wanted) }
    }

    /// The present status of a folder.
    ///
    /// - Throws: `noSuchFolder`, `storeUnavailable`.
    public func status(of name: String) async throws(LonghaulError) -> FolderStatus {
        try await executor.perform { context throws(LonghaulError) in
            FolderStatus(try Folders(context.queue).find(name))
        }
    }

    /// All folders, by name.
    ///
    /// - Throws: `storeUnavailable`.
    public func statuses() async throws(LonghaulError) -> [FolderStatus] {
        try await executor.perform { context throws(LonghaulError) in
            try Folders(context.queue).all().map(FolderStatus.init)
        }
    }

    /// Looks for files now, and tries failed ones again.
    ///
    /// - Throws: `noSuchFolder`, `storeUnavailable`.
    public func scan(_ name: String) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in try Folders(queue).scan(name) }
    }

    /// Nothing is sent, and nothing is looked for, until ``resume(_:)``.
    ///
    /// - Throws: `noSuchFolder`, `storeUnavailable`.
    public func pause(_ name: String) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in try Folders(queue).pause(name) }
    }

    /// Watches a paused folder again.
    ///
    /// - Throws: `noSuchFolder`, `storeUnavailable`.
    public func resume(_ name: String) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in try Folders(queue).resume(name) }
    }

    /// Watches the folder no more, and cancels its transfers. Files stay, here and at the server.
    ///
    /// - Throws: `noSuchFolder`, `storeUnavailable`.
    public func remove(_ name: String) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in try Folders(queue).remove(name) }
    }
}
