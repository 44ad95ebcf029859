import LonghaulCore
import Testing

/// One transfer in a simulated world: the real machine, judge, planner and reconciliation; a
/// server, a wire, a disk and a store that are values. Everything is drawn from one seed.
struct SimFetch {
    let seed: UInt64
    var random: SeededRandom
    var server: SimServer
    /// While it is true servers change, connections break and processes die.
    var faults = true
    private(set) var log: [String] = []

    // The world.
    private var file: SimFile?
    private var durableFile: SimFile?
    private var identity = FileIdentity(device: 1, inode: 1)
    private var published: SimFile?
    private var publishedIdentity: FileIdentity?
    private var store: FetchState
    private var origin = OriginMemory(origin: "http://h:80")
    private(set) var ended: StoreWrite?
    private(set) var versions: [Int: Int64] = [:]
    private(set) var wireBytes: Int64 = 0
    private var now = Moment(wall: receivedAt, monotonic: Instant(nanoseconds: 0))

    // The process.
    private var machine: FetchMachine?
    private var wire: [SimExchange] = []
    private var pending: [FetchEvent] = []
    private var serial: Int64 = 1
    private let request: TransferRequest

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
        server = SimServer.random(using: &random)
        store = FetchState(id: FetchID(rawValue: 1))
        var request = TransferRequest(
            url: "http://h/f", destination: .file("/d/f"))
        request.options.connections = .exactly(Int.random(in: 1...4, using: &random))
        self.request = request
        versions[server.version.number] = server.version.length
    }

    /// One thing happens.
    mutating func step() {
        now.wall = now.wall + 0.05
        now.monotonic = now.monotonic + 0.05
        if faults && odds(1, of: 400) {
            server.change(using: &random)
            versions[server.version.number] = server.version.length
            note("server has version \(server.version.number), \(server.version.length) bytes")
        }
        guard machine != nil else { return claim() }
        if odds(1, of: 200) { read() }
        if faults && odds(1, of: 300) { return crash(powerLoss: Bool.random(using: &random)) }
        if !pending.isEmpty {
            // Outcomes of the disk come in their order, at any time.
            if Bool.random(using: &random) { return handle(pending.removeFirst()) }
        }
        if !wire.isEmpty { return move(Int.random(in: wire.indices, using: &random)) }
        handle(pending.isEmpty ? .tick : pending.removeFirst())
    }

    private mutating func odds(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    private mutating func note(_ line: String) { log.append(line) }

    private var context: FetchContext {
        FetchContext(now: now, origin: origin, connectionsAllowed: 6, seed: seed)
    }

    // MARK: The process

    private mutating func claim() {
        machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/d/f", deadline: nil,
            state: store, firstSerial: serial)
        note("claimed, holding \(store.durable)")
        let step = machine?.begin()
        if let step { perform(step) }
    }

    /// A reader comes to any place, or leaves.
    private mutating func read() {
        var leader = Subscriber(
            id: TransferID(rawValue: 1), request: request, destination: "/d/f",
            deadline: .distantFuture, eligibility: .plain, isWanted: true, bytesFetched: 0)
        leader.readFrom =
            Bool.random(using: &random)
            ? Int64.random(in: 0..<max(1, server.version.length), using: &random) : nil
        note("read from \(leader.readFrom.map(String.init) ?? "nowhere")")
        machine?.serve(Subscribers(leader: leader))
    }

    private mutating func handle(_ event: FetchEvent) {
        for exchange in wire {
            machine?.note(
                exchange.order.key, written: exchange.written, received: exchange.received,
                now: now.monotonic)
        }
        let context = context
        if let step = machine?.handle(event, in: context) { perform(step) }
    }

    private mutating func perform(_ step: FetchStep) {
        for write in step.writes { commit(write) }
        for effect in step.effects { perform(effect) }
    }

    private mutating func commit(_ write: StoreWrite) {
        switch write {
        case .save(let state):
            store = state
            checkStore()
        case .failed(_, let error, _) where faults, .needsInput(_, let error, _) where faults:
            // Somebody mends what is broken and resumes.
            note("failed: \(error)")
        case .completed, .skipped, .failed, .needsInput, .cancelled:
            #expect(ended == nil, "seed \(seed): ended twice")
            ended = write
        case .restarted(_, let reason, let lost): note("restarted: \(reason), \(lost) lost")
        case .learn(_, let lesson):
            note("learned \(lesson)")
            origin.learn(lesson)
        case .queued, .lastError, .attempt, .abandonUpload, .dropFetch, .give, .leave, .discard,
            .forget, .originFailed, .originWorked, .saveOrigin:
            break
        }
    }

    /// Store progress ≤ durable bytes, and all of one version.
    private func checkStore() {
        var found: Set<Int> = []
        for range in store.durable.ranges {
            found.formUnion(durableFile?.versions(in: range) ?? [-1])
        }
        #expect(
            found.count <= 1 && (found.first ?? 1) > 0,
            "seed \(seed): durable of \(found)\n\(story)")
    }

    private mutating func perform(_ effect: FetchEffect) {
        switch effect {
        case .prepare: prepare()
        case .ask(let order):
            note("asks \(order.ask.headers["Range"] ?? "all")")
            serial = max(serial, order.key.serial + 1)
            wire.append(SimExchange(order: order))
        case .proceed(let key, let plan):
            guard let index = wire.firstIndex(where: { $0.order.key == key }) else { return }
            wire[index].begin(plan)
        case .shrink(let key, let end):
            guard let index = wire.firstIndex(where: { $0.order.key == key }) else { return }
            wire[index].shrink(to: end)
        case .release, .handOut, .fill, .openSource, .send: break
        case .stop(let keys):
            for key in keys {
                if let index = wire.firstIndex(where: { $0.order.key == key }) {
                    end(index, .stopped)
                }
            }
        case .reserve: pending.append(.reserved)
        case .truncate:
            file?.truncate(to: 0)
            pending.append(.truncated)
        case .sync(let token, _, _): sync(.synced(token: token), .syncFailed(token: token, fault))
        case .verify: pending.append(.verified)
        case .secure(let length):
            file?.truncate(to: length)
            sync(.secured, .secureFailed(fault))
        case .publish: publish()
        case .close(let deleting):
            if deleting { (file, durableFile) = (nil, nil) }
            note("left")
            machine = nil
            wire = []
            pending = []
        }
    }

    private let fault = LocalFault(code: .io, message: "EIO")

    /// A failed sync leaves anything in the place of what was not durable yet; the next one
    /// succeeds all the same.
    private mutating func sync(_ success: FetchEvent, _ failure: FetchEvent) {
        guard faults, odds(1, of: 30) else {
            durableFile = file
            pending.append(success)
            return
        }
        note("a sync fails")
        file?.spoil(outside: durableFile)
        durableFile = file
        pending.append(failure)
    }

    private mutating func prepare() {
        var created = false
        if file == nil || store.partIdentity != identity {
            identity.inode += 1
            (file, durableFile) = (SimFile(), SimFile())
            created = true
        }
        pending.append(.prepared(identity, path: "/d/.f.1.longhaul-part", created: created))
    }

    private mutating func publish() {
        (published, publishedIdentity) = (file, identity)
        file = nil
        durableFile = nil
        pending.append(.published(path: "/d/f"))
    }

    private mutating func crash(powerLoss: Bool) {
        note(powerLoss ? "power loss" : "kill -9")
        var leftovers = ByteRanges()
        if powerLoss {
            file = durableFile
        } else {
            for exchange in wire where exchange.isWriting {
                if exchange.generation == store.generation, exchange.written > exchange.start {
                    leftovers.insert(exchange.start..<exchange.written)
                }
            }
        }
        machine = nil
        wire = []
        pending = []
        recover(leftovers)
    }

    private mutating func recover(_ leftovers: ByteRanges) {
        func entry(_ file: SimFile?, _ identity: FileIdentity?) -> FileFacts.Entry {
            guard let file, let identity else { return .missing }
            return .present(identity, size: file.size)
        }
        let facts = FileFacts(
            part: entry(file, identity), destination: entry(published, publishedIdentity))
        let action = reconcile(fetch: store, facts: facts, written: leftovers)
        note("recovery: \(action)")
        switch action {
        case .requeue(let have):
            durableFile = file
            store.durable = have
        case .requeueFresh:
            store.generation += 1
            store.durable = ByteRanges()
        case .restart:
            store.generation += 1
            store.durable = ByteRanges()
            store.validator = nil
            store.bytesTotal = nil
        case .republish, .rejoin: break
        case .markCompleted:
            ended = .completed(
                TransferID(rawValue: 1), path: "/d/f", TransferTotals(store, bytesDone: 0))
        }
        if ended == nil { checkStore() }
    }

    // MARK: The wire

    private mutating func move(_ index: Int) {
        if wire[index].head == nil { return answer(index) }
        if wire[index].isHeld { return }
        if wire[index].plan == nil { return end(index, .refused) }
        if faults && odds(1, of: 30) {
            let failures: [WireFailure] = [
                .curl(code: 56, text: "reset", osError: 104), .stalled, .disk(errno: 28),
                .disk(errno: 5),
            ]
            return end(index, failures.randomElement(using: &random)!)
        }
        let bytes = Int64.random(in: 0...5_000_000, using: &random)
        let outcome = wire[index].receive(bytes, into: &file)
        wireBytes += outcome.bytes
        if let failure = outcome.failure { return end(index, failure) }
        if wire[index].isDone { return end(index, nil) }
        if odds(1, of: 4) { handle(.progress) }
    }

    private mutating func answer(_ index: Int) {
        let order = wire[index].order
        if faults && odds(1, of: 20) {
            return end(index, .curl(code: 7, text: "refused", osError: 111))
        }
        let (head, body) = server.answer(order, open: wire.count, using: &random)
        let verdict = order.verdict(head)
        wire[index].take(
            head, body: body, version: server.version.number,
            verdict: verdict, generation: machine?.state.generation ?? 0)
        note("answer \(head.status) \(body) of \(server.version.number): \(verdict)")
        handle(.head(order.key, head))
    }

    private mutating func end(_ index: Int, _ failure: WireFailure?) {
        let exchange = wire.remove(at: index)
        machine?.note(
            exchange.order.key, written: exchange.written, received: exchange.received,
            now: now.monotonic)
        pending.append(
            .ended(
                exchange.order.key,
                SegmentEnd(
                    failure: failure, writtenThrough: exchange.written,
                    bytesReceived: exchange.received, seconds: 1, httpVersion: 11)))
    }

    /// What happened last.
    var story: String { log.suffix(30).joined(separator: "\n") }

    // MARK: What must hold

    /// A published file is one version of the remote one, whole.
    func check() {
        guard case .completed? = ended, let published else { return }
        let length = published.size
        let found = published.versions(in: 0..<length)
        #expect(
            found.count <= 1 && (found.first ?? 1) > 0, "seed \(seed): published \(found)\n\(story)"
        )
        if let version = found.first {
            #expect(versions[version] == length, "seed \(seed): length \(length)\n\(story)")
        }
    }
}
