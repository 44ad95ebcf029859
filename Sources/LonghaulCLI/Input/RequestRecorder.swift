import Longhaul

/// Records the requests of a command in the queue, and reports their outcomes.
struct RequestRecorder {
    let queue: TransferQueue
    /// The good ones are recorded, and the others reported.
    let keepGoing: Bool
    let console: Console
    private let batch = BatchRecord()

    init(_ queue: TransferQueue, keepGoing: Bool, _ console: Console) {
        self.queue = queue
        self.keepGoing = keepGoing
        self.console = console
    }

    /// The next valid request. An invalid one ends everything, or is reported and left out.
    func read(from source: BatchInput) throws(InputProblem) -> TransferRequest? {
        while true {
            do {
                return try source.next()
            } catch {
                if !keepGoing { throw error }
                batch.refuse(error.error, line: error.line, on: console)
            }
        }
    }

    /// A request is recorded next.
    func handOver(_ request: TransferRequest, line: Int?) {
        batch.handOver(line: line, hasChecksum: request.options.checksum != nil)
    }

    /// Numbers of new transfers, and of existing ones in the batch.
    var counts: (recorded: Int, existing: Int) {
        (batch.ids.count - batch.existing.count, batch.existing.count)
    }

    /// Records the outcome of a request; called in the order of the requests.
    func record(_ outcome: EnqueueOutcome) { batch.record(outcome, on: console) }

    /// Prints the ids of the transfers recorded by the body, and starts an engine for them.
    func perform(_ start: StartOptions, _ body: () throws -> Void) throws -> ExitStatus {
        do {
            try body()
        } catch let error as LonghaulError {
            throw InputProblem(error: error, line: batch.blamedLine)
        }
        // A closed reader ends the printing, not the work.
        let printing = Result { try report() }
        if !batch.ids.isEmpty {
            start.start(queue, on: console)
            start.sayWhatAReboot(ends: queue, on: console)
        }
        try printing.get()
        return batch.status
    }

    /// Called when everything is durable: a printed id is never lost.
    private func report() throws {
        var page: [TransferID] = []
        for value in batch.ids.runs.lazy.joined() {
            let id = TransferID(rawValue: value)
            if !console.isJSON {
                try console.line(id.description)
                continue
            }
            page.append(id)
            if page.count == Limits.changesPerRead { try show(&page) }
        }
        try show(&page)
        try console.sayRecordedAlready(batch.existing.all, in: queue)
        try console.flush()
    }

    private func show(_ page: inout [TransferID]) throws {
        for transfer in try queue.transfers(page) {
            try console.line { $0.value(transfer) }
        }
        page.removeAll(keepingCapacity: true)
    }
}
