import Longhaul

/// The sum of several reports, see ``RunReport``.
struct ReportRollup {
    /// A line's facts about a transfer.
    private struct Entry {
        var state = TransferState.failed
        /// The code of its error.
        var reason: String?
        var bytes: Int64 = 0
        /// The line read; `nil` = the transfer has completed.
        var line: String?
    }

    /// Reports without a summary.
    private(set) var unfinishedRuns: [String] = []
    private var runs = 0
    private var entries: [String: Entry] = [:]
    /// The keys of `entries` in the order of the reports.
    private var order: [String] = []

    /// Adds a report. The last line of a killed run may be cut off, and is left out then.
    mutating func read(_ path: String) throws {
        let lines = try ByteLines(path: path)
        var isFinished = false
        var problem: LonghaulError?
        while let line = try lines.next() {
            if let problem { throw problem }
            if line.isEmpty { continue }
            do throws(LonghaulError) {
                isFinished = try add(line)
            } catch {
                problem = .usage(
                    "\(TerminalText.shown(path)), line \(lines.number): \(error.message)")
            }
        }
        // A file that is no report at all.
        if let problem, lines.number == 1 { throw problem }
        runs += 1
        if !isFinished || problem != nil { unfinishedRuns.append(path) }
    }

    /// Returns whether the line is the summary.
    private mutating func add(
        _ line: UnsafeBufferPointer<UInt8>
    ) throws(LonghaulError) -> Bool {
        var entry = Entry()
        var key = ""
        var isSummary = false
        try JSONProblem.asUsage {
            var scanner = JSONScanner(line)
            try scanner.object { name, scanner in
                if scanner.null() { return }
                switch name {
                case "type": isSummary = try scanner.string() == "summary"
                case "state":
                    guard let state = TransferState(rawValue: try scanner.string()) else {
                        throw LonghaulError.usage("there is no such state")
                    }
                    entry.state = state
                case "bytesDone": entry.bytes = try scanner.integer()
                case "url", "destination", "source":
                    key += name + "\n" + (try scanner.string()) + "\n"
                case "error":
                    try scanner.object { name, scanner in
                        if name == "code" {
                            entry.reason = try scanner.string()
                        } else {
                            _ = try scanner.raw()
                        }
                    }
                default: _ = try scanner.raw()
                }
            }
            try scanner.end()
        }
        if isSummary { return true }
        if key.isEmpty { throw .usage("this is no line of a report") }
        if entry.state != .completed { entry.line = String(decoding: line, as: UTF8.self) }
        let earlier = entries[key]
        if earlier == nil { order.append(key) }
        if earlier?.state != .completed { entries[key] = entry }
        return false
    }

    // MARK: - The sum

    var isComplete: Bool {
        unfinishedRuns.isEmpty && entries.values.allSatisfy { $0.state == .completed }
    }

    /// Incomplete transfers, as input for another run.
    var unfinishedLines: [String] { order.compactMap { entries[$0]?.line } }

    private func count(_ isMeant: (TransferState) -> Bool) -> Int {
        entries.values.count { isMeant($0.state) }
    }

    private var bytes: Int64 {
        entries.values.reduce(0) { sum, entry in
            entry.state == .completed ? sum.addingClamped(entry.bytes) : sum
        }
    }

    /// The most frequent one first.
    private var reasons: [(code: String, count: Int)] {
        var counts: [String: Int] = [:]
        for entry in entries.values where entry.state == .failed {
            counts[entry.reason ?? "unknown", default: 0] += 1
        }
        return counts.map { ($0.key, $0.value) }
            .sorted { ($1.count, $0.code) < ($0.count, $1.code) }
    }

    var lines: [String] {
        let left = count { !$0.hasEnded }
        let cancelled = count { $0 == .cancelled }
        let others =
            (cancelled > 0 ? ", \(Units.count(cancelled)) cancelled" : "")
            + (left > 0 ? ", \(Units.count(left)) left" : "")
        let first =
            "\(Units.count(count { $0 == .completed })) completed, "
            + "\(Units.count(count { $0 == .failed })) failed\(others); \(Units.size(bytes)) in "
            + Units.counted(runs, "run")
        return [first]
            + reasons.map { "  \(Units.count($0.count)) \(TerminalText.shown($0.code))" }
    }

    func write(to json: inout JSONText) {
        json.object {
            $0.field("type", "report")
            $0.field("runs", runs)
            $0.field("unfinishedRuns", unfinishedRuns)
            for state in TransferState.allCases where state.hasEnded {
                $0.field(named: state.rawValue, count { $0 == state })
            }
            $0.field("left", count { !$0.hasEnded })
            $0.field("bytes", bytes)
            $0.field("reasons") {
                for (code, count) in reasons { $0.field(named: code, count) }
            }
        }
    }
}
