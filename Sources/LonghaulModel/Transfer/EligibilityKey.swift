/// The conditions that decide whether a transfer may run now: transfers with the same key wait for
/// the same conditions. The store keeps it as one number and looks the head of the queue up by it,
/// so that a million transfers that may not run now cost one look-up.
///
/// Bits are stored: never renumber. 0 needs a network, 1 discretionary, 2–23, 50 and 51 the needs
/// (`NeedSet.table`), 24–45 number of the terms in the store, 46 preferences were given, 47 has
/// mirrors, 48 a command waits for it, 49 goes once, 52 waits for other transfers, 62 runs now.
package struct EligibilityKey: Hashable, Sendable {
    /// All but the terms.
    package let bits: Int64
    package let terms: EligibilityTerms

    package init(bits: Int64, terms: EligibilityTerms) {
        self.bits = bits
        self.terms = terms
    }

    /// The times when it may run; `nil` = at any time.
    package var windows: TimeWindows? { terms.windows }

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
        bits |= EligibilityKey.pack(schedule.requires) { $0.required }
        if let prefers = schedule.prefers {
            bits |= EligibilityKey.pack(prefers) { $0.preferred } | 1 << 46
        }
        self.init(
            bits: bits,
            terms: EligibilityTerms(
                windows: schedule.windows, requires: schedule.requires.named,
                prefers: schedule.prefers?.named ?? ConditionNeeds()))
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
        return EligibilityKey(
            bits: plain.bits | EligibilityKey.runsNowBit, terms: EligibilityTerms())
    }

    package var schedule: TransferSchedule {
        var schedule = TransferSchedule()
        schedule.requires = conditionNeeds.required
        if bits & 1 << 46 != 0 { schedule.prefers = conditionNeeds.preferred }
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
    package var hasPreferences: Bool { !conditionNeeds.preferred.isEmpty }

    private func withMark(_ schedule: TransferSchedule, _ mark: Bool) -> EligibilityKey {
        let plain = EligibilityKey(
            schedule, isDiscretionary: isDiscretionary, usesNetwork: usesNetwork,
            hasMirrors: hasMirrors, isAwaited: isAwaited, goesOnce: goesOnce,
            waitsForTransfers: waitsForTransfers)
        return EligibilityKey(
            bits: plain.bits & ~(1 << 46) | (mark ? 1 << 46 : 0), terms: plain.terms)
    }

    /// The needs of an eligibility.
    package var conditionNeeds: (required: ConditionNeeds, preferred: ConditionNeeds) {
        (
            needs { $0.required }.union(terms.requires),
            needs { $0.preferred }.union(terms.prefers)
        )
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

    private func needs(
        _ place: ((required: Int64, preferred: Int64)) -> Int64
    ) -> ConditionNeeds {
        var words: NeedSet = []
        var charge: Int64 = 0
        for entry in NeedSet.table {
            guard let places = entry.bits else { continue }
            let field = bits >> place(places)
            if entry.need == .battery {
                charge = field & 0x7F
            } else if field & 1 != 0 {
                words.insert(entry.need)
            }
        }
        return ConditionNeeds(words, battery: charge == 0 ? nil : Int(charge))
    }

    private static func pack(
        _ needs: ConditionNeeds, _ place: ((required: Int64, preferred: Int64)) -> Int64
    ) -> Int64 {
        needs.flags.entries.reduce(0) { bits, entry in
            guard let places = entry.bits else { return bits }
            let field = entry.need == .battery ? Int64(needs.battery ?? 0) : 1
            return bits | field << place(places)
        }
    }
}

/// The parts of an eligibility that are texts: times, and needs with names.
package struct EligibilityTerms: Hashable, Sendable {
    package var windows: TimeWindows?
    /// Of the requirements, those with names; the same for ``prefers``.
    package var requires = ConditionNeeds()
    package var prefers = ConditionNeeds()

    package init(
        windows: TimeWindows? = nil, requires: ConditionNeeds = ConditionNeeds(),
        prefers: ConditionNeeds = ConditionNeeds()
    ) {
        self.windows = windows
        self.requires = requires
        self.prefers = prefers
    }

    package var isEmpty: Bool { self == EligibilityTerms() }

    /// The windows, and in further lines the names of required and of preferred needs.
    package var stored: String {
        let lines =
            [windows?.stored ?? ""]
            + [requires, prefers].map {
                $0.names.joined(separator: ",")
            }
        return requires.isEmpty && prefers.isEmpty ? lines[0] : lines.joined(separator: "\n")
    }

    /// Reads ``stored``.
    package init?(stored text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if !lines[0].isEmpty {
            guard let windows = TimeWindows(stored: String(lines[0])) else { return nil }
            self.windows = windows
        }
        if lines.count == 1 { return }
        guard lines.count == 3, let required = ConditionNeeds(parsing: lines[1]),
            let preferred = ConditionNeeds(parsing: lines[2])
        else { return nil }
        (requires, prefers) = (required, preferred)
    }
}

/// The stored number of a key. The terms of all keys stand in a table, and a number has the place
/// of its terms there: 0 = none.
extension EligibilityKey {
    /// The bits of the place.
    package static var placeBits: Range<Int> { 24..<46 }

    /// - Parameter terms: The terms at the place; ignored if the number has no place.
    package init(stored number: Int64, terms: EligibilityTerms?) {
        let place = EligibilityKey.place(inStored: number)
        self.init(
            bits: number ^ place << Int64(EligibilityKey.placeBits.lowerBound),
            terms: place == 0 ? EligibilityTerms() : terms ?? EligibilityTerms())
    }

    /// - Parameter place: The place of its terms; ignored if it has none.
    package func stored(place: Int64) -> Int64 {
        assert(
            terms.isEmpty || (1..<1 << EligibilityKey.placeBits.count).contains(place),
            "terms have a place")
        return terms.isEmpty ? bits : bits | place << Int64(EligibilityKey.placeBits.lowerBound)
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
