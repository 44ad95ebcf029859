import Longhaul
import LonghaulPlatform

/// Paused transfers that have a line each when `get` is interrupted.
private let pausedShown = 20
/// Ids in a suggested command line; of more, their session is named.
private let idsPerCommand = 20
/// A command on a terminal gives up after this many attempts that reach no server.
private let awaitedUnreachableAttempts = 3

/// Transfers that a command records and waits for, see `get` and `upload --wait`.
struct AwaitedTransfers {
    private let requests: [TransferRequest]
    /// Line numbers of the requests in the input; empty without numbers.
    private let lines: [Int?]
    private let isCompared: Bool
    private let limits: EngineLimits
    /// Refusals of single requests that leave the others to be recorded.
    var refusals = RefusalPolicy.passOverExisting
    var report: RunReport?
    /// Called once all is recorded.
    var didRecord: ([EnqueueOutcome]) -> Void = { _ in }
    /// Called with the transfers that have ended, once all have.
    var didEnd: (Dictionary<TransferID, Transfer>.Values) -> Void = { _ in }

    /// - Parameter isCompared: A file that is there already is not checked.
    init(
        _ requests: [TransferRequest], lines: [Int?] = [], isCompared: Bool,
        _ limits: EngineLimits
    ) {
        self.requests = requests
        self.lines = lines
        self.isCompared = isCompared
        self.limits = limits
    }

    func perform(on console: Console) throws -> ExitStatus {
        var requests = requests
        // A user waits for the result: a full disk is a failure, not a condition to wait for.
        let givesUp = CommandStream.isTerminal(2)
        for index in requests.indices {
            requests[index].options.failOnFullDisk = true
            if givesUp { requests[index].giveUpUnreached() }
        }
        let queue = try TransferQueue()
        let prepared = try PreparedRequests.of(
            requests, in: queue, copying: console.sayCopying)
        // Work is recorded after this point, and Ctrl-C must leave it in order.
        Signals.watch()
        Signals.watchSuspension()
        var outcomes = try record(prepared, in: queue)
        let complete = try tellPassedOver(&outcomes, requests, in: queue, on: console)
        report(outcomes, requests, complete)
        didRecord(outcomes)
        let ids = outcomes.compactMap(\.id).uniqued
        let recorded = Set(outcomes.compactMap(\.recorded))
        let existing = ids.filter { !recorded.contains($0) }
        if !existing.isEmpty {
            try console.sayRecordedAlready(existing, in: queue, goesOn: true)
            _ = try queue.resume(.ids(existing))
        }
        let display = ProgressDisplay.standard(console, count: ids.count)
        if display.isPlain { try sayBegun(ids, in: queue, on: display) }
        let foreground = try ForegroundWatch(
            ids, in: queue, limits: limits, display: display)
        foreground.report = report
        let ending: ForegroundWatch.Ending
        do {
            ending = try foreground.run()
        } catch {
            // The transfers are recorded all the same.
            try? explain(foreground.watch, in: queue, on: console)
            throw error
        }
        switch ending {
        case .allEnded:
            // A closed reader ends the printing, not the work.
            let printing = Result {
                try report(outcomes, complete, foreground.watch, on: console)
            }
            didEnd(foreground.watch.ended.values)
            let reporting = Result { try report?.finish() }
            let status = AwaitedTransfers.status(of: foreground.watch, outcomes)
            if foreground.isHanging {
                try? console.flush()
                OwnProcess.exitNow(status.rawValue)
            }
            try StartOptions.startForHosts(queue, on: console)
            try printing.get()
            try reporting.get()
            return status
        case .abandoned: preconditionFailure("these transfers are waited for to their end")
        case .signalled(Signals.hangUp): StartOptions.startAfterHangUp(queue, on: console)
        case .signalled(let signal):
            try? explain(foreground.watch, in: queue, on: console)
            try reportRest(foreground.watch.pending, in: queue)
            try? console.flush()
            if signal != Signals.interrupt { OwnProcess.end(by: signal) }
            if foreground.isHanging { OwnProcess.exitNow(ExitStatus.interrupted.rawValue) }
            return .interrupted
        }
    }

    /// A page at a time: each look at the engine costs more than reading a transfer.
    private func sayBegun(
        _ ids: [TransferID], in queue: TransferQueue, on display: ProgressDisplay
    ) throws {
        for start in stride(from: 0, to: ids.count, by: Limits.watchedPerRead) {
            let page = Array(ids[start...].prefix(Limits.watchedPerRead))
            try queue.transfers(page).forEach(display.began)
        }
    }

    private func record(
        _ prepared: PreparedRequests, in queue: TransferQueue
    ) throws(InputProblem) -> [EnqueueOutcome] {
        var outcomes: [EnqueueOutcome] = []
        do throws(LonghaulError) {
            try prepared.enqueue(in: queue, refusals) { outcomes.append($0) }
        } catch {
            let line = outcomes.count < lines.count ? lines[outcomes.count] : nil
            throw InputProblem(error: error, line: line)
        }
        return outcomes
    }

    /// A transfer that was removed meanwhile, whose end is unknown, is no success.
    static func status(of watch: TransferWatch, _ outcomes: [EnqueueOutcome]) -> ExitStatus {
        let status = ExitStatus(ended: watch.ended.values)
        if status != .done { return status }
        if !watch.gone.isEmpty { return .noSuchTransfer }
        return outcomes.lazy.compactMap(\.refusal).first.map { ExitStatus($0) } ?? .done
    }

    /// The others continue. A file fetched by an earlier run of the same command is not a refusal:
    /// its transfer is returned by its destination, and its request is skipped.
    private func tellPassedOver(
        _ outcomes: inout [EnqueueOutcome], _ requests: [TransferRequest],
        in queue: TransferQueue, on console: Console
    ) throws -> [String: Transfer] {
        var complete: [String: Transfer] = [:]
        for index in outcomes.indices {
            guard let error = outcomes[index].refusal else { continue }
            if let transfer = try requests[index].alreadyComplete(in: queue) {
                complete[transfer.path] = transfer
                outcomes[index] = .skipped(destination: transfer.path)
                let path = TerminalText.shown(transfer.path)
                if !console.isJSON {
                    console.say("longhaul: \(transfer.id): already complete: \(path)")
                }
            } else {
                try console.refuse(error)
            }
        }
        return complete
    }

    /// Writes the requests that are not waited for into the report.
    private func report(
        _ outcomes: [EnqueueOutcome], _ requests: [TransferRequest], _ complete: [String: Transfer]
    ) {
        guard let report else { return }
        for (outcome, request) in zip(outcomes, requests) {
            switch outcome {
            case .recorded, .existing: continue
            case .refused(let error): report.add(request, error)
            case .skipped(let path):
                if let transfer = complete[path] {
                    report.add(transfer)
                } else {
                    report.add(request, nil)
                }
            }
        }
        report.flush()
    }

    private func reportRest(_ pending: [TransferID], in queue: TransferQueue) throws {
        guard let report else { return }
        for id in pending.sorted() {
            if let transfer = try queue.transfer(id) { report.add(transfer) }
        }
        try report.finish()
    }

    /// Reports outcomes in the order of the URLs.
    private func report(
        _ outcomes: [EnqueueOutcome], _ complete: [String: Transfer], _ watch: TransferWatch,
        on console: Console
    ) throws {
        for outcome in outcomes {
            switch outcome {
            case .recorded(let id, destination: _), .existing(let id, destination: _):
                if let transfer = watch.ended[id] { try console.result(transfer) }
                if watch.gone.contains(id) { try console.refuse(.removed(id)) }
            case .skipped(let destination):
                if let transfer = complete[destination] {
                    try console.result(transfer)
                    continue
                }
                console.skipped(destination, isCompared: isCompared)
                if !console.isJSON { try console.line(path: destination) }
            // Told at once.
            case .refused: break
            }
        }
    }

    /// Prints how to continue.
    private func explain(
        _ watch: TransferWatch, in queue: TransferQueue, on console: Console
    ) throws {
        for transfer in watch.ended.values.sorted(by: { $0.id < $1.id }) {
            try console.result(transfer)
        }
        for id in watch.gone.sorted() { try console.refuse(.removed(id)) }
        var left: [Transfer] = []
        for id in watch.pending.sorted() {
            guard let transfer = try queue.transfer(id) else { continue }
            if console.isJSON { try console.line { $0.value(transfer) } }
            if transfer.state.hasEnded { continue }
            left.append(transfer)
            let kept = Units.progress(transfer.bytesDone, of: transfer.bytesTotal)
            if left.count <= pausedShown {
                let cause = WaitText(time: .current()).cause(transfer)
                console.complain(
                    "longhaul: \(id): \(transfer.state.rawValue), \(kept) kept"
                        + (cause.map { "; last error: " + $0 } ?? ""))
            }
        }
        guard let resume = AwaitedTransfers.resume(left) else { return }
        console.complain("longhaul: resume with: \(resume.text)")
        if left.count <= idsPerCommand { return }
        var filter = TransferFilter()
        filter.states = [.paused]
        filter.session = resume.session
        filter.limit = nil
        let others = try queue.transfers(filter).count { !watch.pending.contains($0.id) }
        if others > 0 {
            console.complain(
                "longhaul: that resumes \(Units.counted(others, "transfer")) that had been paused"
                    + " before, too")
        }
    }

    /// The command that resumes all of these. Of a few it names each; else their session, or all.
    static func resume(_ transfers: [Transfer]) -> (text: String, session: String?)? {
        guard let session = transfers.first?.session else { return nil }
        if transfers.count <= idsPerCommand {
            let ids = transfers.map(\.id.description)
            return ("longhaul resume " + ids.joined(separator: " "), nil)
        }
        guard transfers.allSatisfy({ $0.session == session }) else {
            return ("longhaul resume --all", nil)
        }
        return ("longhaul resume --session " + ShellText.quoted(session), session)
    }
}

extension TransferRequest {
    /// Limits the attempts that reach no server, so that the user at the terminal learns of it
    /// soon, unless `--retries` or `--deadline` says how long to try.
    mutating func giveUpUnreached() {
        guard options.retries == nil, deadline == .after(seconds: Deadline.defaultSeconds)
        else { return }
        options.unreachableAttempts = awaitedUnreachableAttempts
    }
}

extension LonghaulError {
    static func removed(_ id: TransferID) -> LonghaulError {
        LonghaulError(
            .noSuchTransfer, "it was removed while it was waited for",
            transferID: id)
    }
}

extension EnqueueOutcome {
    var id: TransferID? {
        switch self {
        case .recorded(let id, destination: _), .existing(let id, destination: _): id
        case .skipped, .refused: nil
        }
    }

    fileprivate var refusal: LonghaulError? {
        if case .refused(let error) = self { error } else { nil }
    }

    fileprivate var recorded: TransferID? {
        switch self {
        case .recorded(let id, destination: _): id
        case .existing, .skipped, .refused: nil
        }
    }
}
