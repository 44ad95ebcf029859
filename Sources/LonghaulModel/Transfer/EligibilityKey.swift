/// The conditions that decide whether a transfer may run now: transfers with the same key wait for
/// the same conditions. The store keeps it as one number and looks the head of the queue up by it,
/// so that a million transfers that may not run now cost one look-up.
///
/// Bits are stored: never renumber. 0 needs a network, 1 discretionary, 2–5 required power,
/// unmetered, idle, network, 6–9 the same preferred, 10–16 required charge, 17–23 preferred charge,
/// 24–45 number of the windows in the store, 46 preferences were given, 47 has mirrors, 48 a
/// command waits for it, 49 goes once, 50 requires full power, 51 prefers it, 52 waits for other
/// transfers, 62 runs now.
package struct EligibilityKey: Hashable, Sendable {
    /// All but the windows.
    package let bits: Int64
    /// The times when it may run; `nil` = at any time.
    package let windows: TimeWindows?

    private init(bits: Int64, windows: TimeWindows?) {
        self.bits = bits
        self.windows = windows
    }

    /// - Parameter usesNetwork: False for URLs of this machine itself.
    package init(
        _ schedule: TransferSchedule = TransferSchedule(), isDiscretionary: Bool = false,
        usesNetwork: Bool = true, hasMirrors: Bool = false, isAwaited: Bool = false,
        goesOnce: Bool = false, waitsForTransfers: Bool = false
    ) {
        var bits: Int64 = (usesNetwork ? 1 : 0) | (isDiscretionary ? 2 : 0)
        if hasMirrors { bits |= 1 << 47 }
        if isAwaited { bits |= 1 << 48 }
        if goesOnce { bits |= 1 << 49 }
        if waitsForTransfers { bits |= 1 << 52 }
        if schedule.requires.fullPower { bits |= 1 << 50 }
        bits |= EligibilityKey.pack(schedule.requires) << 2
        bits |= Int64(schedule.requires.battery ?? 0) << 10
        if let prefers = schedule.prefers {
            bits |= EligibilityKey.pack(prefers) << 6
            bits |= Int64(prefers.battery ?? 0) << 17
            bits |= 1 << 46
            if prefers.fullPower { bits |= 1 << 51 }
        }
        self.init(bits: bits, windows: schedule.windows)
    }

    /// The key of a transfer without any of them.
    package static let plain = EligibilityKey()

    package var usesNetwork: Bool { bits & 1 != 0 }
    package var isDiscretionary: Bool { bits & 2 != 0 }
    /// Mirrors may serve it while its own server is avoided.
    package var hasMirrors: Bool { bits & 1 << 47 != 0 }
    /// An engine that is there for others only, or not for long, begins it too.
    package var isAwaited: Bool { bits & 1 << 48 != 0 }
    /// The transfer is not made ready ahead, see ``UploadOptions/goesOnce``.
    package var goesOnce: Bool { bits & 1 << 49 != 0 }

    /// Other transfers have to end first, see ``TransferOptions/after``.
    package var waitsForTransfers: Bool { bits & 1 << 52 != 0 }

    /// A user asked that it runs now, regardless of its schedule.
    package var runsNow: Bool { bits & EligibilityKey.runsNowBit != 0 }

    /// The bit of ``runsNow``, for queries.
    package static var runsNowBit: Int64 { 1 << 62 }

    /// The eligibility of a transfer that is to run now: its window, its requirements, its
    /// preferences and other transfers are set aside. The network that its URL needs is not.
    package var now: EligibilityKey {
        let plain = EligibilityKey(
            isDiscretionary: isDiscretionary, usesNetwork: usesNetwork, hasMirrors: hasMirrors,
            isAwaited: isAwaited, goesOnce: goesOnce)
        return EligibilityKey(bits: plain.bits | EligibilityKey.runsNowBit, windows: nil)
    }

    package var schedule: TransferSchedule {
        var schedule = TransferSchedule()
        schedule.requires = needs(2, battery: 10, fullPower: 50)
        if bits & 1 << 46 != 0 { schedule.prefers = needs(6, battery: 17, fullPower: 51) }
        schedule.windows = windows
        return schedule
    }

    /// The key that is looked up: the default preferences written out.
    package var eligibility: EligibilityKey {
        var schedule = schedule
        let prefers = schedule.preferences(isDiscretionary: isDiscretionary)
        schedule.prefers = prefers.isEmpty ? nil : prefers
        // Without a separate mark, empty preferences would be the same as none given.
        return withMark(schedule, !prefers.isEmpty)
    }

    /// The eligibility of those whose preferences do not count any more.
    package var waived: EligibilityKey {
        var schedule = schedule
        schedule.prefers = nil
        return withMark(schedule, false)
    }

    /// True if an eligibility has anything to waive.
    package var hasPreferences: Bool { !needs(6, battery: 17, fullPower: 51).isEmpty }

    private func withMark(_ schedule: TransferSchedule, _ mark: Bool) -> EligibilityKey {
        let plain = EligibilityKey(
            schedule, isDiscretionary: isDiscretionary, usesNetwork: usesNetwork,
            hasMirrors: hasMirrors, isAwaited: isAwaited, goesOnce: goesOnce,
            waitsForTransfers: waitsForTransfers)
        return EligibilityKey(
            bits: plain.bits & ~(1 << 46) | (mark ? 1 << 46 : 0), windows: windows)
    }

    /// The needs of an eligibility.
    package var conditionNeeds: (required: ConditionNeeds, preferred: ConditionNeeds) {
        (needs(2, battery: 10, fullPower: 50), needs(6, battery: 17, fullPower: 51))
    }

    /// The conditions that decide about an eligibility.
    package var interest: ConditionNeeds {
        let (required, preferred) = conditionNeeds
        var needs = required.union(preferred)
        if usesNetwork { needs.network = true }
        // External power serves where a charge is asked for.
        if needs.battery != nil { needs.power = true }
        return needs
    }

    private func field(_ shift: Int64, _ width: Int64) -> Int {
        Int(bits >> shift & (1 << width - 1))
    }

    private func needs(_ shift: Int64, battery: Int64, fullPower: Int64) -> ConditionNeeds {
        let bits = field(shift, 4)
        let percent = field(battery, 7)
        return ConditionNeeds(
            power: bits & 1 != 0, unmetered: bits & 2 != 0, idle: bits & 4 != 0,
            network: bits & 8 != 0, battery: percent == 0 ? nil : percent,
            fullPower: field(fullPower, 1) != 0)
    }

    private static func pack(_ needs: ConditionNeeds) -> Int64 {
        (needs.power ? 1 : 0) | (needs.unmetered ? 2 : 0) | (needs.idle ? 4 : 0)
            | (needs.network ? 8 : 0)
    }
}

/// The stored number of a key. The windows of all keys stand in a table, and a number has the place
/// of its windows there: 0 = none.
extension EligibilityKey {
    /// The bits of the place.
    package static var placeBits: Range<Int> { 24..<46 }

    /// - Parameter windows: The windows at the place; ignored if the number has no place.
    package init(stored number: Int64, windows: TimeWindows?) {
        let place = EligibilityKey.place(inStored: number)
        self.init(
            bits: number ^ place << Int64(EligibilityKey.placeBits.lowerBound),
            windows: place == 0 ? nil : windows)
    }

    /// - Parameter place: The place of its windows; ignored if it has no windows.
    package func stored(place: Int64) -> Int64 {
        assert(
            windows == nil || (1..<1 << EligibilityKey.placeBits.count).contains(place),
            "windows have a place")
        return windows == nil ? bits : bits | place << Int64(EligibilityKey.placeBits.lowerBound)
    }

    package static func place(inStored number: Int64) -> Int64 {
        number >> Int64(placeBits.lowerBound) & (1 << Int64(placeBits.count) - 1)
    }
}

/// When a transfer may move bytes, beyond its earliest begin: its windows, what must hold of the
/// machine, and what should.
public struct TransferSchedule: Hashable, Sendable {
    /// The times of the week when it may run; `nil` = at any time.
    public var windows: TimeWindows?
    /// Conditions that must be known to hold. Never waived.
    public var requires = ConditionNeeds()
    /// Conditions that should hold; content with unknown, and waived when the deadline comes near
    /// or after ``TransferOptions/waiveAfter``. `nil` = the default: power, an unmetered network
    /// and an idle machine for a discretionary transfer, else nothing.
    public var prefers: ConditionNeeds?

    /// At any time, without requirements, with the default preferences.
    public init() {}

    /// The preferences that the default stands for.
    public func preferences(isDiscretionary: Bool) -> ConditionNeeds {
        prefers ?? (isDiscretionary ? .discretionary : ConditionNeeds())
    }
}
