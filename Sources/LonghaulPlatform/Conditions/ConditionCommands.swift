package import LonghaulModel
internal import CLonghaul
private import Synchronization

/// State shared between a ``ConditionsWatch`` and its thread: the wanted conditions and their
/// values.
final class ConditionCommands: Sendable {
    struct Wants: Sendable {
        var interest: ConditionInterest = []
        var overrides = ConditionOverrides()
        /// The file systems that requests name.
        var fileSystems: Set<String> = []
        /// Triggers with a path.
        var paths: Set<TaskTrigger> = []
        /// Why the machine is to wait; shown by `systemd-inhibit --list`.
        var delayReason = "Transfers are saved"
        /// Why the machine is not to go to sleep by itself.
        var awakeReason = "A job runs"
        /// A single request to read the conditions for which no notification exists.
        var looksAnew = false
        /// Counts the changes.
        fileprivate(set) var round = 0
    }

    private struct State {
        var wants = Wants()
        var isStopping = false
        var conditions = Conditions()
        /// The last round of wants for which every source has answered.
        var readRound = -1
    }

    private let state = Mutex(State())
    private let wake: Descriptor
    private let onChange: @Sendable (Conditions) -> Void
    private let onEvent: @Sendable (MachineEvent) -> Void
    private let onDelayLock: @Sendable (DelayLockState) -> Void
    /// Receives a value whenever another round is complete.
    private let read = Mailbox<Void>()

    init(
        onChange: @escaping @Sendable (Conditions) -> Void,
        onEvent: @escaping @Sendable (MachineEvent) -> Void,
        onDelayLock: @escaping @Sendable (DelayLockState) -> Void
    ) throws(SystemFailure) {
        wake = Descriptor(owning: try check(lh_eventfd(), "eventfd", ""))
        self.onChange = onChange
        self.onEvent = onEvent
        self.onDelayLock = onDelayLock
    }

    // MARK: - For the watch

    func change(_ body: (inout Wants) -> Void) {
        state.withLock { state in
            body(&state.wants)
            state.wants.round += 1
        }
        lh_eventfd_raise(wake.number)
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        lh_eventfd_raise(wake.number)
    }

    var conditions: Conditions { state.withLock { $0.conditions } }

    /// Waits until every source has answered the current wants. For one caller at a time.
    func waitUntilRead(within seconds: Double) {
        let end = SystemClock.now().monotonic + seconds
        while true {
            let isComplete = state.withLock { $0.readRound >= $0.wants.round }
            let left = end - SystemClock.now().monotonic
            if isComplete || left <= 0 { return }
            _ = read.take(within: left)
        }
    }

    // MARK: - For the thread

    var descriptor: Int32 { wake.number }

    var wants: Wants { state.withLock { $0.wants } }

    /// The current wants; `nil` = stop.
    func removeWants() -> Wants? {
        _ = lh_eventfd_take(wake.number)
        return state.withLock { state in
            defer { state.wants.looksAnew = false }
            return state.isStopping ? nil : state.wants
        }
    }

    /// - Parameter complete: whether every source has answered these wants.
    func tell(_ conditions: Conditions, _ wants: Wants, complete: Bool) {
        let (isNew, isFirst) = state.withLock { state in
            let isNew = state.conditions != conditions
            let isFirst = complete && state.readRound < wants.round
            state.conditions = conditions
            if isFirst { state.readRound = wants.round }
            return (isNew, isFirst)
        }
        if isNew { onChange(conditions) }
        if isFirst { read.put([()]) }
    }

    func tell(_ event: MachineEvent) {
        onEvent(event)
    }

    func report(_ lock: DelayLockState) {
        onDelayLock(lock)
    }
}

/// The conditions that a transfer waits for, or would stop for. No other condition is read.
package struct ConditionInterest: OptionSet, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let power = ConditionInterest(rawValue: 1)
    package static let battery = ConditionInterest(rawValue: 2)
    package static let network = ConditionInterest(rawValue: 4)
    /// May cost wake-ups: see ``ConditionContext/idleSampleSeconds``.
    package static let idle = ConditionInterest(rawValue: 8)
    /// Reports sleep and shutdown beforehand, and delays the machine until they are handled.
    package static let machineEvents = ConditionInterest(rawValue: 16)

    /// Used with ``idle``: a running transfer must stop within about a second when the machine is
    /// used.
    package static let idleEnd = ConditionInterest(rawValue: 32)

    /// Reports that the machine has woken, without delaying its sleep.
    package static let wakes = ConditionInterest(rawValue: 64)
    /// Reports what is mounted, at once and whenever it changes.
    package static let mounts = ConditionInterest(rawValue: 128)

    package static let saver = ConditionInterest(rawValue: 256)
    /// Keeps the machine from going to sleep because nobody uses it.
    package static let stayAwake = ConditionInterest(rawValue: 512)

    /// Finds the file systems that requests name.
    package static let mounted = ConditionInterest(rawValue: 1024)
    /// Used with ``network``: its names, too.
    package static let networkNames = ConditionInterest(rawValue: 2048)

    package static let conditions = ConditionInterest(ConditionKind.allCases).union(.networkNames)

    package init(_ needs: ConditionNeeds) {
        self.init(needs.kinds)
        if !needs.networks.isEmpty { insert(.networkNames) }
    }

    package init(_ kinds: some Sequence<ConditionKind>) {
        self = []
        for kind in kinds { insert(ConditionInterest(kind)) }
    }

    var kinds: Set<ConditionKind> {
        Set(ConditionKind.allCases.filter { contains(ConditionInterest($0)) })
    }

    private init(_ kind: ConditionKind) {
        switch kind {
        case .power: self = .power
        case .battery: self = .battery
        case .network: self = .network
        case .idle: self = .idle
        case .saver: self = .saver
        case .mounted: self = .mounted
        }
    }
}

private import Synchronization

/// An announced event of the machine; the machine waits for this process meanwhile.
package enum MachineEvent: Sendable {
    /// Save everything, then release the permit. logind waits for it, five seconds by default
    /// (InhibitDelayMaxSec in logind.conf(5)).
    case willSleep(DelayPermit)
    case didWake
    case willShutDown(DelayPermit)
    /// The announced shutdown was cancelled.
    case shutdownCancelled
    /// All mounts, each by a number of its own.
    case mounts(Set<Int64>)
    /// What is at the paths that are watched.
    case paths([TaskTrigger: PathFacts])
}

/// Tells whether the machine would wait for this process before it sleeps or shuts down.
package enum DelayLockState: Sendable {
    /// The lock is not wanted, not answered yet, or handed out as a ``DelayPermit``.
    case pending
    case held
    /// There is no bus, no logind, or it has refused. Both may come later.
    case unavailable
}

/// Delays the announced sleep or shutdown until it is released or deallocated.
package final class DelayPermit: Sendable {
    private let lock: Mutex<Descriptor?>
    /// How long logind waits after its announcement; 0 = it does not, since no lock was held.
    package let seconds: Double

    init(_ lock: Descriptor?, seconds: Double = Limits.delaySeconds) {
        self.lock = Mutex(lock)
        self.seconds = seconds
    }

    /// Lets the machine go on. May be called from any thread; a second call does nothing.
    package func release() {
        lock.withLock { $0 = nil }
    }
}
