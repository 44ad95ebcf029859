public import LonghaulCore
internal import Synchronization

/// The power supply, the network and the user of a simulated machine. Changes apply from the next
/// ``SimulatedWorld/advance(by:)`` on.
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
        conditions.network = reading(state.network, since: networkSince)
        conditions.network.identity = NetworkIdentity(
            connection: state.network == .offline ? nil : "\(state.networkEdition)")
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
