internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// Batches between the two threads of an enqueue, which bounds the memory.
private let enqueueBatchesMax = 8

/// Records a long input with two threads: the caller's reads and checks the requests, another one
/// inserts them, a few batches behind. Parsing and inserting cost about the same.
struct EnqueuePipeline {
    private enum Reply: Sendable {
        case outcomes([EnqueueOutcome])
        case end(Result<Void, any Error>)
    }

    let store: Store
    let now: Timestamp
    let refusals: RefusalPolicy
    let review: RequestReview?
    private let requests = Mailbox<[AdmittedRequest]>()
    private let replies = Mailbox<Reply>()

    init(store: Store, now: Timestamp, _ refusals: RefusalPolicy, _ review: RequestReview?) {
        self.store = store
        self.now = now
        self.refusals = refusals
        self.review = review
    }

    /// Records the first batch and those returned by `next`, until an empty one. Returns when all
    /// is durable; throws when nothing was recorded.
    func carry(
        _ first: [AdmittedRequest], then next: () -> [AdmittedRequest],
        report: (EnqueueOutcome) -> Void
    ) throws {
        let inserting = insert
        guard DetachedThread.begin(name: "longhaul-enqueue", inserting) else {
            throw LonghaulError.noThread("; nothing was recorded; try again")
        }
        requests.put([first])
        var underWay = 1
        var isAtEnd = false
        while true {
            if !isAtEnd, underWay < enqueueBatchesMax {
                let batch = next()
                isAtEnd = batch.isEmpty
                requests.put([batch])
                underWay += 1
            }
            let mustWait = isAtEnd || underWay >= enqueueBatchesMax
            for reply in replies.take(within: mustWait ? nil : 0) {
                switch reply {
                case .outcomes(let outcomes):
                    underWay -= 1
                    outcomes.forEach(report)
                case .end(let result): return try result.get()
                }
            }
        }
    }

    /// The other thread. After a failure what still comes is not looked at.
    @Sendable private func insert() {
        var arrived: [[AdmittedRequest]] = []
        let result = Result {
            try record {
                if arrived.isEmpty { arrived = requests.take(within: nil).reversed() }
                return arrived.popLast() ?? []
            } report: {
                replies.put([.outcomes($0)])
            }
        }
        replies.put([.end(result)])
    }

    /// Records all batches until an empty one in a single durable transaction, on the caller's
    /// thread. Outcomes are reported a batch at a time; when this throws, the requests before the
    /// faulty one have been reported.
    func record(
        next: () -> [AdmittedRequest], report: ([EnqueueOutcome]) -> Void
    ) throws {
        try store.wants.enqueue(now: now, review: review) { inserter in
            while true {
                let batch = next()
                if batch.isEmpty { return }
                var outcomes: [EnqueueOutcome] = []
                outcomes.reserveCapacity(batch.count)
                defer { report(outcomes) }
                for request in batch { outcomes.append(try record(request, inserter)) }
            }
        }
    }

    private func record(
        _ request: AdmittedRequest, _ inserter: TransferInserter
    ) throws -> EnqueueOutcome {
        switch request {
        case .settled(let outcome): return outcome
        case .stop(let error): throw error
        case .insert(let new):
            do {
                return try inserter.insert(new, isTaken: { RequestValidator.exists($0) })
            } catch let refusal as LonghaulError where refusals.passesOver(refusal) {
                return .refused(refusal)
            }
        }
    }
}
