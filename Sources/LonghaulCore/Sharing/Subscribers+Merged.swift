package import LonghaulModel

/// Settings of the fetch, merged from all its subscribers: always the least strict.
extension Subscribers {
    /// Subscribers whose settings count; all of them if none wants to run.
    private var heeded: [Subscriber] {
        if followers.isEmpty { return [leader] }
        let wanted = wanted
        return wanted.isEmpty ? [leader] : wanted
    }

    /// The leader's request with the freest limits of all: one that was alone has exactly its own.
    package var request: TransferRequest {
        let heeded = heeded
        var request = leader.request
        if heeded.count == 1, heeded[0].id == leader.id { return request }
        let requests = heeded.map(\.request)
        for field in RequestField.merged { field.merge?(requests, &request) }
        request.options.yields = requests.allSatisfy { $0.options.yields ?? $0.isDiscretionary }
        return request
    }

    /// The last of their deadlines. One with an earlier deadline fails alone when it comes.
    package var deadline: Timestamp { heeded.map(\.deadline).max() ?? leader.deadline }

    /// Where the first of the programs begins that read the bytes as they come.
    package var readFrom: Int64? {
        followers.isEmpty ? leader.readFrom : all.compactMap(\.readFrom).min()
    }

    /// Any of these lets it run now; never empty. A transfer that is not to begin yet comes along,
    /// and lets nothing run.
    package func eligibilities(at now: Timestamp = .distantFuture) -> [EligibilityKey] {
        if followers.isEmpty { return [leader.eligibility] }
        let timely = heeded.filter { $0.mayBegin(at: now) }
        var eligibilities: [EligibilityKey] = []
        for subscriber in timely.isEmpty ? heeded : timely
        where !eligibilities.contains(subscriber.eligibility) {
            eligibilities.append(subscriber.eligibility)
        }
        return eligibilities
    }

    /// The conditions of every eligibility that may let it run. A condition that is not watched
    /// would be unknown, and close its eligibility again.
    package var interest: ConditionNeeds {
        eligibilities().reduce(ConditionNeeds()) { $0.union($1.interest) }
    }

    /// Class of the running fetch: not discretionary, if one subscriber is not.
    package var eligibility: EligibilityKey {
        let eligibilities = eligibilities()
        return eligibilities.first { !$0.isDiscretionary } ?? eligibilities[0]
    }

    /// The time of at least one subscriber has come. A fetch runs for the first of them; the others
    /// come along.
    package func isTimely(now: Timestamp) -> Bool { heeded.contains { $0.mayBegin(at: now) } }

    /// The gate of the eligibility that is open, else of the one that opens first.
    package func gate(
        in snapshot: ConditionSnapshot, now: Timestamp, isRunning: Bool = false
    ) -> Gate {
        Gate.ofAny(
            eligibilities(at: now).map {
                $0.gate(in: snapshot, now: now, isRunning: isRunning)
            })
    }
}

extension Subscriber {
    fileprivate func mayBegin(at now: Timestamp) -> Bool { request.earliestBegin ?? now <= now }
}
