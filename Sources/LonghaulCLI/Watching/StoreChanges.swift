import Longhaul

/// Lets a command sleep until there may be something to look at. What was committed since it was
/// made, or since the last wait, ends the next one at once.
struct StoreChanges {
    /// `nil`: short of descriptors.
    private let watch: ChangeWatch?

    /// How often a command looks that nobody tells.
    private static let blindSeconds: Double = 0.1

    init(of queue: TransferQueue) {
        watch = try? queue.changes()
    }

    /// Until something was committed, a signal came, or the time is over: look again either way.
    func wait(timeout seconds: Double) {
        // What is wrong with the store says whoever reads it next.
        if let watch, (try? watch.wait(timeout: seconds)) != nil { return }
        Platform.pause(min(seconds, StoreChanges.blindSeconds))
    }
}
