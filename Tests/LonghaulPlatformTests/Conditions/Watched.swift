import Glibc
import LonghaulCore
import Synchronization
import Testing

@testable import LonghaulPlatform

/// A watch over a test's own snapshot, and all that it told.
final class Watched {
    let watch: ConditionsWatch
    private let told: Told

    private final class Told: Sendable {
        let changes = Mutex<[Conditions]>([])
        let events = Mutex<[MachineEvent]>([])
        /// Where the kernel tells of the watch's thread.
        let thread = Mutex<String?>(nil)
    }

    init(
        _ snapshot: ConditionContext, _ interest: ConditionInterest,
        overrides: ConditionOverrides = ConditionOverrides()
    ) throws {
        let told = Told()
        self.told = told
        watch = try ConditionsWatch.start(
            snapshot, interest: interest, overrides: overrides,
            onChange: { new in
                told.changes.withLock { $0.append(new) }
                guard let path = realpath("/proc/thread-self", nil) else { return }
                told.thread.withLock { $0 = String(cString: path) }
                free(path)
            },
            onEvent: { new in told.events.withLock { $0.append(new) } })
    }

    deinit {
        watch.stop()
    }

    /// All that was told, oldest first.
    var changes: [Conditions] { told.changes.withLock { $0 } }

    /// What the watch's thread has used; nil: it has told nothing yet.
    func processorSeconds() throws -> Double? {
        guard let thread = told.thread.withLock({ $0 }) else { return nil }
        let nanoseconds = try smallFile(thread + "/schedstat").split(separator: " ").first
        return nanoseconds.flatMap { Double($0) }.map { $0 / 1e9 }
    }

    /// All events that were not taken, oldest first.
    var allEvents: [MachineEvent] { told.events.withLock { $0 } }

    func takeEvents() -> [MachineEvent] {
        told.events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Waits until the watch has told that a reading is so.
    func becomes<Value>(
        _ reading: KeyPath<Conditions, Reading<Value>>, _ value: Value?, _ source: String,
        within limit: Duration = .seconds(2), at location: SourceLocation = #_sourceLocation
    ) {
        eventually(
            within: limit, "\(value.map { "\($0)" } ?? "unknown") from \(source)", at: location
        ) {
            let now = watch.current[keyPath: reading]
            return now.value == value && now.source == source
        }
    }
}

extension ConditionContext {
    /// Nothing but what the test puts there; no waiting where none is needed.
    static func empty(bus: String? = nil, in scratch: Scratch? = nil) -> ConditionContext {
        var snapshot = ConditionContext(busAddress: bus)
        let root = scratch?.path ?? "/nonexistent"
        snapshot.sysfs = "\(root)/sys"
        snapshot.proc = "\(root)/proc"
        snapshot.dev = "\(root)/dev"
        snapshot.logins = "\(root)/utmp"
        snapshot.readsNetwork = false
        snapshot.busRetrySeconds = (0.05, 0.2)
        return snapshot
    }
}
