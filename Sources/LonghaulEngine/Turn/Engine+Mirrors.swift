internal import LonghaulCore
internal import LonghaulStore

/// The origins that a fetch may ask.
struct FetchSources {
    let own: OriginSite
    let ownURL: String
    /// By URL.
    let mirrors: [String: OriginSite]

    var names: [String] { [own.name] + mirrors.values.map(\.name) }

    func site(of url: String) -> OriginSite { mirrors[url] ?? own }

    /// URLs at which nothing is begun now, as the scheduler sees it.
    func resting(at now: Timestamp) -> Set<String> {
        if mirrors.isEmpty { return [] }
        var all = mirrors
        all[ownURL] = own
        return Set(all.filter { $0.value.isLeftAlone(at: now) }.keys)
    }
}

extension OriginSite {
    /// It cools down, or one transfer is trying whether it has.
    fileprivate func isLeftAlone(at now: Timestamp) -> Bool {
        switch known.health(at: now) {
        case .well: false
        case .cooling: true
        case .probing: held.connections > 0
        }
    }
}

/// A transfer with mirrors is held back by its own origin only where none of them is better off.
extension Engine {
    /// Where those of the head may begin whose own origin is left alone. The others are not looked
    /// up: what their mirrors are is read from their options.
    func mirrorOrigins(
        of rows: [ReadyRow], _ tx: borrowing EngineTransaction,
        _ states: inout [OriginID: OriginState], now: Moment
    ) throws -> [TransferID: [OriginID]] {
        var found: [TransferID: [OriginID]] = [:]
        for row in rows where row.eligibility.hasMirrors {
            if site(row.origin).known.health(at: now.wall) == .well { continue }
            let mirrors = try tx.mirrors(of: row.id)
            try meet(mirrors, tx)
            for name in mirrors.compactMap(Engine.originName) {
                let origin = OriginID(rawValue: name)
                found[row.id, default: []].append(origin)
                if states[origin] == nil { states[origin] = site(name).state(now: now) }
            }
        }
        return found
    }

    /// What the store knows of them is known from now on.
    func meet(_ mirrors: [String], _ tx: borrowing EngineTransaction) throws {
        for name in mirrors.compactMap(Engine.originName) {
            let site = site(name)
            if site.memory == nil { site.memory = try tx.origin(name) }
        }
    }

    func sources(of work: TransferWork) -> FetchSources {
        var mirrors: [String: OriginSite] = [:]
        for url in work.request.options.mirrors {
            // What is not known must not be taken for all that is known.
            if let name = Engine.originName(of: url), site(name).memory != nil {
                mirrors[url] = site(name)
            }
        }
        return FetchSources(own: site(work.origin), ownURL: work.request.url, mirrors: mirrors)
    }

    private static func originName(of url: String) -> String? { (try? URLParts(url))?.origin }
}
