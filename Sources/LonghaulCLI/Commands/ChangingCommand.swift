import ArgumentParser
import Longhaul

/// The common part of pause, resume, cancel and retry: they change the wants of transfers and
/// report the outcome of each.
protocol ChangingCommand: ConsoleCommand {
    var which: SelectionOptions { get }

    /// What was done, of one transfer: past tense, for the summary.
    var done: String { get }

    /// The same of several.
    var doneToMany: String { get }

    /// True if it resumes transfers: those still held by conditions are then named.
    static var setsGoing: Bool { get }

    func change(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome]

    /// Work that is left when the wants are recorded.
    func finish(_ queue: TransferQueue, on console: Console) throws
}

extension ChangingCommand {
    var doneToMany: String { done }
    static var setsGoing: Bool { false }

    func finish(_ queue: TransferQueue, on console: Console) throws {
        console.settle(queue)
    }

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        try which.checkSession(of: queue)
        let outcomes = try change(queue)
        try finish(queue, on: console)
        let isMany = which.ids.isEmpty && outcomes.count(where: \.isDone) != 1
        try console.report(
            outcomes, as: isMany ? doneToMany : done, named: !which.ids.isEmpty,
            from: queue)
        console.sayReplaced(outcomes)
        if Self.setsGoing { try console.sayWaits(outcomes.filter(\.isDone).map(\.id), in: queue) }
        return ExitStatus(outcomes)
    }
}

extension ChangeOutcome {
    /// The transfer is as wanted now.
    var isDone: Bool { error == nil && remark == nil }
}

/// The common part of now, resume and retry: they resume transfers, and start an engine if none
/// runs.
protocol ResumingCommand: ChangingCommand {
    var start: StartOptions { get }

    func resume(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome]
}

extension ResumingCommand {
    static var setsGoing: Bool { true }

    func change(_ queue: TransferQueue) throws(LonghaulError) -> [ChangeOutcome] {
        _ = try start.isWanted()
        return try resume(queue)
    }

    func finish(_ queue: TransferQueue, on console: Console) throws {
        start.startOrSettle(queue, on: console)
    }
}

extension Console {
    /// Prints each transfer with `--json`; otherwise each that was named, or their number.
    func report(
        _ outcomes: [ChangeOutcome], as done: String, named: Bool, from queue: TransferQueue
    ) throws {
        var rest = outcomes[...]
        while !rest.isEmpty {
            try report(rest.prefix(Limits.changesPerRead), as: done, named: named, from: queue)
            rest = rest.dropFirst(Limits.changesPerRead)
        }
        if !isJSON, !named {
            let count = outcomes.lazy.filter(\.isDone).count
            try line("\(Units.counted(count, "transfer")) \(done)")
        }
    }

    private func report(
        _ outcomes: ArraySlice<ChangeOutcome>, as done: String, named: Bool,
        from queue: TransferQueue
    ) throws {
        var changed: [TransferID: Transfer] = [:]
        if isJSON {
            let ids = outcomes.filter { $0.isDone || $0.remark == .isCompleted }.map(\.id)
            for transfer in try queue.transfers(ids) { changed[transfer.id] = transfer }
        }
        for outcome in outcomes {
            if var error = outcome.error {
                error.transferID = error.transferID ?? outcome.id
                try refuse(error)
            } else if let transfer = changed[outcome.id] {
                try line { $0.value(transfer) }
            } else if named, !isJSON {
                let done = outcome.remark == .isCompleted ? "is completed already" : done
                try line("\(outcome.id) \(done)")
            }
        }
    }
}
