package import FoundationEssentials
internal import LonghaulCore
internal import Synchronization

/// A launch in a simulated world: the program is a Swift task of this process, with the tasks that
/// it starts. Like a process it has an environment and standard input, lines on standard output,
/// SIGTERM, and an exit status.
package final class SimulatedLaunch: Sendable {
    /// The launch that the current task belongs to.
    @TaskLocal package static var current: SimulatedLaunch?

    package let launch: BackgroundLaunch
    package let waits = SimulatedWaits()
    /// Returns when the seconds have passed in the world.
    let sleep: @Sendable (_ seconds: Double) async throws -> Void
    private let result: @Sendable (_ task: String, TaskResult) -> Void
    private let progress: @Sendable (_ task: String, ProgressReport) -> Void
    private let state = Mutex(State())

    private struct State {
        var trap: (@Sendable () -> Void)?
        var hasFailed = false
    }

    /// - Parameters:
    ///   - environment: Variables of the launch.
    ///   - input: JSON Lines.
    ///   - sleep: Returns when the seconds have passed in the world.
    ///   - result: Called with the program's result of a task.
    ///   - progress: Called with its reports of progress.
    package init?(
        environment: [String: String], input: Data,
        sleep: @escaping @Sendable (_ seconds: Double) async throws -> Void,
        result: @escaping @Sendable (_ task: String, TaskResult) -> Void,
        progress: @escaping @Sendable (_ task: String, ProgressReport) -> Void
    ) {
        guard let launch = BackgroundLaunch(environment: environment, input: input) else {
            return nil
        }
        self.launch = launch
        self.sleep = sleep
        self.result = result
        self.progress = progress
    }

    // MARK: - For the program

    func report(_ result: TaskResult, of task: String) { self.result(task, result) }

    func report(_ report: ProgressReport, of task: String) { progress(task, report) }

    /// Sets the action of SIGTERM.
    func trap(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.trap = handler }
    }

    /// Ends with exit status 1: the work that was handed over was not done.
    func fail() { state.withLock { $0.hasFailed = true } }

    // MARK: - For the world

    private var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// SIGTERM. `false`: nothing catches it, and the program ends by it.
    package func terminate() -> Bool {
        guard let trap = state.withLock({ $0.trap }) else { return false }
        waits.expire()
        trap()
        return true
    }

    /// Runs the program, and gives its exit status.
    package func run(_ program: @Sendable () async throws -> Void) async -> Int {
        do {
            try await SimulatedLaunch.$current.withValue(self) {
                try await SimulatedWaits.$current.withValue(waits) { try await program() }
            }
            return hasFailed ? 1 : 0
        } catch {
            return 1
        }
    }
}

/// The programs that run by themselves in simulated worlds, where a launch is a Swift task that
/// the world begins.
package enum SimulatedResidents {
    package typealias Program = @Sendable () async throws -> Void

    private struct Key: Hashable {
        let directory: ExactText
        let id: Int64
    }

    private static let programs = Mutex<[Key: Program]>([:])

    /// `nil`: the process has left.
    package static func program(of id: ResidentID, in directory: String) -> Program? {
        programs.withLock { $0[key(id, directory)] }
    }

    static func isThere(_ id: ResidentID, in directory: String) -> Bool {
        program(of: id, in: directory) != nil
    }

    /// Does nothing outside of simulated worlds.
    static func add(_ id: ResidentID, in directory: String, _ program: @escaping Program) {
        guard Machine.isSimulated(directory) else { return }
        programs.withLock { $0[key(id, directory)] = program }
    }

    static func remove(_ id: ResidentID, in directory: String) {
        programs.withLock { $0[key(id, directory)] = nil }
    }

    private static func key(_ id: ResidentID, _ directory: String) -> Key {
        Key(directory: ExactText(directory), id: id.rawValue)
    }
}
