import Longhaul

/// The outcomes of the requests of one command, in little memory: consecutive ids are one range.
final class BatchRecord {
    private(set) var ids = IDRuns()
    /// Transfers of the batch that existed before the command.
    private(set) var existing = IDRuns()
    private(set) var skippedCount = 0
    private var firstRecorded: Int64?
    private var firstRefusal: LonghaulError?
    /// The lines of the requests that were handed over and not yet answered, oldest first.
    private var unanswered: [(line: Int?, hasChecksum: Bool)] = []
    private var answeredCount = 0

    /// The line of the first request without an outcome: a fatal error refers to it. `nil` if every
    /// request has one, or if it was named on the command line.
    var blamedLine: Int? {
        answeredCount < unanswered.count ? unanswered[answeredCount].line : nil
    }

    func handOver(line: Int?, hasChecksum: Bool = false) {
        unanswered.append((line, hasChecksum))
    }

    /// Outcomes come in the order of the requests, at once or in batches.
    func record(_ outcome: EnqueueOutcome, on console: Console) {
        let (line, hasChecksum) = answered()
        switch outcome {
        case .recorded(let id, destination: _):
            ids.append(id.rawValue)
            firstRecorded = firstRecorded ?? id.rawValue
        case .existing(let id, destination: _):
            ids.append(id.rawValue)
            if id.rawValue < firstRecorded ?? .max { existing.append(id.rawValue) }
        case .skipped(let destination):
            skippedCount += 1
            console.skipped(destination, isCompared: !hasChecksum)
        case .refused(let error): refuse(error, line: line, on: console)
        }
    }

    func refuse(_ error: LonghaulError, line: Int?, on console: Console) {
        if firstRefusal == nil { firstRefusal = error }
        // A closed reader is noticed when the ids are printed.
        try? console.refuse(error, line: line)
    }

    /// 64 guarantees that nothing was recorded.
    var status: ExitStatus {
        guard let firstRefusal else { return .done }
        return ids.isEmpty && skippedCount == 0 ? ExitStatus(firstRefusal) : .refused
    }

    private func answered() -> (line: Int?, hasChecksum: Bool) {
        precondition(answeredCount < unanswered.count, "an outcome for every request")
        let request = unanswered[answeredCount]
        answeredCount += 1
        if answeredCount == unanswered.count {
            unanswered.removeAll(keepingCapacity: true)
            answeredCount = 0
        }
        return request
    }
}

/// Ids in the order of their arrival.
struct IDRuns {
    private(set) var runs: [ClosedRange<Int64>] = []

    var isEmpty: Bool { runs.isEmpty }

    var count: Int { runs.reduce(0) { $0 + $1.count } }

    var all: [TransferID] { runs.flatMap { $0.map(TransferID.init(rawValue:)) } }

    mutating func append(_ id: Int64) {
        if let last = runs.last, last.upperBound + 1 == id {
            runs[runs.count - 1] = last.lowerBound...id
        } else {
            runs.append(id...id)
        }
    }
}

extension Console {
    /// Reports that `--if-exists skip` has kept an existing file.
    ///
    /// - Parameter isCompared: `false` if a checksum was given, which the file may not have.
    func skipped(_ destination: String, isCompared: Bool) {
        if isJSON {
            try? line { json in
                json.object {
                    $0.field("skipped", true)
                    $0.field("destination", destination)
                }
            }
        } else {
            let note = isCompared ? "" : " (not compared with the checksum)"
            say("longhaul: exists already, skipped\(note): \(TerminalText.shown(destination))")
        }
    }
}
