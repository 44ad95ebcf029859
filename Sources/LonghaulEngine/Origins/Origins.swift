internal import LonghaulCore
internal import LonghaulStore

/// Origins kept in memory; the store keeps them all.
private let originsInMemory = 1024

/// The engine's memory of origins: health, rate, free places. A reference: fetches, plans and
/// intents read it, and a copy of its tables for each of them would cost more than the decision.
final class Origins {
    private var sites: [String: OriginSite] = [:]
    /// Cooling origins, as the reads of the queue have found them.
    private(set) var cooling = CoolingOrigins()
    /// Origins with a place that became free since the last plan.
    private(set) var freed: [OriginSite] = []
    /// Some have refused credentials: each start is checked from then on.
    var haveRefused = false

    var all: Dictionary<String, OriginSite>.Values { sites.values }

    func site(_ name: String) -> OriginSite {
        if let site = sites[name] { return site }
        let site = OriginSite(name: name)
        sites[name] = site
        return site
    }

    /// Memory of an origin; `nil` = it is not loaded.
    func memory(of name: String) -> OriginMemory? { sites[name]?.memory }

    /// Called before a plan and not within one: a plan relies on the sites that it has loaded.
    func evictUnused(besides inUse: () -> Set<String>) {
        if sites.count < originsInMemory { return }
        let names = inUse()
        sites = sites.filter { names.contains($0.key) }
    }

    // MARK: - Free places

    func markFreed(_ site: OriginSite) {
        if site.isFreed { return }
        site.isFreed = true
        freed.append(site)
    }

    /// A plan has seen all of them.
    func clearFreed() {
        for site in freed { site.isFreed = false }
        freed = []
    }

    // MARK: - Lessons

    /// Applies lessons about an origin, which count at once for all its fetches. The write of a
    /// lesson becomes a write of the whole memory.
    func fold(_ step: inout FetchStep, using random: inout SeededGenerator, now: Moment) {
        for index in step.writes.indices {
            switch step.writes[index] {
            case .learn(let name, let lesson):
                step.writes[index] = .saveOrigin(update(name, now: now) { $0.learn(lesson) })
            case .originFailed(let name, let failure, let gained):
                var own = SeededGenerator(seed: random.next())
                let memory = update(name, now: now) {
                    $0.afterFailure(failure, gained: gained, now: now.wall, using: &own)
                }
                step.writes[index] = .saveOrigin(memory)
            case .originWorked(let name, let rate, let http2):
                let memory = update(name, now: now) {
                    $0.worked(at: rate, http2: http2, now: now.wall)
                }
                step.writes[index] = .saveOrigin(memory)
                markFreed(site(name))
            case .save, .queued, .lastError, .completed, .skipped, .failed, .needsInput, .cancelled,
                .restarted, .attempt, .abandonUpload, .dropFetch, .give, .leave, .discard, .orphan,
                .forget, .saveOrigin:
                break
            }
        }
    }

    /// The next transfer of the origin waits where the server's rate limit is nearly used up.
    func pace(_ site: OriginSite, by head: ResponseHead, _ step: inout FetchStep, now: Moment) {
        let pause = head.headers.rateLimitPause
        guard pause > 0, Origins.name(of: head.effectiveURL) == site.name else { return }
        let memory = update(site.name, now: now) { $0.pause(for: pause, now: now.wall) }
        step.writes.append(.saveOrigin(memory))
    }

    /// Changes an origin's memory, and returns it to be saved.
    func update(
        _ name: String, now: Moment, _ change: (inout OriginMemory) -> Void
    ) -> OriginMemory {
        let site = site(name)
        var memory = site.known
        let mayCool = site.memory == nil || memory.health(at: now.wall) != .well
        change(&memory)
        precondition(memory.origin == name, "a memory stays that of its origin")
        site.memory = memory
        if mayCool || memory.health(at: now.wall) != .well { recordHealth(site, memory, now: now) }
        return memory
    }

    private func recordHealth(_ site: OriginSite, _ memory: OriginMemory, now: Moment) {
        guard let id = site.id else { return cooling.forgetAll() }
        if case .cooling(let until) = memory.health(at: now.wall) {
            cooling.record(id, until: until)
        } else {
            cooling.forget(id)
        }
    }

    // MARK: - Cool-downs

    /// Cooling origins that a read of the queue has found.
    func setCooling(_ found: CoolingOrigins) { cooling = found }

    /// Clients want transfers of these origins to resume now. Returns whether there are any.
    func hasten(_ names: Set<String>, now: Moment) -> Bool {
        for name in names.sorted() {
            _ = update(name, now: now) { $0.endPause(at: now.wall) }
            site(name).refused.forget()
        }
        return !names.isEmpty
    }

    func forgetCooling() { cooling.forgetAll() }

    /// Cool-downs end with the network over which they came to be.
    func endCoolDowns(at moment: Timestamp) {
        for site in sites.values { site.memory?.endCoolDown(at: moment) }
        cooling.forgetAll()
    }

    /// Corrects cool-downs after the clock was set back.
    func resumePauses(at now: Timestamp) {
        for site in sites.values { site.memory?.resumePause(at: now) }
    }

    // MARK: - Mirrors

    /// Reads origins from the store that are not in memory.
    func load(_ urls: [String], read: (String) throws -> OriginMemory) rethrows {
        for name in urls.compactMap(Origins.name) {
            let site = site(name)
            if site.memory == nil { site.memory = try read(name) }
        }
    }

    func sources(of work: TransferWork) -> FetchSources {
        var mirrors: [String: OriginSite] = [:]
        for url in work.request.options.mirrors {
            // An origin whose memory was not read would look like one that is well.
            if let name = Origins.name(of: url), site(name).memory != nil {
                mirrors[url] = site(name)
            }
        }
        return FetchSources(own: site(work.origin), ownURL: work.request.url, mirrors: mirrors)
    }

    static func name(of url: String) -> String? { (try? URLParts(url))?.origin }
}
