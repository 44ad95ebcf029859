import Longhaul
import LonghaulPlatform

/// Longest wait for a cancel: an engine takes milliseconds, a hanging engine is not waited for.
private let cancelWait = Duration.seconds(5)

/// Finds out which transfers have ended, a few at a time: reading all of ten thousand five times a
/// second would take longer than fetching them.
struct TransferWatch {
    private(set) var pending: [TransferID]
    private(set) var ended: [TransferID: Transfer] = [:]
    /// Removed by another process during the wait.
    private(set) var gone: Set<TransferID> = []

    init(_ ids: [TransferID]) {
        pending = ids
    }

    var isOver: Bool { pending.isEmpty }

    /// The result of one look.
    struct Sight {
        /// Ended since the last look.
        var ended: [Transfer] = []
        /// The transfers of this look that have not ended.
        var unfinished: [Transfer] = []
    }

    /// Reads from the front until enough unfinished transfers were found; these go to the back, so
    /// that every one has its turn.
    ///
    /// - Parameter read: Leaves out transfers that do not exist.
    mutating func refresh(_ read: ([TransferID]) throws -> [Transfer]) rethrows -> Sight {
        var sight = Sight()
        var looked = 0
        var unfinished: [TransferID] = []
        while looked < pending.count, unfinished.count < Limits.watchedPerRead {
            let ids = Array(pending[looked...].prefix(Limits.watchedPerRead))
            var found: [TransferID: Transfer] = [:]
            for transfer in try read(ids) { found[transfer.id] = transfer }
            looked += ids.count
            for id in ids {
                guard let transfer = found[id] else {
                    gone.insert(id)
                    continue
                }
                if transfer.state.hasEnded {
                    ended[id] = transfer
                    sight.ended.append(transfer)
                } else {
                    unfinished.append(id)
                    sight.unfinished.append(transfer)
                }
            }
        }
        pending.removeFirst(looked)
        pending += unfinished
        return sight
    }
}

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
        let end = ContinuousClock.now + cancelWait
        let changes = StoreChanges(of: queue)
        while try queue.isCancelPending(among: ids), queue.isEngineRunning {
            let left = (end - ContinuousClock.now) / .seconds(1)
            if left <= 0 { return }
            changes.wait(timeout: left)
        }
    }
}
