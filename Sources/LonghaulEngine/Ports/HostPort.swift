package import LonghaulCore
package import LonghaulStore

/// The programs that are notified of outcomes, as the engine sees them. Results come back as
/// ``HostReport``s, from any thread.
package protocol HostPort: Sendable {
    /// Called once, before all else.
    func listen(_ report: @escaping @Sendable (HostReport) -> Void)

    /// Why this program could not be run now.
    func obstacle(_ program: String) -> LaunchObstacle?

    /// A process of the host runs by itself.
    func isAttached(_ host: String) -> Bool

    /// Tells whether this very process runs and can be handed work.
    func isAlive(_ resident: StoredResident) -> Bool

    /// Gathers the data to hand over and makes a process that does not begin yet. A resident
    /// process is watched from then on; it reads its work in the store.
    func prepare(_ order: LaunchOrder)

    /// Lets it run: its launch is recorded.
    func begin(_ id: LaunchID)

    /// The launch is not to run after all, or a resident process has ended it and lives on.
    func discard(_ id: LaunchID)

    /// Watches a process that an earlier engine began. `false`: it has ended in an unknown way. A
    /// job whose end is known is reported as ended.
    func adopt(_ launch: StoredLaunch) -> Bool

    /// Asks the process to end, or ends it and all its descendants. A resident process keeps
    /// running; its launch is then reported as ended.
    func end(_ id: LaunchID, killing: Bool)

    /// Seconds of processor time used by the launch and all its descendants; `nil` = unknown.
    func processorSeconds(of id: LaunchID) -> Double?

    /// Records answers of a host that could not be recorded when they came. Throws while the store
    /// cannot be written.
    func recordAnswers(of id: LaunchID) throws(LonghaulError)

    /// The progress that the program of the launch has reported since the last call, by task.
    func takeProgress(of id: LaunchID) -> [String: ProgressReport]

    /// Drops the host's answers: it is to answer once more, to another launch.
    func dropAnswers(of id: LaunchID)

    /// Processes that have begun keep running.
    func stop()
}

package struct LaunchOrder: Hashable, Sendable {
    package var id: LaunchID
    package var host: String
    package var program: LaunchedProgram
    /// The process that it is handed to; `nil` = one is made.
    package var resident: StoredResident?
    /// `nil` = no events are handed over.
    package var session: String?
    /// Tasks and wake-ups.
    package var tasks: [TaskID] = []
    package var reason: LaunchReason
    /// Seconds.
    package var budget: Double
}

extension LaunchOrder {
    /// Creates the order for the handover of a launch that has begun.
    package init(_ launch: StoredLaunch) {
        self.init(
            id: launch.id, host: launch.host, program: .host(HostSettings(argv: [])),
            session: launch.session, reason: launch.reason,
            budget: launch.deadline - launch.startedAt)
    }
}

package enum HostReport: Sendable {
    case prepared(PreparedLaunch)
    /// Another process has acknowledged everything meanwhile.
    case nothingToDo(LaunchID)
    case notPrepared(LaunchID, message: String)
    /// The store could not be written when the host answered. Reported before the end of the
    /// launch.
    case answersWait(LaunchID)
    /// The host's answer makes no sense; the transfer waits on.
    case answerRefused(LaunchID, message: String)
    /// The program has reported progress: see ``HostPort/takeProgress(of:)``.
    case progress(LaunchID)
    /// The host's result of a task; reported before the end of the launch.
    case result(LaunchID, task: String, TaskResult)
    case ended(LaunchID, LaunchEnding, status: Int?, output: String)
    /// A program has attached itself, or gone away, perhaps.
    case attachments
}

package struct PreparedLaunch: Sendable {
    package var id: LaunchID
    package var handover: Handover
    package var process: LaunchedProcess

    package init(id: LaunchID, handover: Handover, process: LaunchedProcess) {
        self.id = id
        self.handover = handover
        self.process = process
    }
}

/// Hosts of an engine that starts no programs.
package struct NoHosts: HostPort {
    package init() {}

    package func listen(_ report: @escaping @Sendable (HostReport) -> Void) {}
    package func obstacle(_ program: String) -> LaunchObstacle? { nil }
    package func isAttached(_ host: String) -> Bool { true }
    package func isAlive(_ resident: StoredResident) -> Bool { false }
    package func prepare(_ order: LaunchOrder) {}
    package func begin(_ id: LaunchID) {}
    package func discard(_ id: LaunchID) {}
    package func adopt(_ launch: StoredLaunch) -> Bool { false }
    package func end(_ id: LaunchID, killing: Bool) {}
    package func processorSeconds(of id: LaunchID) -> Double? { nil }
    package func takeProgress(of id: LaunchID) -> [String: ProgressReport] { [:] }
    package func recordAnswers(of id: LaunchID) {}
    package func dropAnswers(of id: LaunchID) {}
    package func stop() {}
}
