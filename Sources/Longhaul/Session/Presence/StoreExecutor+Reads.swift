internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension StoreExecutor.StoreContext {
    /// Reads a transfer with live numbers, without what takes a look at the machine (why it waits).
    func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        guard var transfer = try queue.store.transfers.find(id, now: queue.now) else { return nil }
        if transfer.state == .running, transfer.held?.isPrefetched == true {
            transfer.state = try RunningView(queue.store, now: queue.now).state(of: transfer)
        }
        return LiveView.withLiveNumbers(transfer, from: board.read())
    }
}

/// The progress board, read once for all tasks that ask within a moment.
final class BoardGlance {
    private let directory: String
    private let machine: Machine
    private var taken: Instant?
    private var live: [FetchID: BoardReader.Live] = [:]

    init(_ queue: TransferQueue) {
        directory = queue.directory
        machine = queue.machine
    }

    /// How far each running fetch is; empty when no engine runs.
    func read() -> [FetchID: BoardReader.Live] {
        let now = machine.now().monotonic
        if let taken, now - taken < Limits.boardValidSeconds { return live }
        let hasEngine = (try? EngineLock.isHeld(in: directory)) ?? false
        live = hasEngine ? BoardReader.live(in: directory) : [:]
        taken = now
        return live
    }
}
