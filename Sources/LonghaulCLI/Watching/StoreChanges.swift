import Longhaul
import LonghaulPlatform

/// Lets a command sleep until there may be a change. A commit since it was made, or since the last
/// wait, ends the next wait at once.
struct StoreChanges {
    /// `nil`: no descriptor is left.
    private let watch: ChangeWatch?

    init(of queue: TransferQueue) {
        watch = try? queue.changes()
    }

    /// Returns after a commit, a signal or the given time; check again in each case.
    func wait(timeout seconds: Double) {
        // An error of the store is reported by the next read.
        if let watch, (try? watch.wait(timeout: seconds)) != nil { return }
        ThreadSleep.seconds(min(seconds, Limits.blindPollSeconds))
    }
}

/// `cancel` records a want, and an engine applies it a moment later. A command that removes ended
/// transfers means these, too.
enum PendingCancels {

    /// Waits while an engine is about to end one of them; `nil` = any transfer.
    static func wait(for ids: [TransferID]?, in queue: TransferQueue) throws(LonghaulError) {
        let end = ContinuousClock.now + Limits.cancelWait
        let changes = StoreChanges(of: queue)
        while try queue.isCancelPending(among: ids), queue.isEngineRunning {
            let left = (end - ContinuousClock.now) / .seconds(1)
            if left <= 0 { return }
            changes.wait(timeout: left)
        }
    }
}
