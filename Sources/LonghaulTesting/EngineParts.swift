internal import FoundationEssentials
internal import Glibc
internal import Longhaul
internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// The parts of an engine in a simulated world, and its directory.
final class EngineParts: Sendable {
    static let boot = "simulated"

    let directory: String
    let queue: TransferQueue
    let store: Store
    private let workers: FileWorkers
    /// Held, so that no other engine comes.
    private let lock: EngineLock
    private let outcomes = Mutex<[EngineInput]>([])

    /// Makes a directory, in memory where that is possible: it goes with the world.
    static func makeDirectory() throws(LonghaulError) -> String {
        let parent =
            access("/dev/shm", W_OK) == 0 ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        var template = Array("\(parent)/longhaul-world-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw LonghaulError(.io, "no directory can be made in \(parent)")
        }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    init(_ directory: String) throws(LonghaulError) {
        self.directory = directory
        queue = try TransferQueue(directory: directory)
        store = try Store.open(directory: directory)
        let lock: EngineLock?
        do throws(SystemFailure) {
            workers = try FileWorkers(threads: 1)
            lock = try EngineLock.tryAcquire(in: directory)
        } catch {
            throw LonghaulError(.io, "the simulated world cannot begin: \(error)")
        }
        guard let lock else {
            throw LonghaulError(.conflict, "another process is the engine in \(directory)")
        }
        self.lock = lock
    }

    /// Takes over from an earlier engine.
    func engine(
        _ wire: WorldWire, _ hosts: SimulatedHosts, now: Moment
    ) throws(LonghaulError) -> Engine {
        let process = ProcessIdentity.current
        let holder = EngineHolder(
            pid: process.pid, pidStart: Int64(clamping: process.startTicks), bootID: Self.boot,
            mode: "embedded")
        let epoch = try store.lease.raiseEpoch(holder, now: now.wall)
        let files = DiskFiles(
            board: ProgressBoard.open(in: directory), workers: workers,
            store: try store.lease.info().storeID,
            tell: { [weak self] input in self?.outcomes.withLock { $0.append(input) } })
        let engine = Engine(
            store: store, epoch: epoch, files: files, wire: wire, hosts: hosts,
            time: LocalTime.ofProcess,
            watching: ConditionNeeds(), seed: 1)
        engine.bootID = Self.boot
        try engine.recover(now: now)
        return engine
    }

    /// Returns the outcomes of the disk, once all orders are done.
    func settleDisk() -> [EngineInput] {
        workers.drain()
        return outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes
        }
    }

    /// Nothing reaches the next engine that was meant for this one.
    func crash() { _ = settleDisk() }

    func remove() {
        workers.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
