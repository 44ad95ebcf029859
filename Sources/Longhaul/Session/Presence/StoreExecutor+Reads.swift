internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension StoreExecutor.StoreContext {
    /// With live numbers, and without what takes a look at the machine (why it waits).
    func transfer(_ id: TransferID) throws(LonghaulError) -> Transfer? {
        guard let transfer = try queue.store.transfer(id, now: queue.now) else { return nil }
        return LiveView.withLiveNumbers(transfer, from: board.look())
    }
}
