import Longhaul

/// Lets a command sleep until there may be a change. A commit since it was made, or since the last
/// wait, ends the next wait at once.
struct StoreChanges {
    /// `nil`: no descriptor is left.
    private let watch: ChangeWatch?

    /// Poll interval where no notification arrives.
    private static let blindSeconds: Double = 0.1

    init(of queue: TransferQueue) {
        watch = try? queue.changes()
    }

    /// Returns after a commit, a signal or the given time; check again in each case.
    func wait(timeout seconds: Double) {
        // An error of the store is reported by the next read.
        if let watch, (try? watch.wait(timeout: seconds)) != nil { return }
        Platform.pause(min(seconds, StoreChanges.blindSeconds))
    }
}
