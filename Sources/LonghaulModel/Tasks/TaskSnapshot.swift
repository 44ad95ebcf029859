/// Facts that decide about tasks and hosts: one snapshot of the store, and the state of the
/// hosts' programs.
package struct TaskSnapshot: Sendable {
    /// All tasks, waiting and running.
    package var tasks: [StoredTask] = []
    /// The hosts that have a task or a waiting session, without their tasks.
    package var hosts: [String: HostFacts] = [:]
    /// The uses of these hosts.
    package var usages: [String: UsageHistogram] = [:]
    /// The transfers that jobs wait for; one that is missing was removed.
    package var transfers: [TransferID: TransferState] = [:]
    /// The machine as standing requests have seen it; `nil` = nothing is recorded.
    package var world: WorldFacts?
    /// Streams may wake a host while the machine is online.
    package var hasSubscriptions = false
    /// Launches for tasks that may begin now.
    package var placesForTasks = Limits.taskLaunchesAtOnce

    package init() {}
}

/// What a plan writes: tasks that have changed or end, and the machine.
package struct TaskChanges: Sendable {
    /// How a task ends without a run.
    package enum End: Hashable, Sendable {
        /// A wake-up was not handed over in time, for this reason.
        case expired(WaitReason.Reason)
        case missedDeadline
        case missedTransfer(TransferID)
    }

    /// Tasks with other values than in the snapshot.
    package var written: [StoredTask] = []
    package var ended: [(task: StoredTask, end: End)] = []
    /// The machine as standing requests have seen it; `nil` = nothing is recorded.
    package var world: WorldFacts?

    package init(world: WorldFacts? = nil) {
        self.world = world
    }
}
