internal import LonghaulCore
package import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// The machine that a queue is on, as far as calls depend on it. A simulated world has its own
/// machine for the queue in its directory.
package struct Machine: Sendable {
    package var now: @Sendable () -> Moment
    /// `nil` = not known.
    package var bootID: String?
    /// Why a program could not be run now.
    package var obstacle: @Sendable (_ program: String) -> LaunchObstacle?
    /// The disk, as the work on bundles sees it.
    package var files: any PlacedFilePort = PlacedFile()

    /// - Parameters:
    ///   - now: Called on any thread.
    ///   - obstacle: Called on any thread; `nil` = it can be run.
    package init(
        bootID: String?, now: @escaping @Sendable () -> Moment,
        obstacle: @escaping @Sendable (String) -> LaunchObstacle?
    ) {
        self.now = now
        self.bootID = bootID
        self.obstacle = obstacle
    }

    private static let real = Machine(
        bootID: BootID.current?.text, now: { SystemClock.now() },
        obstacle: { Executable.obstacle($0) })
    private static let simulated = Mutex<[ExactText: Machine]>([:])

    /// The machine of the queue in a state directory.
    static func of(_ directory: String) -> Machine {
        simulated.withLock { $0[ExactText(directory)] } ?? real
    }

    static func isSimulated(_ directory: String) -> Bool {
        simulated.withLock { $0[ExactText(directory)] != nil }
    }

    /// Places the queue of this directory on `machine` from now on; `nil` = on this machine again.
    package static func simulate(_ machine: Machine?, in directory: String) {
        simulated.withLock { $0[ExactText(directory)] = machine }
    }
}

extension LaunchedProcess {
    var identity: ProcessIdentity {
        ProcessIdentity(pid: pid, startTicks: UInt64(clamping: startTicks))
    }

    /// Tells whether the process runs, in this boot.
    func isAlive(on machine: Machine) -> Bool {
        bootID == machine.bootID ?? "" && identity.isAlive
    }
}
