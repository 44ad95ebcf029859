internal import LonghaulCore

/// An origin as this engine knows it. A reference, because every event of every fetch reads it.
final class OriginSite {
    let name: String
    /// The row of the origin in the store; `nil` = no plan has read it yet.
    var id: Int64?
    /// `nil` = not read from the store yet.
    var memory: OriginMemory?
    /// The origin has answered since this engine began.
    var hasAnswered = false
    /// The connections and requests that active fetches hold there, counted with each change.
    private(set) var held = HeldAtOrigin()
    /// The recent rate of ended transfers.
    var pace = PrefetchRate()
    /// Credentials that it has refused.
    var refused = RefusedCredentials()
    /// Tells whether the site is in ``Origins/freed``.
    var isFreed = false

    init(name: String) {
        self.name = name
    }

    var known: OriginMemory { memory ?? OriginMemory(origin: name) }

    /// The state as the scheduler sees it. `prefetched`: see ``OriginState/prefetched``.
    func state(prefetched: Int = 0, now: Moment) -> OriginState {
        OriginState(known, hasAnswered: hasAnswered, prefetched: prefetched, now: now.wall)
    }

    /// Replaces one fetch's use of the origin: `after` instead of `before`.
    func recount(from before: HeldAtOrigin, to after: HeldAtOrigin) {
        held.connections += after.connections - before.connections
        held.places += after.places - before.places
        precondition(held.connections >= 0 && held.places >= 0, "a fetch gives back what it held")
    }

    /// The origin cools down, or one transfer already tests whether it answers again.
    func isAvoided(at now: Timestamp) -> Bool {
        switch known.health(at: now) {
        case .well: false
        case .cooling: true
        case .probing: held.connections > 0
        }
    }
}

/// The use that fetches make of an origin.
struct HeldAtOrigin: Hashable {
    var connections = 0
    /// Transfers that count against the scheduler's limits.
    var places = 0
}

/// The origins that a fetch may ask.
struct FetchSources {
    let own: OriginSite
    let ownURL: String
    /// Sites of mirrors by URL.
    let mirrors: [String: OriginSite]

    var names: [String] { [own.name] + mirrors.values.map(\.name) }

    func site(of url: String) -> OriginSite { mirrors[url] ?? own }

    /// URLs that are avoided now, by the scheduler's rules.
    func resting(at now: Timestamp) -> Set<String> {
        if mirrors.isEmpty { return [] }
        var all = mirrors
        all[ownURL] = own
        return Set(all.filter { $0.value.isAvoided(at: now) }.keys)
    }
}
