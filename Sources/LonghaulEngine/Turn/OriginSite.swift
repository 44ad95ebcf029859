internal import LonghaulCore

/// An origin as this engine knows it. A reference, as every event of every fetch asks for it.
final class OriginSite {
    let name: String
    /// In the store; `nil` = no plan has met it yet.
    var id: Int64?
    /// `nil` = not asked of the store yet.
    var memory: OriginMemory?
    /// Since this engine began.
    var hasAnswered = false
    /// What `active` holds there, counted as it changes.
    var held = HeldAtOrigin()
    /// Of those whose transfers have ended lately.
    var pace = PrefetchRate()
    /// It is among ``Engine/roomAt``.
    fileprivate var hasRoom = false

    init(name: String) {
        self.name = name
    }

    var known: OriginMemory { memory ?? OriginMemory(origin: name) }

    /// As the scheduler sees it. `ahead`: see ``OriginState/ahead``.
    func state(prefetched: Int = 0, now: Moment) -> OriginState {
        OriginState(known, hasAnswered: hasAnswered, prefetched: prefetched, now: now.wall)
    }
}

struct HeldAtOrigin: Hashable {
    var connections = 0
    /// Transfers that count against the scheduler's limits.
    var places = 0
}

extension Engine {
    /// Origins kept in memory; the store knows them all.
    static let originsMax = 1024

    func site(_ name: String) -> OriginSite {
        if let site = sites[name] { return site }
        let site = OriginSite(name: name)
        sites[name] = site
        return site
    }

    /// Before a plan, and not within: what it claims goes by what it has read.
    func forgetOrigins() {
        if sites.count < Engine.originsMax { return }
        let inUse = Set(active.values.flatMap(\.sources.names))
        sites = sites.filter { inUse.contains($0.key) }
    }

    /// A place has become free there.
    func noteRoom(at site: OriginSite) {
        if site.hasRoom { return }
        site.hasRoom = true
        roomAt.append(site)
    }

    /// A plan has seen all of them.
    func forgetRoom() {
        for site in roomAt { site.hasRoom = false }
        roomAt = []
    }
}
