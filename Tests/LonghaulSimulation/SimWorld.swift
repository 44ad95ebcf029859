import CSQLite
import Foundation
import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// The simulated crash, thrown out of a commit.
struct SimCrash: Error {}

/// The real core, engine and store between a simulated network, disk, clock and machine, driven by
/// one seed. The same seed lives the same life.
final class SimWorld: @unchecked Sendable {
    let seed: UInt64
    var random: SeededGenerator
    let disk = SimDisk()
    let wire: SimWire
    let directory: String
    let snapshot: String
    /// How long the store's log was after the last durable commit.
    var durableLog: Int64 = 0
    private var durableAt = Instant(nanoseconds: 0)
    /// The engine's, and that of all other processes.
    var store: Store
    var clients: Store
    var engine: Engine
    var now: Moment
    var trouble = SimTrouble.none
    /// Local time is so far ahead of UTC; it changes in the middle of some lives.
    var time: LocalTime
    var policy = SchedulerPolicy()

    // MARK: The engine's process

    /// Effects and commits until the process dies; `nil` = it lives on.
    var fuse: Int?
    var isDead = false
    var inputs: [EngineInput] = []
    var nextTurn = Instant(nanoseconds: 0)
    /// When the engine itself asked to be woken.
    var wakesAt: Instant?
    var dataVersion: Int64 = 0
    var watched = ConditionNeeds()
    /// What the machine is like, whoever looks.
    var conditions = Conditions()
    /// A commit has failed since the last turn that went well.
    var isStoreFailing = false
    var storeFailedAt = Instant(nanoseconds: -10_000_000_000)
    var hasCommitted = true
    /// Of the engine and of clients.
    var commits = 0
    var isLeaving = false
    /// Each state is compared with the steps and the commands of the reference model: where hosts
    /// and bundles command nothing.
    var isFollowed = false
    /// A client is killed before it commits.
    var clientDies = false
    /// The network as the engine was last told, and when it has settled.
    var told: Reading<NetworkState>?
    var settlesAt: Instant?

    /// In lives with odd servers.
    var hasOddServers = false
    var readers: [TransferID: ReaderID] = [:]
    /// In lives with uploads, by URL.
    var uploads: [String: SimUpload] = [:]
    /// In lives with hosts.
    var hosts: SimHosts?
    /// In lives with bundles.
    var bundles: SimBundles?
    var hostNames = SimWorld.hostNames

    // MARK: What is expected

    var expected: [TransferID: SimTransfer] = [:]
    var ledger = SimLedger()
    /// As the store showed them last.
    var shown: [TransferID: Transfer] = [:]
    /// Transfers that were ever shown as completed.
    var completed: Set<TransferID> = []
    var complaint: SimComplaint?
    /// Since when nothing holds a transfer but its turn, and how long that ever lasted.
    var openSince: [TransferID: Instant] = [:]
    var longestTurn = 0.0
    var tally = SimTally()
    var nextLabel = 1
    var nextURL = 0

    // MARK: The trace

    let isTracing: Bool
    var trace: [String] = []
    static let traceMax = 4000

    init(seed: UInt64, isTracing: Bool = false, start: Timestamp = SimWorld.start) throws {
        self.seed = seed
        self.isTracing = isTracing || Self.isLive
        random = SeededGenerator(seed: seed)
        now = Moment(wall: start, monotonic: Instant(nanoseconds: 1_000_000_000))
        let change = start + Double.random(in: 0...7200, using: &random)
        let isForward = Bool.random(using: &random)
        time = LocalTime { ($0 < change) == isForward ? 3600 : 7200 }
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
        directory = "\(base)/longhaul-sim-\(getpid())-\(seed)-\(UInt32.random(in: 0 ... .max))"
        snapshot = directory + "/durable"
        try FileManager.default.createDirectory(
            atPath: snapshot, withIntermediateDirectories: true)
        wire = SimWire(disk: disk)
        try Self.makeStore(in: directory + "/state")
        store = try Store.open(directory: directory + "/state")
        clients = try Store.open(directory: directory + "/state")
        engine = Engine(
            store: store, epoch: Epoch(rawValue: 0), files: disk, wire: wire, seed: seed)
        disk.random = SeededGenerator(seed: random.next())
        wire.random = SeededGenerator(seed: random.next())
        disk.mayAct = { [unowned self] in burn() }
        if self.isTracing {
            disk.say = { [unowned self] in say($0()) }
            wire.trace = { [unowned self] in say($0()) }
        }
        watchWire()
        connect()
        try startEngine()
    }

    /// A copy of an empty one: to make its tables takes as long as half a life.
    private static func makeStore(in directory: String) throws {
        let files = try emptyStore.get()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        for (name, bytes) in files {
            let path = "\(directory)/\(name)"
            guard
                FileManager.default.createFile(
                    atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    private static let emptyStore = Result {
        let directory = "\(FileManager.default.temporaryDirectory.path)/longhaul-sim-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Store.open(directory: directory).close()
        try nameStore("\(directory)/queue.sqlite")
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            files[name] = FileManager.default.contents(atPath: "\(directory)/\(name)")
        }
        return files
    }

    /// When a repeating task runs depends on the number of its store: it is the same in each life.
    private static func nameStore(_ path: String) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        let sql = "UPDATE lease SET storeID = '\(String(repeating: "5", count: 32))'"
        guard sqlite3_open(path, &database) == SQLITE_OK,
            sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK
        else { throw CocoaError(.fileWriteUnknown) }
    }

    static let boot = "sim"
    static let start = Timestamp(milliseconds: 1_790_000_000_000)

    func cleanUp() {
        disk.mayAct = { true }
        bundles?.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Told as it happens: of a process that crashes nothing else is left.
    private static let isLive = ProcessInfo.processInfo.environment["LONGHAUL_SIM_LIVE"] != nil

    func say(_ text: @autoclosure () -> String) {
        guard isTracing || Self.isLive else { return }
        let seconds = Double(now.monotonic.nanoseconds) / 1e9
        let line = "\((seconds * 1000).rounded() / 1000) \(text())"
        if Self.isLive { print(line) }
        trace.append(line)
        if trace.count > Self.traceMax { trace.removeFirst(Self.traceMax / 4) }
    }

    // MARK: - Effects and commits

    /// One step towards the crash; `false` once it has come.
    func burn() -> Bool {
        if isDead { return false }
        guard let fuse else { return true }
        if fuse == 0 { isDead = true }
        self.fuse = fuse - 1
        return !isDead
    }

    private func connect() {
        store.probe = EngineProbe(world: self)
        clients.probe = ClientProbe(world: self)
        keepDurable()
    }

    fileprivate func willCommit() throws {
        if !burn() { throw SimCrash() }
        if random.happens(trouble.store) {
            isStoreFailing = true
            storeFailedAt = now.monotonic
            tally.storeFaults += 1
            throw LonghaulError(.storeUnavailable, "simulated: the disk is full", retryable: true)
        }
    }

    /// Durable commits are what a power cut leaves at the least: the log is cut off after the last.
    func keepDurable() {
        durableLog = Self.size(of: directory + "/state/queue.sqlite-wal")
        durableAt = now.monotonic
    }

    private static func size(of path: String) -> Int64 {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
    }

    /// The store without its relaxed commits since the last durable one, to be put in its place.
    private func setDurableAside() {
        copyStore(from: directory + "/state", to: snapshot)
        truncate(snapshot + "/queue.sqlite-wal", off_t(durableLog))
    }

    private func copyStore(from: String, to: String) {
        let files = FileManager.default
        for suffix in ["", "-wal"] {
            let target = "\(to)/queue.sqlite\(suffix)"
            try? files.removeItem(atPath: target)
            try? files.copyItem(atPath: "\(from)/queue.sqlite\(suffix)", toPath: target)
        }
    }

    // MARK: - Crashes

    /// A store that is a connection and nothing else need not be opened anew for each engine: its
    /// transaction is rolled back as that of a process that died. Preparing its statements would
    /// take as long as all the rest. What the log is cut off by is its length, so it must not grow
    /// until it begins anew.
    private static let logMax: Int64 = 1 << 20

    private func reopen(forgetting: Bool) throws {
        if forgetting { setDurableAside() }
        store.probe = nil
        clients.probe = nil
        bundles?.disconnect()
        try store.close()
        try clients.close()
        if forgetting {
            try? FileManager.default.removeItem(atPath: directory + "/state/queue.sqlite-shm")
            copyStore(from: snapshot, to: directory + "/state")
            say("relaxed commits are lost")
        }
        store = try Store.open(directory: directory + "/state")
        clients = try Store.open(directory: directory + "/state")
        connect()
        try bundles?.connect()
    }

    /// - Parameter power: A power cut, or a kill; `nil` = by chance.
    func crash(power asked: Bool? = nil) throws {
        let power = asked ?? Bool.random(using: &random)
        isDead = true
        // Of the disk with the files alone.
        let isPulled = power && Bool.random(using: &random)
        say(isPulled ? "KILL, AND THE DISK IS PULLED OUT" : power ? "POWER CUT" : "KILL")
        noteCrash()
        if power {
            tally.powerCuts += 1
            disk.losePower(&random, isPulled: isPulled)
        } else {
            tally.kills += 1
            disk.kill()
        }
        wire.forget()
        inputs = []
        let durable = durableAt
        // Relaxed commits since the last durable one may or may not have reached the disk.
        let forgets = power && !isPulled && Bool.random(using: &random)
        if forgets || durableLog > Self.logMax { try reopen(forgetting: forgets) }
        fuse = nil
        isDead = false
        if forgets { hosts?.tasks?.forget(since: durable) }
        try hosts?.engineIsGone(power: power)
        try checkAfterCrash(power: power, hasForgotten: forgets)
        try startEngine()
        bundles?.engineStarts()
    }

    /// Asked to go: it checkpoints and leaves nothing to its successor but the queue.
    func leave() throws {
        say("the engine is asked to leave")
        isLeaving = true
        defer { isLeaving = false }
        engine.beginLeaving(now: now)
        var outcome = try turn()
        var rounds = 0
        while outcome?.isQuiet != true, !isDead {
            pass(0.2)
            wire.advance(0.2)
            for _ in 0..<4 { disk.step() }
            outcome = try turn()
            rounds += 1
            if rounds > 1000 { throw SimComplaint("the engine does not leave", self) }
        }
        if isDead { return }
        tally.goodbyes += 1
        // The threads of the disk finish what they have.
        while !disk.orders.isEmpty { disk.step() }
        noteCrash()
        ledger.diedByPower = false
        disk.kill()
        wire.forget()
        try startEngine()
        bundles?.engineStarts()
    }

    /// Between two engines a client folds in what is wanted, and starts nothing.
    private func keepHouse() throws {
        let holder = EngineHolder(pid: 2, pidStart: 1, bootID: Self.boot, mode: "settle")
        var scope = EngineScope()
        scope.startsNothing = true
        let keeper = Engine(
            store: store, epoch: try store.lease.raiseEpoch(holder, now: now.wall), files: disk,
            wire: wire, policy: policy, scope: scope, time: time, seed: 0)
        keeper.bootID = Self.boot
        try keeper.recover(now: now)
        var outcome = try keeper.turn([.wake], now: now)
        for _ in 0..<50 where !outcome.isQuiet { outcome = try keeper.turn([], now: now) }
        while !disk.orders.isEmpty { disk.step() }
        say("a client kept house")
    }

    /// An engine that finds its store or its disk failing is started again until it runs.
    func startEngine() throws {
        for attempt in 0..<100 {
            if attempt > 0 { pass(1) }
            if random.happens(trouble.crash) { fuse = Int.random(in: 0...2, using: &random) }
            do {
                if random.happens(trouble.crash) { try keepHouse() }
                try hosts?.engineStarts()
                let holder = EngineHolder(pid: 1, pidStart: 1, bootID: Self.boot, mode: "run")
                let epoch = try store.lease.raiseEpoch(holder, now: now.wall)
                watched = ConditionNeeds()
                told = nil
                settlesAt = nil
                wire.connectionsPerOrigin = policy.limits.perOrigin
                wire.servers.life += 1
                engine = Engine(
                    store: store, epoch: epoch, files: disk, wire: wire,
                    hosts: hosts ?? NoHosts(), policy: policy, time: time, watching: watched,
                    seed: random.next())
                engine.bootID = Self.boot
                try engine.recover(now: now)
                inputs = [.wake]
                tellMachine()
                nextTurn = now.monotonic
                wakesAt = now.monotonic
                hasCommitted = true
                try checkRecovery()
                // What the engine before had left open is recorded as ended.
                try hosts?.look()
                return
            } catch let complaint as SimComplaint {
                throw complaint
            } catch {
                // Killed within: what stood on the board still stands there.
                say("the engine could not start: \(error)")
                fuse = nil
                isDead = false
            }
        }
        throw SimComplaint("the engine does not start", self)
    }
}

private struct EngineProbe: CommitProbe {
    unowned let world: SimWorld

    func willCommit() throws { try world.willCommit() }

    func didCommit(_ durability: Durability) {
        world.hasCommitted = true
        world.commits += 1
        world.isStoreFailing = false
        if durability == .durable { world.keepDurable() }
    }
}

/// Other processes die with the power, or where a script kills them.
struct ClientProbe: CommitProbe {
    unowned let world: SimWorld

    func willCommit() throws {
        if world.clientDies { throw SimCrash() }
    }

    func didCommit(_ durability: Durability) {
        world.hasCommitted = true
        world.commits += 1
        if durability == .durable { world.keepDurable() }
    }
}

/// A promise that was broken.
struct SimComplaint: Error, CustomStringConvertible {
    let description: String

    init(_ text: String, _ world: SimWorld) {
        description = text
        world.say("BROKEN: \(text)")
        for id in world.shown.keys.sorted() {
            guard let transfer = world.shown[id], transfer.state != .completed else { continue }
            world.say(
                "\(id) is \(transfer.state), \(transfer.waitingFor), with \(transfer.sharedWith),"
                    + " holds \(transfer.held.map { "\($0)" } ?? "nothing")")
        }
    }
}
