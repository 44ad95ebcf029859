import Foundation
import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// The simulated crash, thrown out of a commit.
struct SimCrash: Error {}

/// The real core, engine and store between a simulated network and a simulated disk, driven by one
/// seed.
final class SimWorld: CommitProbe, @unchecked Sendable {
    let seed: UInt64
    var random: SeededGenerator
    let disk = SimDisk()
    let wire: SimWire
    let directory: String
    let snapshot: String
    var store: Store
    var engine: Engine
    var now = Moment(
        wall: Timestamp(milliseconds: 1_790_000_000_000), monotonic: Instant(nanoseconds: 1))
    /// Effects and commits until the process dies; `nil` = it lives on.
    var fuse: Int?
    var isDead = false
    var inputs: [EngineInput] = []
    var expected: [TransferID: SimTransfer] = [:]
    var trace: [String] = []
    /// Published files that were found whole, with their length.
    var verified: [UInt64: Int] = [:]
    var kills = 0
    var powerCuts = 0

    struct SimTransfer {
        var url: String
        var destination: String
        var wantsEnd = true
        var retries = 0
        var bytesFetched: Int64 = 0
    }

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
        directory = "\(base)/longhaul-sim-\(getpid())-\(seed)-\(UInt32.random(in: 0 ... .max))"
        snapshot = directory + "/durable"
        try FileManager.default.createDirectory(
            atPath: snapshot, withIntermediateDirectories: true)
        wire = SimWire(disk: disk)
        store = try Store.open(directory: directory + "/state")
        engine = Engine(
            store: store, epoch: Epoch(rawValue: 0), files: disk, wire: wire, seed: seed)
        store.probe = self
        didCommit(.durable)
        disk.mayAct = { [unowned self] in burn() }
        try startEngine()
    }

    func cleanUp() {
        disk.mayAct = { true }
        try? FileManager.default.removeItem(atPath: directory)
    }

    func say(_ text: String) {
        trace.append("\(now.wall.milliseconds % 10_000_000): \(text)")
        if trace.count > 60 { trace.removeFirst() }
    }

    // MARK: - Crashes

    /// One step towards the crash; `false` once it has come.
    private func burn() -> Bool {
        if isDead { return false }
        guard let fuse else { return true }
        if fuse == 0 { isDead = true }
        self.fuse = fuse - 1
        return !isDead
    }

    func willCommit() throws {
        if !burn() { throw SimCrash() }
    }

    func didCommit(_ durability: Durability) {
        guard durability == .durable else { return }
        copyStore(from: directory + "/state", to: snapshot)
    }

    private func copyStore(from: String, to: String) {
        let files = FileManager.default
        for suffix in ["", "-wal"] {
            let target = "\(to)/queue.sqlite\(suffix)"
            try? files.removeItem(atPath: target)
            try? files.copyItem(atPath: "\(from)/queue.sqlite\(suffix)", toPath: target)
        }
    }

    func crash() throws {
        let power = Bool.random(using: &random)
        isDead = true
        if power {
            powerCuts += 1
            disk.losePower()
        } else {
            kills += 1
            disk.kill()
        }
        say(power ? "POWER CUT" : "KILL")
        wire.forget()
        inputs = []
        store.probe = nil
        try store.close()
        if power {
            // Relaxed commits since the last durable one may or may not have reached the disk.
            if Bool.random(using: &random) {
                try? FileManager.default.removeItem(atPath: directory + "/state/queue.sqlite-shm")
                copyStore(from: snapshot, to: directory + "/state")
            }
        }
        fuse = nil
        isDead = false
        store = try Store.open(directory: directory + "/state")
        store.probe = self
        didCommit(.durable)
        try startEngine()
    }

    private func startEngine() throws {
        let holder = EngineHolder(pid: 1, pidStart: 1, bootID: "sim", mode: "run")
        let epoch = try store.raiseEpoch(holder, now: now.wall)
        engine = Engine(
            store: store, epoch: epoch, files: disk, wire: wire, seed: random.next())
        try engine.recover(now: now)
        inputs.append(.wake)
    }

    // MARK: - Time

    /// Lets the engine take a turn on what has arrived, in the order in which it did.
    @discardableResult
    func turn() throws -> TurnOutcome? {
        inputs += wire.facts.map { .wire($0) }
        inputs += disk.outcomes.map { .fetch($0.0, $0.1) }
        wire.facts = []
        disk.outcomes = []
        wire.now = now.wall
        do {
            let outcome = try engine.turn(inputs, now: now)
            inputs = []
            return isDead ? nil : outcome
        } catch {
            if isDead { return nil }
            throw error
        }
    }

    func pass(_ seconds: Double) {
        now.monotonic = now.monotonic + seconds
        now.wall = now.wall + seconds
    }
}
