/// The kinds of lives.
enum SimLife: String, CaseIterable, Sendable {
    case ordinary
    /// Programs are told what happened.
    case hosts
    /// Servers are odd, and processes read what they send as it comes.
    case servers
    /// Transfers share a fetch.
    case shared
    /// Programs are launched for background tasks.
    case tasks
    /// Files go to servers.
    case uploads
    /// Sets of files are fetched, and their lists change.
    case bundles
    /// Commands, crashes and clocks, compared with the reference model (`QueueModel`).
    case model

    /// Lives that once broke a promise; the tests live them always.
    var taught: [UInt64] {
        switch self {
        case .ordinary:
            [
                2377, 2574, 5042, 10_201, 10_341, 10_410, 10_733, 11_325, 13_824, 14_518, 14_560,
                800_184, 3_002_234, 3_006_964, 3_010_369, 7_000_272, 7_001_420,
                40_001_206,
            ]
        case .hosts: [3_002_154, 7_300_125]
        case .tasks:
            [
                5041, 210_618, 500_224, 1_001_006, 1_003_485, 1_004_653, 1_005_608, 1_006_078,
                1_006_653,
            ]
        case .servers: [1_005_997]
        case .bundles, .model: []
        case .uploads:
            [
                18, 1478, 5235, 10_642, 21_104, 1_001_849, 1_004_143, 1_008_668, 1_011_897,
                1_016_052,
            ]
        case .shared:
            [
                66, 187, 233, 271, 341, 477, 538, 558, 585, 594, 1352, 1574, 1585, 801_049, 801_442,
                900_166, 900_827, 1_000_046, 1_000_434,
                1_000_441, 3_001_776, 3_006_048, 3_006_874,
                3_009_479, 3_010_048, 3_011_595, 31_000_694, 34_000_928,
                83_001_181, 1_001_371,
            ]
        }
    }

    func live(in world: SimWorld) throws {
        switch self {
        case .ordinary, .servers, .shared, .uploads: world.isFollowed = true
        case .hosts, .tasks, .bundles, .model: break
        }
        switch self {
        case .ordinary: try world.live()
        case .hosts: try world.liveWithHosts()
        case .servers: try world.liveWithOddServers()
        case .shared: try world.liveShared()
        case .tasks: try world.liveWithTasks()
        case .uploads: try world.liveWithUploads()
        case .bundles: try world.liveWithBundles()
        case .model: try ModelRun(world).carryOut(ModelDraw.script(of: world.seed))
        }
    }

    /// What a person types to live it again.
    func command(_ seed: UInt64) -> String {
        let kind = self == .ordinary ? "" : "--\(rawValue) "
        let trouble = SimTrouble.mixture.map { "--trouble \($0) " } ?? ""
        return "scripts/sim \(kind)\(trouble)\(seed)"
    }
}

/// How one seed was lived.
struct SimOutcome: Sendable {
    var tally = SimTally()
    var hosts = SimHostTally()
    var violation: SimViolation?
}

/// A promise that was broken, and how it came to that.
struct SimViolation: Sendable {
    var life: SimLife
    var seed: UInt64
    var complaint: String
    /// The last of the same life lived once more.
    var trace: [String] = []

    var text: String { "seed \(seed): \(complaint)\n\(life.command(seed))" }
}

extension SimLife {
    func live(_ seed: UInt64) throws -> SimOutcome {
        let world = try SimWorld(seed: seed)
        defer { world.cleanUp() }
        var outcome = SimOutcome()
        do {
            try live(in: world)
        } catch {
            // An error of the store that no fault of its disk explains breaks a promise, too.
            outcome.violation = SimViolation(
                life: self, seed: seed, complaint: "\(error)", trace: try trace(seed))
        }
        outcome.tally = world.tally
        outcome.hosts = world.hosts?.tally ?? SimHostTally()
        return outcome
    }

    private func trace(_ seed: UInt64) throws -> [String] {
        if self == .model { return try ModelDraw.shrunk(seed) }
        let world = try SimWorld(seed: seed, isTracing: true)
        defer { world.cleanUp() }
        try? live(in: world)
        return world.trace
    }
}
