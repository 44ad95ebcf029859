public import LonghaulCore
package import LonghaulStore
internal import LonghaulPlatform

/// A store of transfers, shared with every other process that opens the same state directory.
///
/// Each call reads, or changes the *wanted* state; the engine records results. All calls are
/// synchronous, short, and safe from any thread. They throw `LonghaulError`.
public final class TransferQueue: Sendable {
    /// The state directory in use.
    public let directory: String
    package let store: Store
    package let machine: Machine

    /// Opens the store, creating it if missing.
    ///
    /// - Parameter directory: default `$LONGHAUL_HOME`, else `$XDG_STATE_HOME/longhaul`, else
    ///   `~/.local/state/longhaul`.
    /// - Throws: `storeUnavailable`, with the cause and the remedy; `invalidRequest` when
    ///   `LONGHAUL_CONDITIONS` or `LONGHAUL_LOG` is not understood.
    public convenience init(directory: String? = nil) throws(LonghaulError) {
        try self.init(directory, isToShow: false)
    }

    /// - Parameter isToShow: A store that a newer version has written is opened to be read, see
    ///   ``newerVersion``.
    package init(_ directory: String?, isToShow: Bool) throws(LonghaulError) {
        _ = try ConditionReader.environmentOverride()
        try JournalLevel.check()
        let path = try StateDirectory.ofQueue(directory)
        self.directory = path
        machine = Machine.of(path)
        store = try isToShow ? Store.openToShow(directory: path) : Store.open(directory: path)
        SignalTrap.ignoreBrokenPipes()
    }

    /// The version of a store that only a newer program may write.
    package var newerVersion: Int? { store.newerVersion() }

    /// Reopens the queue after a repair has replaced its file. Never creates one.
    init(reopening old: TransferQueue) throws(LonghaulError) {
        directory = old.directory
        machine = old.machine
        store = try Store.open(directory: old.directory, mode: .existing)
    }

    var now: Timestamp { machine.now().wall }

    // MARK: - Wants

    /// Running transfers are checkpointed and leave the wire. Ended ones are refused.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`. Refusals are in the outcomes.
    public func pause(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        try change(selection, to: .pause)
    }

    /// Resumes paused transfers, and retries failed ones from the bytes that are kept. Transfers
    /// selected by id that wait for a back-off, for a pause requested by the server, or for room
    /// are tried now (BITS: `Resume`). A completed one is left unchanged, which is not an error
    /// (``ChangeOutcome/Remark/isCompleted``).
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`. Refusals are in the outcomes.
    public func resume(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        try change(selection, to: .resume)
    }

    /// Lets transfers run now, as ``resume(_:)`` does, and sets their earliest begin, window,
    /// requirements and preferences aside until their attempt ends. A network that is missing, a
    /// full disk and the limits on what runs at once still hold. Recorded durably: it holds after
    /// a crash. An attempt that fails ends it.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`. Refusals are in the outcomes.
    public func runNow(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        try change(selection, to: .runNow)
    }

    /// Ends transfers. Their part files go with them, unless `keepingBytes`.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`. Refusals are in the outcomes.
    public func cancel(_ selection: TransferSelection, keepingBytes: Bool = false)
        throws(LonghaulError) -> [ChangeOutcome]
    {
        try cancel(selection, keepingBytes: keepingBytes, by: .library)
    }

    /// The same, for another than a caller of the library.
    package func cancel(
        _ selection: TransferSelection, keepingBytes: Bool = false, by canceller: Canceller
    ) throws(LonghaulError) -> [ChangeOutcome] {
        try change(selection, to: .cancel(keepBytes: keepingBytes), by: canceller)
    }

    /// Re-arms failed and cancelled transfers from the bytes that are kept; waiting ones are tried
    /// now as with ``resume(_:)``. Refused while another transfer that has not ended has the same
    /// destination, where the deadline is a moment that is over, and for an upload whose snapshot
    /// was deleted when it was cancelled. Replaced ones (`--on-duplicate replace`) are retried only
    /// by their ids.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`. Refusals are in the outcomes.
    public func retry(_ selection: TransferSelection) throws(LonghaulError) -> [ChangeOutcome] {
        try change(selection, to: .retry)
    }

    private func change(
        _ selection: TransferSelection, to change: WantedChange, by canceller: Canceller = .library
    ) throws(LonghaulError) -> [ChangeOutcome] {
        if change == .resume || change == .retry { try KeyRenewal(queue: self).renew(selection) }
        let outcomes = try store.wants.change(
            selection.inStore, to: change, by: canceller, now: now)
        WakeChannel.poke(directory)
        return outcomes.map { $0.outcome(of: change) }
    }

    /// Forgets ended transfers and deletes their part files; never a completed file.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`. Refusals are in the outcomes.
    public func remove(_ ids: [TransferID]) throws(LonghaulError) -> [ChangeOutcome] {
        var gone: [OrphanedPart] = []
        let changes = zip(ids, try store.wants.remove(ids, now: now)).map { id, outcome in
            switch outcome {
            case .removed(let parts):
                gone += parts.filter { machine.files.discard($0) }
                return ChangeOutcome(id: id, error: nil)
            case .refused(let error): return ChangeOutcome(id: id, error: error)
            }
        }
        // Else the next engine finds that out.
        try? store.wants.forget(gone)
        WakeChannel.poke(directory)
        return changes
    }

    /// A cancel of some of these (`nil` = of any) is recorded, and no engine has carried it out
    /// yet: the transfers cannot be removed before.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func isCancelPending(
        among ids: [TransferID]? = nil
    ) throws(LonghaulError) -> Bool {
        try store.wants.isCancelPending(among: ids)
    }

    /// Forgets transfers that ended more than `seconds` ago. Returns their number.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func clean(endedBefore seconds: Double) throws(LonghaulError) -> Int {
        defer { WakeChannel.poke(directory) }
        return try store.wants.clean(endedBefore: now + -seconds, now: now) { parts in
            parts.filter { PartFile.discard($0) }
        }
    }

    /// Changes the request of a transfer that is not completed. Bytes are kept. A running one is
    /// interrupted and resumed, unless its HTTP request is the same: then it continues, at its new
    /// rate at once; stall timeout and yielding apply from its next request on where the server has
    /// not promised to resume.
    ///
    /// - Throws: `LonghaulError` `noSuchTransfer`; `conflict` when it is completed or the
    ///   destination is taken; `invalidRequest`, `unsupported` for values that a request may not
    ///   have; `unauthorized` where there are no keys for S3; `storeUnavailable`. Then nothing is
    ///   changed.
    public func change(_ id: TransferID, _ change: TransferChange) throws(LonghaulError) {
        try store.wants.change(id, try change.inStore(now: now), now: now)
        WakeChannel.poke(directory)
    }

    // MARK: - Checks

    /// Checks store, permissions, clock, limits, libraries and engine; works without an open queue,
    /// because the store may be damaged. With `repair` a damaged store is moved aside first, and
    /// its newest copy takes its place; refused while an engine runs.
    public static func doctor(directory: String?, repair: Bool, report: (DoctorFinding) -> Void) {
        QueueDoctor.check(directory: directory, repair: repair, report: report)
    }
}

extension TransferSelection {
    var inStore: Selection {
        switch self {
        case .ids(let ids): .ids(ids)
        case .session(let name): .session(name)
        case .all: .all
        }
    }
}

extension WantOutcome {
    func outcome(of change: WantedChange) -> ChangeOutcome {
        let remark = remark(on: change)
        return ChangeOutcome(
            id: id, error: remark == nil ? refusal(of: change) : nil, remark: remark)
    }

    /// Remark on a change that leaves nothing to do.
    func remark(on change: WantedChange) -> ChangeOutcome.Remark? {
        switch result {
        case .hasEnded(.completed) where change == .resume || change == .runNow: .isCompleted
        case .replaced(by: let other): .replaced(by: other)
        case .changed, .unchanged, .hasEnded, .destinationTaken, .deadlinePassed, .snapshotGone,
            .answerLost, .noSuchTransfer:
            nil
        }
    }

    func refusal(of change: WantedChange) -> LonghaulError? {
        switch result {
        case .changed, .unchanged, .replaced: nil
        case .noSuchTransfer:
            .noSuchTransfer(id)
        case .hasEnded(let state):
            LonghaulError(
                .conflict, "it is \(state.rawValue)\(change.advice(state))",
                transferID: id)
        case .deadlinePassed:
            LonghaulError(
                .conflict, "its deadline is over; `set --deadline` gives it a later one",
                transferID: id)
        case .snapshotGone:
            LonghaulError(
                .conflict, "the snapshot of its file was deleted with it; upload the file again",
                transferID: id)
        case .answerLost: .answerLost(id)
        case .destinationTaken(let path, by: let holder):
            LonghaulError(
                .conflict,
                "\(path) belongs to transfer \(holder) by now; cancel that one, or let it end",
                transferID: id)
        }
    }
}

extension WantedChange {
    fileprivate func advice(_ state: TransferState) -> String {
        switch self {
        case .resume where state == .cancelled, .runNow where state == .cancelled:
            "; `retry` takes it up again"
        case .pause, .resume, .cancel, .retry, .runNow: " already"
        }
    }
}

extension StateDirectory {
    /// The directory of a queue; `nil` = the one that the environment names.
    static func ofQueue(_ directory: String?) throws(LonghaulError) -> String {
        if let directory { return try CurrentDirectory.absolute(directory) }
        try Environment.checkPath(
            in: ["LONGHAUL_HOME", "XDG_STATE_HOME", "HOME"], .storeUnavailable)
        return try resolve(environment: Environment.all())
    }
}
