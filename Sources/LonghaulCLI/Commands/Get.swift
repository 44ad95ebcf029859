import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Get: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Transfer now, and wait for it.",
        discussion: """
            Prints where the files are. The first Ctrl-C leaves the transfers paused with all \
            their bytes and says how to go on. A running engine does the work; without one, this \
            process does. The same command again goes on with what an earlier one has left.

              longhaul get https://example.com/big.iso
              longhaul get -d ~/Downloads https://example.com/a https://example.com/b
              longhaul get -o a.tar --if-exists overwrite https://example.com/a.tar

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .noSuchTransfer, .refused, .usage, .storeUnavailable, .interrupted,
    ]

    @Argument(help: "What to fetch.")
    var urls: [String]

    @Flag(name: .shortAndLong, help: "No progress.")
    var quiet = false

    @OptionGroup var request: RequestOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    var isQuiet: Bool { quiet }

    func perform(on console: Console) throws -> ExitStatus {
        let configuration = try ConfigurationFile.read()
        let template = try request.template(.current(), configuration.defaults)
        var requests = try template.requests(urls: urls)
        // A user waits for the result: a full disk is a failure, not a condition to wait for.
        for index in requests.indices { requests[index].options.failOnFullDisk = true }
        let queue = try TransferQueue()
        // From here on work is recorded that Ctrl-C must leave in order.
        Signals.watch()
        Signals.watchSuspension()
        let outcomes = try queue.enqueue(requests)
        let ids = outcomes.compactMap(\.id).uniqued
        let existing = outcomes.compactMap(\.existing).uniqued
        if !existing.isEmpty {
            try console.sayRecordedAlready(existing, in: queue, goesOn: true)
            _ = try queue.resume(.ids(existing))
        }
        let display = ProgressDisplay.standard(console, count: ids.count)
        for id in ids {
            if let transfer = try queue.transfer(id) { display.began(transfer) }
        }
        let foreground = try ForegroundWatch(
            ids, in: queue, limits: configuration.limits, display: display)
        let ending: ForegroundWatch.Ending
        do {
            ending = try foreground.run()
        } catch {
            // It is recorded all the same.
            try? explain(foreground.watch, in: queue, on: console)
            throw error
        }
        switch ending {
        case .allEnded:
            // A closed reader ends the printing, not the work.
            let printing = Result { try report(outcomes, foreground.watch, on: console) }
            if foreground.isHanging {
                try? console.flush()
                OwnProcess.exitNow(Get.status(of: foreground.watch).rawValue)
            }
            try StartOptions.startForHosts(queue, on: console)
            try printing.get()
            return Get.status(of: foreground.watch)
        case .signalled(let signal):
            try? explain(foreground.watch, in: queue, on: console)
            try? console.flush()
            if signal != Signals.interrupt { OwnProcess.end(by: signal) }
            if foreground.isHanging { OwnProcess.exitNow(ExitStatus.interrupted.rawValue) }
            return .interrupted
        }
    }

    /// A transfer that was removed meanwhile, whose end is unknown, is no success.
    static func status(of watch: TransferWatch) -> ExitStatus {
        let status = ExitStatus(ended: watch.ended.values)
        return status == .done && !watch.gone.isEmpty ? .noSuchTransfer : status
    }

    /// In the order of the URLs.
    private func report(
        _ outcomes: [EnqueueOutcome], _ watch: TransferWatch, on console: Console
    ) throws {
        for outcome in outcomes {
            switch outcome {
            case .recorded(let id, destination: _), .existing(let id, destination: _):
                if let transfer = watch.ended[id] { try console.result(transfer) }
                if watch.gone.contains(id) { try console.refuse(.removed(id)) }
            case .skipped(let destination):
                console.skipped(destination, isCompared: request.moving.checksum == nil)
                if !console.isJSON { try console.line(path: destination) }
            case .refused(let error): try console.refuse(error)
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
        var ids: [String] = []
        for id in watch.pending.sorted() {
            guard let transfer = try queue.transfer(id) else { continue }
            if console.isJSON { try console.line { $0.transfer(transfer) } }
            if transfer.state.hasEnded { continue }
            ids.append(id.description)
            let kept = Units.progress(transfer.bytesDone, of: transfer.bytesTotal)
            if ids.count <= Limits.pausedShown {
                console.complain("longhaul: \(id): \(transfer.state.rawValue), \(kept) kept")
            }
        }
        for line in Get.commands(toResume: ids) {
            console.complain("longhaul: go on with: \(line)")
        }
    }

    /// Not `--all`: transfers that were paused before must stay paused.
    static func commands(toResume ids: [String]) -> [String] {
        stride(from: 0, to: ids.count, by: Limits.idsPerCommand).map { start in
            "longhaul resume " + ids[start...].prefix(Limits.idsPerCommand).joined(separator: " ")
        }
    }

}

extension LonghaulError {
    static func removed(_ id: TransferID) -> LonghaulError {
        LonghaulError(
            .noSuchTransfer, "it was removed by somebody while it was waited for",
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

    fileprivate var existing: TransferID? {
        switch self {
        case .existing(let id, destination: _): id
        case .recorded, .skipped, .refused: nil
        }
    }
}

extension Console {
    /// Prints the outcome of a transfer: where its file is, or why there is none.
    func result(_ transfer: Transfer) throws {
        if isJSON { return try line { $0.transfer(transfer) } }
        switch transfer.state {
        case .completed:
            if transfer.isSkipped {
                skipped(transfer.destination, isCompared: transfer.checksum == nil)
            }
            if let coding = transfer.contentCoding {
                complain("longhaul: \(transfer.id): content coding \(TransferText.coding(coding))")
            }
            try line(path: transfer.destination)
        case .failed:
            var error = transfer.error ?? LonghaulError(.internal, "it failed")
            error.transferID = transfer.id
            try refuse(error)
            if error.bytesKept > 0 {
                complain(
                    "longhaul: \(transfer.id): \(Units.size(error.bytesKept)) are kept; "
                        + "go on with: longhaul retry \(transfer.id)")
            }
        case .cancelled: complain("longhaul: \(transfer.id): cancelled")
        case .waiting, .running, .paused: return
        }
    }
}
