package import LonghaulCore
internal import LonghaulStore

/// What the engine remembers of hosts between two turns.
struct HostKeeper {
    /// Something may have happened that a host is to be told.
    var isStale = true
    var launches: [LaunchID: KeptLaunch] = [:]
    /// What was reported and is not recorded yet.
    var reports: [HostReport] = []
    /// When to look again although nothing happens.
    var nextLook: Timestamp?
    /// When the next host is due; what an engine with nothing else to do waits for.
    var nextLaunch: Timestamp?
    /// The store could not be written.
    var retryAt: Instant?
    /// Launches get their numbers before they are recorded.
    var lastID = LaunchID(rawValue: 0)
    /// When events that may go are looked for.
    var forgetsAt: Instant?
    /// Transfers that might have waited for an answer of their host, and failed for want of one, in
    /// the present commit.
    var unanswerable: Set<TransferID> = []

    func isBusy(_ host: String) -> Bool {
        launches.values.contains { $0.host == host }
    }

    /// It is known to have ended, and not recorded yet.
    func hasEnded(_ launch: LaunchID) -> Bool {
        reports.contains { report in
            switch report {
            case .ended(launch, _, _, _): true
            case .ended, .answersWait, .answerRefused, .prepared, .nothingToDo, .notPrepared,
                .attachments:
                false
            }
        }
    }

    /// When a launch has to be ended, or ended at last.
    var nextEnd: Instant? {
        launches.compactMap { hasEnded($0.key) ? nil : $0.value.endsAt }.min()
    }
}

struct KeptLaunch {
    let host: String
    let session: String
    /// Seconds.
    let budget: Double
    /// When it is asked to end, and then when it is ended; `nil` = it has not begun, or all was
    /// done.
    var endsAt: Instant?
    var isExpired = false
    /// An earlier engine began it, and its status is gone with that one.
    var isAdopted = false
    /// How often its answers could not be recorded.
    var answerFailures = 0
    /// They were given up: what it was told is told again, whatever its status.
    var hasLostAnswers = false
}

/// What a turn tells of hosts.
package struct HostOutlook: Hashable, Sendable {
    /// A launch is being made or runs.
    package var isBusy = false
    /// When the next one is due by the clock.
    package var nextLaunch: Timestamp?
}
