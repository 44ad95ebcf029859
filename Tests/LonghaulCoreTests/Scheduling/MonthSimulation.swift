import LonghaulCore
import LonghaulTestValues

/// A month of a machine: power, network and users come and go, the clock is set and changes to
/// summer time, the engine crashes and is away. Transfers of all kinds are asked for. The policy
/// alone decides; what it sees is kept as an engine keeps it, and what a crash would take is lost.
struct MonthSimulation {
    /// A class, because copies of requests are what such a simulation would mostly do.
    final class Item {
        let id: TransferID
        let request: TransferRequest
        let origin: OriginID
        let usesNetwork: Bool
        let begin: Timestamp
        let deadline: Timestamp
        let bytes: Int64
        var done: Double = 0
        var eligibility: EligibilityKey
        var waiver: PreferenceExpiry?
        var isRunning = false
        var overdueSince: Timestamp?
        var end: End?
        /// Monotonic seconds in which nothing but preferences held it, from when it was last
        /// moment.
        var chances = 0.0
        var sawJump = false
        /// Monotonic; since when nothing holds it but its turn.
        var openSince: Double?

        enum End { case completed, expired }

        init(
            id: TransferID, request: TransferRequest, origin: OriginID, usesNetwork: Bool,
            begin: Timestamp, deadline: Timestamp, bytes: Int64
        ) {
            self.id = id
            self.request = request
            self.origin = origin
            self.usesNetwork = usesNetwork
            self.begin = begin
            self.deadline = deadline
            self.bytes = bytes
            eligibility =
                EligibilityKey(
                    request.schedule, isDiscretionary: request.isDiscretionary,
                    usesNetwork: usesNetwork
                ).eligibility
            if eligibility.hasPreferences {
                waiver = PreferenceExpiry(
                    begin: begin, after: 86_400, deadline: deadline, bytes: request.expectedBytes)
            }
        }
    }

    let seed: UInt64
    var random: SeededRandom
    var policy = SchedulerPolicy()
    /// Those that have not ended, and those that have.
    var items: [Item] = []
    var ended: [Item] = []
    var conditions = Conditions()
    /// Seconds since the beginning, on a clock that nobody sets.
    var monotonic = 0.0
    /// What the wall clock is wrong by.
    var skew = 0.0
    var settlesAt: Double?
    /// The engine is away until then.
    var awayUntil: Double?
    var measured: Set<OriginID> = []
    var complaints: [String] = []
    var stops = 0
    var jumps = 0
    var crashes = 0
    var waived = 0
    var checkedDeadlines = 0
    var longestTurn = 0.0

    static let start = Month.start
    static let length = Month.length
    static let rates = Month.rates

    let time = Month.time

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
        changeConditions()
        for id in 1...240 { items.append(item(Int64(id))) }
    }

    var now: Timestamp { MonthSimulation.start + (monotonic + skew) }

    func chance(_ part: Double, _ random: inout SeededRandom) -> Bool {
        Month.chance(part, &random)
    }

    private mutating func item(_ id: Int64) -> Item {
        let plan = Month.plan(&random)
        return Item(
            id: TransferID(rawValue: id), request: plan.request, origin: plan.origin,
            usesNetwork: plan.usesNetwork, begin: plan.begin, deadline: plan.deadline,
            bytes: plan.bytes)
    }

    // MARK: - The world

    private mutating func changeConditions() {
        let old = conditions
        Month.change(&conditions, at: now, &random)
        let network = conditions.network.value
        if let before = old.network.value, let network, network != before, network != .offline {
            settlesAt = monotonic + Limits.networkSettleSeconds
        }
    }

    /// One thing happens to the machine.
    mutating func disturb() {
        switch Int.random(in: 0..<200, using: &random) {
        case 0:
            skew += Double.random(in: -7200...7200, using: &random)
            jumps += 1
            for item in items where item.begin < now + 7200 { item.sawJump = true }
        case 1, 2:
            crashes += 1
            for index in items.indices {
                items[index].isRunning = false
                items[index].overdueSince = nil
            }
            settlesAt = nil
            awayUntil = monotonic + Double.random(in: 1...5400, using: &random)
        default: changeConditions()
        }
    }

    /// Time passes, and bytes with it.
    mutating func pass(_ seconds: Double) {
        for index in items.indices where items[index].end == nil {
            let item = items[index]
            if item.isRunning { items[index].done += seconds * (Self.rates[item.origin] ?? 0) }
            if awayUntil == nil, mayRun(item, ignoringPreferences: true), isLastMoment(item) {
                items[index].chances += seconds
            }
        }
        monotonic += seconds
        if let until = awayUntil, monotonic >= until { awayUntil = nil }
    }

    /// Whether its preferences do not count any more, by a rule of thumb that is not the policy's.
    private func isLastMoment(_ item: Item) -> Bool {
        let seconds = Double(item.bytes) / (Self.rates[item.origin] ?? 1)
        return now >= item.begin && item.deadline - now < seconds * 1.5 + 200
    }
}
