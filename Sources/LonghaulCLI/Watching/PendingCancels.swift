import Longhaul

/// `cancel` records a want, and an engine applies it a moment later. A command that removes ended
/// transfers means these, too.
enum PendingCancels {
    /// An engine takes milliseconds; a hanging engine is not waited for.
    private static let patience = Duration.seconds(5)

    /// Waits while an engine is about to end one of them; `nil` = any transfer.
    static func wait(for ids: [TransferID]?, in queue: TransferQueue) throws(LonghaulError) {
        let end = ContinuousClock.now + patience
        let changes = StoreChanges(of: queue)
        while try queue.isCancelPending(among: ids), queue.isEngineRunning {
            let left = (end - ContinuousClock.now) / .seconds(1)
            if left <= 0 { return }
            changes.wait(timeout: left)
        }
    }
}
