internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension StoreExecutor.StoreContext {
    /// With live numbers, and without what takes a look at the machine (why it waits).
    func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        guard var transfer = try queue.store.transfers.find(id, now: queue.now) else { return nil }
        if transfer.state == .running, transfer.held?.isPrefetched == true {
            transfer.state = try RunningView(queue.store, now: queue.now).state(of: transfer)
        }
        return LiveView.withLiveNumbers(transfer, from: board.look())
    }
}
