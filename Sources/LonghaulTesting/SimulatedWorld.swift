public import FoundationEssentials
public import Longhaul
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
internal import LonghaulSimulatedWire
internal import LonghaulStore
internal import Synchronization

/// A machine with a queue, an engine, servers and hosts, whose time passes only when a test says
/// so. Sessions and schedulers that are opened with its ``configuration`` belong to it; they, the
/// engine, the store and the part files are the real ones. Clock, conditions, network and processes
/// are not: nothing waits, and no socket is opened.
///
///     let world = try await SimulatedWorld(startingAt: .now)
///     world.network.serve(url, Data("…".utf8), entityTag: "v1", faults: [.cut(after: 2)])
///     let session = try await BackgroundSession(
///         identifier: "photos", configuration: world.configuration)
///     let task = try await session.download(TransferRequest(url: url), to: file)
///     try await world.advance(by: 3600)
///
/// A host of the world is a Swift function, see ``setProgram(ofHost:_:)``. Its computing takes no
/// time of the world; time passes while it waits for a transfer, an event, a reason to defer or
/// ``sleep(for:)``. The world waits for all else that it awaits, for a minute of real time at most;
/// where a registered handler has returned without having completed its task, for a tenth of a
/// second.
///
/// A world leaves with the last reference to it, and takes its directory along. A host that still
/// runs then has such a reference: ``end()``.
public actor SimulatedWorld {
    /// A start of a host.
    public struct Launch: Sendable {
        /// The name of the host.
        public var host: String
        /// The reason for the launch.
        public var reason: BackgroundLaunch.Reason
        /// The session whose events were handed over; `nil` = none were.
        public var session: String?
        /// The identifiers of the tasks that were handed over.
        public var tasks: [String]
        /// When it was made.
        public var date: Date
        /// When it ended; `nil` = it runs.
        public var end: Date?
        /// `nil` = it runs, or was killed.
        public var exitStatus: Int?
        /// True if it was asked to end: its time was over, a requirement was lost, or a test asked.
        public var wasAskedToEnd = false
        /// The results that it told, by task.
        public var results: [String: TaskResult] = [:]
    }

    /// The configuration for sessions of this world. `BackgroundSession.Configuration.store` is
    /// the directory that a `BackgroundTaskScheduler` and a `BackgroundHost` take as well.
    public nonisolated let configuration: BackgroundSession.Configuration
    /// The conditions of the machine.
    public nonisolated let conditions = SimulatedConditions()
    /// The servers that can be reached.
    public nonisolated var network: SimulatedNetwork { wire.network }

    nonisolated let clock: VirtualClock
    nonisolated let hosts: SimulatedHosts
    nonisolated let sleepers: Sleepers
    nonisolated let wire: WorldWire
    let parts: EngineParts
    var engine: Engine
    var inputs: [EngineInput] = [.wake]
    var told: ToldConditions
    var facts: MachineFacts
    var dataVersion: Int64 = 0
    var wakesAt: Instant?
    var isAdvancing = false

    /// A world with an empty queue.
    ///
    /// - Parameter date: What its clock says at first.
    /// - Throws: `storeUnavailable`; `io` when no file or thread can be had.
    public init(startingAt date: Date) async throws(LonghaulError) {
        let clock = VirtualClock(startingAt: Timestamp(date))
        let directory = try EngineParts.makeDirectory()
        Machine.simulate(
            Machine(bootID: EngineParts.boot, now: { clock.now }, obstacle: { _ in nil }),
            in: directory)
        var configuration = BackgroundSession.Configuration()
        configuration.store = directory
        configuration.engine = .external
        self.configuration = configuration
        self.clock = clock
        wire = WorldWire(SimulatedNetwork(clock), clock)
        sleepers = Sleepers()
        told = ToldConditions(since: clock.now.wall)
        facts = MachineFacts(bootID: EngineParts.boot)
        facts.mounts = []
        parts = try EngineParts(directory)
        hosts = SimulatedHosts(parts.queue, clock, sleepers)
        engine = try parts.engine(wire, hosts, now: clock.now)
    }

    /// Ends running hosts, and all sleeps. One that waits for ``sleep(for:)`` would keep the world.
    public nonisolated func end() {
        hosts.end()
        sleepers.cancelAll()
    }

    deinit {
        end()
        Machine.simulate(nil, in: parts.directory)
        parts.remove()
    }

    /// The time of the world's clock.
    public nonisolated var now: Date { Date(clock.now.wall) }

    /// All launches, oldest first.
    public nonisolated var launches: [Launch] { hosts.records }

    /// All requests that went out, oldest first.
    public nonisolated var requests: [SimulatedNetwork.Request] { network.requests }

    // MARK: - Hosts

    /// Sets the program of a host: usually the program's own entry, with a `BackgroundHost` or a
    /// `BackgroundTaskScheduler` in it. It is called in each launch of the host, with
    /// `BackgroundLaunch.current`. A return is exit status 0, an error is 1. A host without a
    /// program cannot be started. Its command is not looked at.
    public nonisolated func setProgram(
        ofHost host: String, _ program: @escaping @Sendable () async throws -> Void
    ) {
        hosts.setProgram(of: host, program)
    }

    /// Begins a waiting task regardless of its conditions, and continues until nothing more happens
    /// at this moment. The counterpart of `_simulateLaunchForTaskWithIdentifier:`.
    ///
    /// - Throws: `noSuchTask`; `conflict` when it runs already.
    public func simulateLaunch(of task: String) async throws {
        try parts.store.tasks.simulateLaunch(of: task)
        try await advance(by: 0)
    }

    /// Ends the launch that carries a task, as when its time is over, and carries on until nothing
    /// more happens at this moment. The counterpart of
    /// `_simulateExpirationForTaskWithIdentifier:`.
    ///
    /// - Throws: `noSuchTask`; `conflict` when it does not run.
    public func simulateExpiration(of task: String) async throws {
        try parts.store.tasks.simulateExpiration(of: task)
        try await advance(by: 0)
    }

    // MARK: - The machine

    /// Returns when the seconds have passed in the world, at once for 0 and less; for hosts and
    /// tests that take their time.
    ///
    /// - Throws: `CancellationError`.
    public nonisolated func sleep(for seconds: Double) async throws {
        try Task.checkCancellation()
        if seconds > 0 { try await sleepers.sleep(until: clock.now.monotonic + seconds) }
    }

    /// The machine has slept, and wakes up (`TaskTrigger.resume`).
    public func resume() async throws {
        facts.resumes += 1
        inputs.append(.machine(facts))
        try await advance(by: 0)
    }

    /// Another file system is mounted (`TaskTrigger.mount`).
    public func mount() async throws {
        facts.mounts = (facts.mounts ?? []).union([Int64(facts.mounts?.count ?? 0)])
        inputs.append(.machine(facts))
        try await advance(by: 0)
    }

    /// The engine is killed, and another takes over at this moment. Requests that were out are
    /// lost; running hosts continue, and their exit status is unknown to the new engine.
    public func crashEngine() async throws {
        wire.reset()
        hosts.crash()
        parts.crash()
        inputs = [.wake, .machine(facts)]
        told = ToldConditions(since: clock.now.wall)
        engine = try parts.engine(wire, hosts, now: clock.now)
        try await advance(by: 0)
    }
}
