internal import FoundationEssentials
public import LonghaulCore
internal import LonghaulStore
internal import Synchronization

/// Longest wait of a session that requires its own engine for a leaving one.
private let engineTakeOverSeconds: Double = 2

/// A named group of transfers that outlives the process: its requests are carried out by the
/// engine, in this process or another, across crashes, reboots and network changes.
///
/// A session is re-created with its identifier after a restart and finds its tasks and its events.
/// Any number of sessions may be open at once, in one process or in several, on one store; two of
/// the same identifier are the same session.
///
/// Letting go of the last reference leaves the session without waiting; ``invalidate(cancelling:)``
/// waits until nothing of it is left in this process. Every asynchronous method may be cancelled,
/// which ends the wait and, unless its comment says otherwise, nothing else.
public final class BackgroundSession: Sendable {
    /// The name of the session, by custom in reverse domain notation. Commands take it after
    /// `--session`.
    public let identifier: String
    /// The configuration that it was opened with; later changes by commands do not show here.
    public let configuration: Configuration
    let sharedStore: SharedStore
    /// The executor of all its requests to the store: it is open as long as the session is.
    let executor: SessionExecutor
    let inputs: InputWatch
    private let attachment = Mutex<HostAttachment?>(nil)

    /// Opens the session, and creates it if missing.
    ///
    /// - Throws: `storeUnavailable`; `invalidRequest` for an invalid name; `conflict` when the
    ///   session belongs to another host, or when ``Engine/inProcess`` was asked for and another
    ///   process is the engine.
    public init(
        identifier: String, configuration: Configuration = Configuration()
    ) async throws(LonghaulError) {
        try BackgroundSession.check(identifier, configuration)
        self.identifier = identifier
        self.configuration = configuration
        sharedStore = try await Blocking.run { () throws(LonghaulError) in
            try SharedStore.enter(configuration.store)
        }
        executor = SessionExecutor(sharedStore.executor)
        inputs = InputWatch(executor, session: identifier)
        do throws(LonghaulError) {
            let attachment = try await record()
            self.attachment.withLock { $0 = attachment }
            try await becomeEngine()
        } catch {
            executor.close()
            await sharedStore.leave()
            throw error
        }
    }

    deinit {
        guard executor.close() else { return }
        switch configuration.engine {
        case .automatic, .inProcess: sharedStore.giveUpEngine()
        case .external: break
        }
        sharedStore.abandon()
    }

    private static func check(
        _ identifier: String, _ configuration: Configuration
    ) throws(LonghaulError) {
        if identifier.isEmpty || identifier.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw LonghaulError(
                .invalidRequest,
                "a session's identifier has at least one character, none of them"
                    + " a control character")
        }
        let intervals = [
            configuration.timeoutIntervalForRequest, configuration.timeoutIntervalForResource,
        ]
        if !intervals.allSatisfy({ $0 > 0 && $0.isFinite }) {
            throw LonghaulError(.invalidRequest, "a timeout is more than 0 seconds")
        }
    }

    // MARK: - The engine

    private func becomeEngine() async throws(LonghaulError) {
        switch configuration.engine {
        case .external: return
        case .automatic: sharedStore.takeEngine()
        case .inProcess:
            sharedStore.takeEngine()
            guard await isEngineHere(within: engineTakeOverSeconds) else {
                let failure = sharedStore.engineFailure
                await sharedStore.dropEngine()
                throw failure
                    ?? LonghaulError(.conflict, "another process is the engine of this queue")
            }
        }
    }

    /// Waits while the engine of this process begins, and `seconds` for another one to leave.
    private func isEngineHere(within seconds: Double) async -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let edition = executor.edition
            let pid = try? await executor.perform { context throws(LonghaulError) in
                try context.queue.status().engine?.pid
            }
            if pid == ProcessInfo.processInfo.processIdentifier { return true }
            if .now >= end, sharedStore.isEngineBlocked { return false }
            guard (try? await executor.changed(since: edition, within: 0.1)) != nil
            else { return false }
        }
    }

    // MARK: - Tasks

    /// Downloads of the session that have not ended, or whose event is not acknowledged, in the
    /// order of their requests.
    ///
    /// - Throws: `LonghaulError` `sessionInvalidated`, `storeUnavailable`.
    public var tasks: [DownloadTask] {
        get async throws(LonghaulError) {
            try await openTransfers(.download).map { DownloadTask($0, self) }
        }
    }

    /// The uploads of the session, as ``tasks`` has its downloads.
    ///
    /// - Throws: `LonghaulError` as there.
    public var uploadTasks: [UploadTask] {
        get async throws(LonghaulError) {
            try await openTransfers(.upload).map { UploadTask($0, self) }
        }
    }

    /// Finds a download of the session, ended or not; `nil` when it has none of that id.
    ///
    /// - Throws: `LonghaulError` `sessionInvalidated`, `storeUnavailable`.
    public func task(_ id: TransferID) async throws(LonghaulError) -> DownloadTask? {
        try await has(id, .download) ? DownloadTask(id, self) : nil
    }

    /// Finds an upload of the session, ended or not; `nil` when it has none of that id.
    ///
    /// - Throws: `LonghaulError` `sessionInvalidated`, `storeUnavailable`.
    public func uploadTask(_ id: TransferID) async throws(LonghaulError) -> UploadTask? {
        try await has(id, .upload) ? UploadTask(id, self) : nil
    }

    private func openTransfers(_ kind: Transfer.Kind) async throws(LonghaulError) -> [TransferID] {
        let session = identifier
        return try await executor.perform { context throws(LonghaulError) in
            try context.queue.store.sessions.openTransfers(of: session, kind)
        }
    }

    private func has(_ id: TransferID, _ kind: Transfer.Kind) async throws(LonghaulError) -> Bool {
        let session = identifier
        return try await executor.perform { context throws(LonghaulError) in
            let found = try context.queue.store.transfers.find(id, now: context.queue.now)
            return found.map { $0.kind == kind && $0.session.isExactly(session) } ?? false
        }
    }

    // MARK: - The end

    /// Leaves the session. When this returns, no thread and no descriptor of it is left, and if
    /// this process was the engine and has no other session there, another may be. Pending waits
    /// throw `sessionInvalidated`, as does every later call, also of its tasks and while the
    /// process has other sessions of the store.
    ///
    /// - Parameter cancelling: also ends all its transfers. Otherwise they continue with the next
    ///   engine, here or elsewhere.
    /// - Throws: `LonghaulError` `storeUnavailable` when the transfers could not be cancelled; the
    ///   session is left all the same.
    public func invalidate(cancelling: Bool = false) async throws(LonghaulError) {
        guard executor.close() else { return }
        inputs.stop()
        var failure: LonghaulError?
        if cancelling {
            let session = identifier
            do throws(LonghaulError) {
                try await sharedStore.executor.change { queue throws(LonghaulError) in
                    _ = try queue.cancel(.session(session), by: .session)
                    if !queue.isEngineRunning { try queue.settle() }
                }
            } catch {
                failure = error
            }
        }
        switch configuration.engine {
        case .automatic, .inProcess: await sharedStore.dropEngine()
        case .external: break
        }
        attachment.withLock { $0 = nil }
        await sharedStore.leave()
        if let failure { throw failure }
    }
}
