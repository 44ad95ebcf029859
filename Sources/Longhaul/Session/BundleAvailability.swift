public import FoundationEssentials
public import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// How far a bundle is.
public struct BundleStatus: Hashable, Sendable {
    /// The name of the bundle.
    public var name: String
    /// Its state.
    public var state: BundleState
    /// Bytes that are here, of complete and of running files.
    public var bytesDone: Int64
    /// Bytes of all files; `nil` = no manifest is known yet.
    public var bytesTotal: Int64?
    /// Files that are not complete.
    public var filesLeft: Int
    /// Files of the manifest.
    public var filesTotal: Int
    /// The version that is ready; `nil` = none.
    public var version: String?
    /// Why the last attempt failed.
    public var error: LonghaulError?
    var isUnderWay: Bool

    init(_ record: BundleRecord) {
        name = record.name
        state = record.state
        bytesDone = record.bytesDone
        bytesTotal = record.bytesTotal
        filesLeft = record.files.total - record.files.complete
        filesTotal = record.files.total
        version = record.version?.id
        error = record.error
        isUnderWay = record.isUnderWay
    }
}

/// Sets of files from one source, each pinned to one version and whole, or an error
/// (BackgroundAssets' `AssetPackManager`).
///
/// Bundles are recorded in the store: they survive this process, the engine and the machine. The
/// engine works on them: this process as long as the manager lives, or another one.
public final class BundleManager: Sendable {
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

    /// Records a bundle, durably, and begins to fetch it. The same again is the same bundle.
    ///
    /// - Parameters:
    ///   - name: Letters, digits, `.`, `_` and `-`.
    ///   - source: Where the files come from.
    ///   - directory: Where its files go. Created if missing.
    ///   - layout: `nil` = the source's own: `plain`, of an image `oci`.
    ///   - policy: When the files are fetched.
    ///   - including: Globs of the files that are fetched; empty = all.
    ///   - excluding: Globs of the files that are not.
    /// - Throws: `invalidRequest`; `conflict` when another bundle has the name or the directory;
    ///   `storeUnavailable`. Then nothing was recorded.
    public func add(
        _ name: String, from source: BundleSource, to directory: URL,
        layout: BundleLayoutKind? = nil, policy: BundlePolicy = .essential,
        including: [String] = [], excluding: [String] = []
    ) async throws(LonghaulError) {
        let environment = Environment.all()
        var new = Bundles.New(
            try source.recorded(
                environment: environment, directory: try CurrentDirectory.path))
        new.name = name
        new.directory = directory.standardizedFileURL.path(percentEncoded: false)
        new.layout = layout
        new.settings.policy = policy
        new.settings.include = including
        new.settings.exclude = excluding
        new.settings.secret = new.source.secret(in: environment)
        let wanted = new
        _ = try await executor.change { queue throws(LonghaulError) in
            try Bundles(queue).add(wanted, in: "/")
        }
    }

    /// Waits until every byte of the bundles is here. What is whole needs no request. Cancelling
    /// ends the wait alone.
    ///
    /// - Parameters:
    ///   - names: The bundles' names.
    ///   - requireLatestVersion: The sources are asked for their newest versions.
    /// - Throws: `noSuchBundle`; the error of the first bundle that cannot be had;
    ///   `storeUnavailable`; `CancellationError`.
    public func ensureLocalAvailability(
        of names: [String], requireLatestVersion: Bool = false
    ) async throws {
        try await executor.change { queue throws(LonghaulError) in
            for name in names { _ = try Bundles(queue).want(name, latest: requireLatestVersion) }
        }
        for status in try await end(of: names) {
            if let error = status.error { throw error }
            if status.version == nil {
                throw LonghaulError(.cancelled, "the bundle \(status.name) was cancelled")
            }
        }
    }

    /// Asks the sources for their versions, and fetches no file.
    ///
    /// - Returns: The names of those with a newer version than the one that is here.
    /// - Throws: as ``ensureLocalAvailability(of:requireLatestVersion:)``.
    public func checkForUpdates(of names: [String]) async throws -> [String] {
        try await executor.change { queue throws(LonghaulError) in
            for name in names { try Bundles(queue).check(name) }
        }
        let ended = try await end(of: names)
        if let error = ended.lazy.compactMap(\.error).first { throw error }
        return ended.filter { $0.state != .ready }.map(\.name)
    }

    /// The present status of a bundle.
    ///
    /// - Throws: `noSuchBundle`, `storeUnavailable`.
    public func status(of name: String) async throws(LonghaulError) -> BundleStatus {
        try await executor.perform { context throws(LonghaulError) in
            BundleStatus(try Bundles(context.queue).find(name))
        }
    }

    /// The status of a bundle now and after each change, until nothing is done for it any more.
    public func statusUpdates(of name: String) -> AsyncThrowingStream<BundleStatus, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    var last: BundleStatus?
                    while true {
                        let edition = executor.edition
                        let status = try await status(of: name)
                        if status != last { continuation.yield(status) }
                        last = status
                        if !status.isUnderWay { break }
                        // Bytes move without a commit.
                        try await executor.changed(since: edition, within: 0.5)
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The place of a file in the version that is ready.
    ///
    /// - Parameters:
    ///   - path: Its path in the bundle.
    ///   - name: The bundle's name.
    /// - Throws: `noSuchBundle`; `notFound` when no version is ready, or it has no such file;
    ///   `storeUnavailable`.
    public func url(for path: String, in name: String) async throws(LonghaulError) -> URL {
        let found = try await executor.perform { context throws(LonghaulError) in
            try Bundles(context.queue).path(name, file: path)
        }
        return URL(fileURLWithPath: found, isDirectory: false)
    }

    /// Forgets a bundle, and deletes the files that it has brought, unless they were changed.
    ///
    /// - Throws: `noSuchBundle`; `conflict` while its transfers do not end; `storeUnavailable`.
    public func remove(_ name: String) async throws(LonghaulError) {
        try await executor.change { queue throws(LonghaulError) in
            try Bundles(queue).remove(name, keepingFiles: false)
        }
    }

    private func end(of names: [String]) async throws -> [BundleStatus] {
        while true {
            try Task.checkCancellation()
            let edition = executor.edition
            var all: [BundleStatus] = []
            for name in names { all.append(try await status(of: name)) }
            if !all.contains(where: \.isUnderWay) { return all }
            try await executor.changed(since: edition)
        }
    }
}

/// The store of a manager, of bundles or of folders. As long as it lives, its process is the engine
/// where no other one is, if that is wanted.
final class ManagerStore: Sendable {
    private let sharedStore: SharedStore
    private let isEngine: Bool

    var executor: StoreExecutor { sharedStore.executor }

    init(
        _ directory: String?, _ engine: BackgroundSession.Engine
    ) async throws(LonghaulError) {
        sharedStore = try await Blocking.run { () throws(LonghaulError) in
            try SharedStore.enter(directory)
        }
        switch engine {
        case .automatic, .inProcess:
            isEngine = true
            sharedStore.takeEngine()
        case .external: isEngine = false
        }
    }

    deinit {
        if isEngine { sharedStore.giveUpEngine() }
        sharedStore.abandon()
    }
}
