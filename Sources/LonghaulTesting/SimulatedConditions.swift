public import LonghaulCore
internal import Synchronization

/// The power supply, the network, the file systems and the user of a simulated machine. Changes
/// apply from the next ``SimulatedWorld/advance(by:)`` on.
public final class SimulatedConditions: Sendable {
    /// Source of the machine's power.
    public enum Power: Hashable, Sendable {
        /// Mains power.
        case external
        /// The battery, with its charge in percent, 0…100.
        case battery(percent: Int)
    }

    private struct State {
        var power = Power.external
        var network = NetworkState.unmetered
        var networkNames: Set<String> = []
        var mounted = MountedFileSystems()
        var isIdle = true
        var savesPower = false
        /// Raised with each change.
        var edition = 0
        var networkEdition = 0
    }

    private let state = Mutex(State())

    init() {}

    /// External power at first.
    public var power: Power {
        get { state.withLock { $0.power } }
        set { change { $0.power = newValue } }
    }

    /// Unmetered at first. `NetworkState.offline` ends all requests; setting a state that is
    /// there already is another network of the same kind.
    public var network: NetworkState {
        get { state.withLock { $0.network } }
        set {
            change {
                $0.network = newValue
                $0.networkEdition += 1
            }
        }
    }

    /// The names of the network that the machine is on, for required networks and for the trigger
    /// `TaskTrigger.network`; empty at first. Setting them is another network of the same kind.
    /// They stay when ``network`` is set, and do not count while that is `offline`.
    public var networkNames: Set<String> {
        get { state.withLock { $0.networkNames } }
        set {
            change {
                $0.networkNames = newValue
                $0.networkEdition += 1
            }
        }
    }

    /// The mounted file systems by the mount points, labels or UUIDs that requests name, each with
    /// its directory, for required mounts and for the trigger `TaskTrigger.mount(_:)`; none at
    /// first. ``SimulatedWorld/mount()`` fires the trigger without a name.
    public var mounted: MountedFileSystems {
        get { state.withLock { $0.mounted } }
        set { change { $0.mounted = newValue } }
    }

    /// The machine is not in use; `true` at first.
    public var isIdle: Bool {
        get { state.withLock { $0.isIdle } }
        set { change { $0.isIdle = newValue } }
    }

    /// True if the machine is set to save power; `false` at first.
    public var savesPower: Bool {
        get { state.withLock { $0.savesPower } }
        set { change { $0.savesPower = newValue } }
    }

    private func change(_ edit: (inout State) -> Void) {
        state.withLock { state in
            edit(&state)
            state.edition += 1
        }
    }

    var edition: Int { state.withLock { $0.edition } }

    var networkEdition: Int { state.withLock { $0.networkEdition } }

    /// The conditions as the engine gets them.
    func conditions(since moment: Timestamp, networkSince: Timestamp) -> Conditions {
        let state = state.withLock { $0 }
        func reading<Value>(_ value: Value, since: Timestamp) -> Reading<Value> {
            Reading(value, source: "simulated", since: since)
        }
        var conditions = Conditions()
        let isOffline = state.network == .offline
        conditions.network = reading(state.network, since: networkSince)
        conditions.network.identity = NetworkIdentity(
            connection: isOffline ? nil : "\(state.networkEdition)")
        conditions.network.names = NetworkNames(given: isOffline ? [] : state.networkNames.sorted())
        conditions.mounted = reading(state.mounted, since: moment)
        conditions.isIdle = reading(state.isIdle, since: moment)
        conditions.savesPower = reading(state.savesPower, since: moment)
        switch state.power {
        case .external:
            conditions.power = reading(.external, since: moment)
            conditions.battery = reading(100, since: moment)
        case .battery(let percent):
            conditions.power = reading(.battery, since: moment)
            conditions.battery = reading(percent, since: moment)
        }
        return conditions
    }
}
