internal import LonghaulCore
internal import LonghaulStore

/// Writes under the lease's epoch, and tries again while the store cannot be written. A reference:
/// turns and launches write through the same one.
final class StoreWriter {
    let store: Store
    let epoch: Epoch
    /// When the failed last commit is tried again.
    private(set) var retryAt: Instant?
    /// Why the last commit failed; `nil` = it went well.
    private(set) var error: LonghaulError?
    private var failures = 0
    /// `nil` = nothing is measured.
    private let times: EngineTimes?

    static let leaseLost = LonghaulError(
        .internal, "another process has become the engine; this one leaves everything to it")

    init(store: Store, epoch: Epoch, times: EngineTimes?) {
        self.store = store
        self.epoch = epoch
        self.times = times
    }

    /// The next commit does not wait for ``retryAt``.
    func retryNow() {
        retryAt = nil
    }

    func isReady(at now: Instant) -> Bool { retryAt.map { $0 <= now } ?? true }

    /// The commit of a turn. `false` = the store cannot be written, as on a full disk: nothing was
    /// written, nothing may be performed, and the same is tried again at ``retryAt``.
    func commit(
        _ durability: Durability, _ journal: EngineJournal?, now: Moment,
        _ body: (borrowing EngineTransaction) throws -> Void
    ) throws(LonghaulError) -> Bool {
        assert(isReady(at: now.monotonic), "a failed commit is tried again when its time has come")
        do {
            if let times {
                try times.commit { try store.withEngineTransaction(epoch, durability, body) }
            } else {
                try store.withEngineTransaction(epoch, durability, body)
            }
        } catch {
            // The lease is gone: another engine writes now.
            guard let error = error as? LonghaulError else { throw StoreWriter.leaseLost }
            failures += 1
            journal?.commitFailed(error, times: failures)
            // The same never succeeds once a newer program has migrated the store.
            if failures > Limits.commitFailures || store.newerVersion() != nil { throw error }
            (self.error, retryAt) = (error, now.monotonic + Limits.commitRetrySeconds)
            return false
        }
        failures = 0
        (error, retryAt) = (nil, nil)
        return true
    }

    /// A transaction outside a turn's commit.
    func transaction(
        _ durability: Durability, _ body: (borrowing EngineTransaction) throws -> Void
    ) throws(LonghaulError) {
        do {
            try store.withEngineTransaction(epoch, durability, body)
        } catch {
            throw error as? LonghaulError ?? StoreWriter.leaseLost
        }
    }
}
