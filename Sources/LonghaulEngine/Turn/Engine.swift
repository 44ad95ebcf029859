package import LonghaulCore
package import LonghaulStore

/// The engine: turns inputs into one commit and then its effects. Owned by one thread, which calls
/// ``turn(_:now:)``; knows no threads, waits for nothing but the store, and is deterministic given
/// its inputs, clock values and seed.
///
/// Mutable state: `active`, the fetches in memory, is touched by turns only. `unwritten` holds what
/// a failed commit left: it is tried again, as it was, before anything else.
package final class Engine {
    let store: Store
    let epoch: Epoch
    let files: any FilePort
    let wire: any WirePort
    var policy: SchedulerPolicy
    let scope: EngineScope
    let time: LocalTime
    var random: SeededGenerator

    var active: [FetchID: ActiveFetch] = [:]
    /// No machine of `active` wants to be asked before: what every turn would look for in all of
    /// them. It may have been put off since.
    var soonestTick: Instant?
    var sites: [String: OriginSite] = [:]
    /// As the looks into the queue have found them.
    var cooling = CoolingOrigins()
    /// When to look for what was made ready and does not go out; `nil` = nothing is ready ahead.
    var surplusLookAt: Instant?
    var unwritten = Unwritten()
    /// Part files that may be open, but for those of ``SchedulerLimits/running``.
    package var partFilesMax = Limits.openPartFiles
    /// With those.
    package var partFilesCap = Int.max
    /// By the device numbers of the file systems.
    var finishing: [UInt64: FinalizeBatch] = [:]
    var needsLook = true
    /// The last look took all that one may, and left some.
    var isBehind = false
    /// Something changed who may start: plan at once.
    var needsPlan = true
    /// Origins with a place that became free since the last plan.
    var roomAt: [OriginSite] = []
    /// No new starts: everything is on its way out.
    var isLeaving = false
    var counters = EngineCounters()
    /// From the store, as of the last look: when something falls due there.
    var nextDue: Timestamp?
    var nextSerial: Int64 = 1
    /// Whether the last plan left candidates behind that a free place would let start.
    var hasBacklog = false
    /// Those of which a crash may have left a part file that nobody has recorded, and since when.
    var leftUnrecorded: [TransferID: Timestamp] = [:]
    /// From the store: when the next transfer may start by the clock.
    var nextReady: Timestamp?
    /// The same, leaving out those that look for room on a disk.
    var nextReadyBesidesStorage: Timestamp?
    /// When an origin that somebody waits for is done cooling down.
    var coolDownEnds: Timestamp?
    /// Somebody has found a disk full; until then each looks before it asks for anything.
    var spaceIsShortUntil: Instant?
    var commitRetryAt: Instant?
    /// Why; `nil` = the last commit went well.
    var commitError: LonghaulError?
    var commitFailures = 0
    /// Where the last looks into the queue ended: that for discretionary eligibilities, and the
    /// other.
    var looksAfter: [Bool: ReadyPlace] = [:]
    var looks = 0
    /// Tells a clock that was set from one of another boot; `nil` = nobody can tell.
    package var bootID: String?
    var conditions = Conditions()
    /// Which of them are looked at: what is not says nothing.
    var watching: ConditionNeeds
    /// `why` shows what this engine goes by.
    var mustPublishView: Bool
    var networkSettlesAt: Instant?
    var gates = ScheduleTriggers()
    /// `nil` = nobody reads it.
    package var journal: EngineJournal?
    /// What is on its way by the look of requests: those that may be equal to a newcomer's.
    var sharing = CoalescingIndex()
    /// The time that this engine was given, and when it is over.
    var box: (seconds: Double, ends: Instant, unresumable: UnresumablePolicy)?

    let hostPort: any HostPort
    var hosts = HostKeeper()

    package init(
        store: Store, epoch: Epoch, files: any FilePort, wire: any WirePort,
        hosts: any HostPort = NoHosts(),
        policy: SchedulerPolicy = SchedulerPolicy(), scope: EngineScope = EngineScope(),
        time: LocalTime = .utc, watching: ConditionNeeds = .all, seed: UInt64
    ) {
        self.store = store
        self.epoch = epoch
        self.files = files
        self.wire = wire
        hostPort = hosts
        self.policy = policy
        self.scope = scope
        self.watching = watching
        self.time = time
        // Housekeeping looks at no conditions.
        mustPublishView = !scope.startsNothing
        random = SeededGenerator(seed: seed)
    }

    /// Says how long there is: what fits goes first.
    package func limitTime(
        to seconds: Double, from start: Instant, unresumable: UnresumablePolicy = .wait
    ) {
        box = (seconds, start + seconds, unresumable)
    }
}

/// What this engine may start.
package struct EngineScope: Sendable {
    /// Only discretionary (`true`) or only immediate (`false`) transfers.
    package var onlyDiscretionary: Bool?
    /// Fold what clients want into the store, and start nothing.
    package var startsNothing = false

    package init() {}
}

package struct EngineCounters: Hashable, Sendable {
    package var completed = 0
    package var failed = 0
    /// Body bytes received by fetches that have left; those of active ones come on top.
    package var bytesOfGone: Int64 = 0
}

/// What is still to be committed, and what follows once it is.
struct Unwritten {
    var writes: [StoreWrite] = []
    var effects: [(FetchID, FetchEffect)] = []
    var orders: [FileOrder] = []
    var durable = false

    var isEmpty: Bool { writes.isEmpty && effects.isEmpty && orders.isEmpty }

    mutating func append(_ step: FetchStep, of fetch: FetchID) {
        writes += step.writes
        for effect in step.effects { effects.append((fetch, effect)) }
        durable = durable || step.durable
    }
}

/// Group commit: while one batch is on the disk, the next one gathers. A reference: an outcome
/// takes one out of the hundreds of a batch.
final class FinalizeBatch {
    var toSecure: [(FetchID, Int64)] = []
    var securing: Set<FetchID> = []
    var toPublish: [(FetchID, PublicationOrder)] = []
    var publishing: Set<FetchID> = []

    var isEmpty: Bool {
        toSecure.isEmpty && securing.isEmpty && toPublish.isEmpty && publishing.isEmpty
    }
}
