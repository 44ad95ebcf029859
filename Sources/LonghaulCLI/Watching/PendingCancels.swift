import Longhaul

/// `cancel` records what is wanted, and an engine carries it out a moment later: whoever forgets
/// transfers then means those, too.
enum PendingCancels {
    /// An engine takes milliseconds; one that hangs is not waited for.
    private static let patience = Duration.seconds(5)

    /// Waits while an engine is about to end them; `nil` = any.
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
