import Longhaul
import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// A bundle, as its people and its server know it.
struct SimBundle {
    struct File {
        var path: String
        var url: String
        /// As the list says, which may be wrong.
        var size: Int64?
        var digest: Checksum?
    }

    let name: String
    /// URL of the list.
    let list: String
    let isOfSums: Bool
    let directory: String
    let layout: BundleLayoutKind
    var settings: BundleSettings
    /// What the list says now.
    var files: [File] = []
    /// What each version said, by name.
    var versions: [String: [File]] = [:]
    /// Being removed: with its files, or without.
    var removal: Bool?

    // MARK: As of the last look

    var isThere = false
    var ready: (name: String, at: Timestamp?)?
    var lastEvent: Int64 = 0
    /// The version of the last event.
    var announced: String?
    /// Somebody has changed files of the bundle, or they were found damaged.
    var isDisturbed = false
    /// When a path was last disturbed.
    var disturbed: [String: Instant] = [:]
    /// It was removed before, without its files.
    var hasKeptFiles = false
}

/// What a life with bundles has besides its world: the queues of the processes that work on them.
/// One of them is the engine's process, and dies with it.
final class SimBundles {
    unowned let world: SimWorld
    /// As the thread of the engine's process does it.
    private var steps: BundleSteps
    private var engine: TransferQueue
    /// Of another process.
    private(set) var client: Bundles
    var all: [SimBundle] = []
    /// What the life had before its peace.
    let drawn: SimTrouble
    /// Effects until a client dies; `nil` = it lives on.
    var clientFuse: Int?
    var nextLook = Instant(nanoseconds: 0)
    private var seen: Int64 = -1
    private var isRunning = false
    /// Idle since the last call of ``SimWorld/settleBundles(_:)``.
    var settled: Set<String> = []

    init(_ world: SimWorld) throws {
        self.world = world
        drawn = world.trouble
        (engine, client) = try Self.open(world)
        steps = BundleSteps(engine, seed: world.seed)
        watch()
    }

    private static func open(_ world: SimWorld) throws -> (TransferQueue, Bundles) {
        let directory = world.directory + "/state"
        defer { Machine.simulate(nil, in: directory) }
        func queue(
            _ mayAct: @escaping () -> Bool, _ pause: @escaping () -> Void
        ) throws -> TransferQueue {
            var machine = Machine(
                bootID: SimWorld.boot, now: { [unowned world] in world.now },
                obstacle: { _ in nil })
            machine.files = SimPlaces(world.disk, mayAct: mayAct, pause: pause)
            Machine.simulate(machine, in: directory)
            return try TransferQueue(directory: directory)
        }
        return (
            try queue({ [unowned world] in world.burn() }) { [unowned world] in
                world.bundles?.othersAct()
            },
            Bundles(try queue({ [unowned world] in world.bundles?.burnClient() ?? true }) {})
        )
    }

    private func watch() {
        engine.store.probe = BundleProbe(world: world)
        client.queue.store.probe = BundleClientProbe(world: world)
    }

    func disconnect() {
        engine.store.probe = nil
        client.queue.store.probe = nil
        try? engine.store.close()
        try? client.queue.store.close()
    }

    func connect() throws {
        (engine, client) = try Self.open(world)
        seen = -1
        watch()
    }

    func close() { disconnect() }

    func engineStarts() {
        steps = BundleSteps(engine, seed: world.random.next())
        nextLook = world.now.monotonic
    }

    // MARK: - The engine's process

    /// The thread looks when somebody has changed the store, and at the moment that it chose.
    func run() throws {
        let found = try engine.store.dataVersion()
        if found == seen, world.now.monotonic < nextLook { return }
        seen = found
        isRunning = true
        defer { isRunning = false }
        do {
            let next = try steps.run()
            let pause = next.map { max(0.1, $0 - world.now.wall) } ?? .infinity
            nextLook = world.now.monotonic + min(pause, SimWorld.lookSeconds)
        } catch {
            if world.isDead { return }
            guard error.code == .storeUnavailable else {
                throw SimComplaint("the steps throw \(error)", world)
            }
            world.say("the steps: \(error)")
            nextLook = world.now.monotonic + 5
        }
    }

    /// While the thread looks at files, the engine's own thread and clients go on.
    fileprivate func othersAct() {
        guard isRunning, !world.isDead, world.random.happens(world.trouble.hint / 8) else { return }
        isRunning = false
        defer { isRunning = true }
        do {
            world.disk.step()
            if world.isTurnDue, !world.isDead { try world.turn() }
            try world.bundleClientsAct()
        } catch {
            world.complain("\(error)")
        }
    }

    // MARK: - Clients

    fileprivate func burnClient() -> Bool {
        guard let fuse = clientFuse else { return true }
        clientFuse = max(0, fuse - 1)
        return fuse > 0
    }
}

private struct BundleProbe: CommitProbe {
    unowned let world: SimWorld

    func willCommit() throws {
        if !world.burn() { throw SimCrash() }
        if world.random.happens(world.trouble.store) {
            world.tally.storeFaults += 1
            throw LonghaulError(.storeUnavailable, "simulated: the disk is full", retryable: true)
        }
    }

    func didCommit(_ durability: Durability) {
        ClientProbe(world: world).didCommit(durability)
        if !world.random.happens(world.trouble.hint) { world.inputs.append(.wake) }
    }
}

private struct BundleClientProbe: CommitProbe {
    unowned let world: SimWorld

    func willCommit() throws {
        if world.bundles?.burnClient() == false { throw SimCrash() }
    }

    func didCommit(_ durability: Durability) {
        ClientProbe(world: world).didCommit(durability)
    }
}
