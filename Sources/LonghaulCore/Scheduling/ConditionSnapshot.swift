package import LonghaulModel

/// The machine's conditions and its clock, for one plan.
package struct ConditionSnapshot: Sendable {
    package var conditions: Conditions
    package var time: LocalTime
    /// The network has just changed: transfers that need it start at this moment or later.
    package var networkSettlesAt: Timestamp?

    package init(
        conditions: Conditions = Conditions(), time: LocalTime = .utc,
        networkSettlesAt: Timestamp? = nil
    ) {
        self.conditions = conditions
        self.time = time
        self.networkSettlesAt = networkSettlesAt
    }
}

/// The gate tells whether the transfers of one eligibility may run.
package struct Gate: Hashable, Sendable {
    /// The conditions that do not hold; empty = the transfers may run.
    package var reasons: [WaitReason] = []
    /// When the clock alone changes that: an edge of the window, the end of the network's settling.
    package var changesAt: Timestamp?

    package var isOpen: Bool { reasons.isEmpty }

    /// The gate of what any of several eligibilities lets run: one that is open, else the one that
    /// opens first.
    package static func ofAny(_ gates: [Gate]) -> Gate {
        gates.first(where: \.isOpen)
            ?? gates.min { ($0.changesAt ?? .distantFuture) < ($1.changesAt ?? .distantFuture) }
            ?? Gate()
    }
}

extension EligibilityKey {
    /// The gate of this eligibility.
    ///
    /// - Parameter isRunning: The transfer is already on the network, which need not settle for it.
    package func gate(
        in snapshot: ConditionSnapshot, now: Timestamp, isRunning: Bool = false
    ) -> Gate {
        var gate = Gate()
        if waitsForTransfers { gate.reasons.append(.unendedTransfers) }
        if let windows {
            let phase = windows.phase(at: now, snapshot.time)
            gate.changesAt = phase.until
            if !phase.isOpen {
                gate.reasons.append(
                    WaitReason(
                        .window, required: windows.description,
                        current: snapshot.time.inZone(windows.timeZone).clock(now),
                        since: phase.since,
                        nextCheck: phase.until))
            }
        }
        let (required, preferred) = conditionNeeds
        let check = ConditionCheck(conditions: snapshot.conditions)
        gate.reasons += check.unmet(required, strict: true)
        if usesNetwork, !required.network,
            !gate.reasons.contains(where: { $0.reason == .network }),
            let reason = check.network(strict: false, isRequired: true)
        {
            gate.reasons.append(reason)
        }
        let missing = Set(gate.reasons.map(\.reason))
        gate.reasons += check.unmet(preferred, strict: false).filter {
            !missing.contains($0.reason)
        }
        if usesNetwork, !isRunning, let settles = snapshot.networkSettlesAt, now < settles,
            !gate.reasons.contains(where: { $0.reason == .network })
        {
            gate.changesAt = min(gate.changesAt ?? settles, settles)
            gate.reasons.append(
                WaitReason(
                    .network, required: WaitReason.settledNetwork,
                    current: "one that has just changed",
                    since: snapshot.conditions.network.since, nextCheck: settles))
        }
        return gate
    }
}

extension WaitReason {
    /// The reason of an eligibility whose transfers wait for others. Only each transfer knows its
    /// own.
    static let unendedTransfers = WaitReason(.transfers, required: "ended")
}

/// Compares needs with conditions. Strictly, an unknown condition does not hold.
struct ConditionCheck {
    let conditions: Conditions

    func unmet(_ needs: ConditionNeeds, strict: Bool) -> [WaitReason] {
        let power = unmet(.power, "external", in: .power, strict) { $0 == "external" }
        let idle = unmet(.idle, "idle", in: .idle, strict, else: "in use") { $0 == "yes" }
        let saver = unmet(.saver, "no power saving", in: .saver, strict, else: "power saving") {
            $0 == "off"
        }
        return [
            needs.power ? power : nil, needs.battery.flatMap { battery($0, strict) },
            network(needs, strict: strict), mounted(needs.mounts, strict),
            needs.idle ? idle : nil, needs.fullPower ? saver : nil,
        ].compactMap { $0 }
    }

    /// The reason of a condition that does not hold.
    ///
    /// - Parameter current: The value in words; `nil`: its own text.
    private func unmet(
        _ reason: WaitReason.Reason, _ required: String, in kind: ConditionKind, _ strict: Bool,
        else current: String? = nil, _ holds: (String) -> Bool
    ) -> WaitReason? {
        let reading = conditions[kind]
        if reading.value.map(holds) ?? !strict { return nil }
        return self.reason(
            reason, required, reading.value.map { current ?? $0 }, reading.since, strict)
    }

    func network(strict: Bool, isRequired: Bool) -> WaitReason? {
        let network = conditions.network
        guard network.value.map({ $0 == .offline }) ?? strict else { return nil }
        return reason(
            .network, WaitReason.presentNetwork, network.value?.rawValue, network.since,
            isRequired)
    }

    /// The missing part of the network: a network at all, or that it is unmetered.
    private func network(_ needs: ConditionNeeds, strict: Bool) -> WaitReason? {
        let network = conditions.network
        // A missing network is no metered one for a preference: the need of a network is another
        // need.
        if needs.unmetered, strict ? network.value != .unmetered : network.value == .metered {
            let kind: WaitReason.Reason = network.value == .metered ? .unmetered : .network
            return reason(
                kind, WaitReason.unmeteredNetwork, network.value?.rawValue, network.since, strict)
        }
        let missing = needs.network ? self.network(strict: strict, isRequired: strict) : nil
        return missing ?? named(needs, strict)
    }

    private func named(_ needs: ConditionNeeds, _ strict: Bool) -> WaitReason? {
        if needs.networks.isEmpty { return nil }
        let network = conditions.network
        let isOffline = network.value == .offline
        let isOne = isOffline ? false : network.names?.isOne(of: needs.networks)
        guard !(isOne ?? !strict) else { return nil }
        let isUnnamed = network.names?.given != nil && network.names?.all.isEmpty == true
        let current = isOffline ? "offline" : isUnnamed ? WaitReason.unnamedNetwork : network.name
        return reason(.network, needs.networkText, current, network.since, strict)
    }

    /// The file systems that are missing.
    private func mounted(_ names: Set<String>, _ strict: Bool) -> WaitReason? {
        let mounted = conditions.mounted
        let missing = names.filter { !(mounted.value?.isMounted($0) ?? !strict) }
        if missing.isEmpty { return nil }
        let isKnown = missing.contains { mounted.value?.isMounted($0) == false }
        return reason(
            .mounted, missing.sorted().joined(separator: ","), isKnown ? "not mounted" : nil,
            mounted.since, strict)
    }

    private func battery(_ percent: Int, _ strict: Bool) -> WaitReason? {
        if conditions.power.value == .external { return nil }
        let charge = conditions.battery
        guard charge.value.map({ $0 < percent }) ?? strict else { return nil }
        return reason(
            .battery, "at least \(percent) % or external power",
            charge.value.map { "\($0) %" }, charge.since, strict)
    }

    private func reason(
        _ reason: WaitReason.Reason, _ required: String, _ current: String?, _ since: Timestamp?,
        _ strict: Bool
    ) -> WaitReason {
        WaitReason(
            reason, required: strict ? required : required + WaitReason.preferredMark,
            current: current ?? "unknown", since: since)
    }
}
