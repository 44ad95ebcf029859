package import LonghaulCore

/// What somebody waits for, or would stop for: nothing else is looked at.
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
    /// To be told before the machine sleeps or shuts down, with the machine waiting for it.
    package static let machineEvents = ConditionInterest(rawValue: 16)

    /// With ``idle``: something runs that is to end within about a second when the machine is used.
    package static let idleEnd = ConditionInterest(rawValue: 32)

    package static let conditions: ConditionInterest = [.power, .battery, .network, .idle]

    package init(_ kinds: some Sequence<ConditionKind>) {
        self = []
        for kind in kinds { insert(ConditionInterest(kind)) }
    }

    private init(_ kind: ConditionKind) {
        switch kind {
        case .power: self = .power
        case .battery: self = .battery
        case .network: self = .network
        case .idle: self = .idle
        }
    }
}
