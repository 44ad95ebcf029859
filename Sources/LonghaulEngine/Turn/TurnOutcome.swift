package import LonghaulCore

/// Report of a turn to the thread that runs the engine.
package struct TurnOutcome: Sendable {
    /// When to come back at the latest; `nil` = only for an input.
    package var wakeAt: Instant?
    /// Nothing is on the wire or on the disk.
    package var isQuiet: Bool
    /// Nothing could start now, however many places were free.
    package var isDrained: Bool
    /// When the next waiting transfer may start by the clock: back-off, earliest begin, cool-down,
    /// window, the end of its preferences.
    package var nextReady: Timestamp?
    /// ``nextReady`` without transfers that check for room on a disk.
    package var nextReadyBesidesStorage: Timestamp?
    /// Something waits for a condition that may come to hold at any time.
    package var waitsForConditions: Bool
    /// The conditions that matter to running and waiting transfers.
    package var interest: ConditionNeeds
    /// Something runs that leaves the wire when the machine is used.
    package var runsWhileIdle: Bool
    /// The wire has enough to do: events may gather for a moment before the next turn.
    package var isWellAhead: Bool
    /// The next turn follows at once and writes: there is more to apply than this one could.
    package var isBehind: Bool
    package var hosts: HostOutlook
}

extension Engine {
    func outcome(now: Moment) -> TurnOutcome {
        let isIdle =
            fetches.isEmpty && pending.isEmpty && index.copiesUnderWay == 0 && !isAborting
            && (!intents.isDue || isLeaving)
        let triggers = schedule.triggers
        return TurnOutcome(
            wakeAt: wakeAt(now: now), isQuiet: isIdle,
            isDrained: isIdle && !schedule.hasBacklog && !schedule.needsPlan
                && origins.freed.isEmpty,
            nextReady: schedule.due.ready,
            nextReadyBesidesStorage: schedule.due.readyBesidesStorage,
            waitsForConditions: triggers.holdsBack,
            interest: triggers.interest.union(launches.interest),
            runsWhileIdle: triggers.interest.idle && fetches.runsWhileIdle,
            isWellAhead: prefetch.isWellAhead(origins, now: now),
            isBehind: intents.isBehind && intents.isDue && writer.retryAt == nil,
            hosts: launches.outlook(in: machine.conditions))
    }

    private func wakeAt(now: Moment) -> Instant? {
        var wakes = [prefetch.surplusCheckAt]
        if !fetches.isEmpty { wakes.append(fetches.soonestTick) }
        if let due = schedule.due.wake { wakes.append(now.monotonic + max(0, due - now.wall)) }
        if !schedule.scope.startsNothing {
            wakes.append(launches.wakeAt(now: now))
            if !schedule.isLeaving { wakes.append(effects.aborts.wakeAt(now: now)) }
        }
        if let retryAt = writer.retryAt {
            wakes.append(retryAt)
        } else if intents.isDue {
            // There is more than one turn applies, or a host may have changed something.
            wakes.append(now.monotonic)
        }
        return wakes.compactMap { $0 }.min()
    }
}
