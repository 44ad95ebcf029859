import Longhaul

/// Rows of transfers on a terminal.
private let progressRows = 16

/// The content of the live display: a line for each active transfer, and one for all.
struct ProgressView: Equatable {
    struct Row: Equatable {
        /// Safe for a terminal.
        var name: String
        var done: Int64
        var total: Int64?
        var rate: Double?
        var secondsLeft: Double?
        /// The reason why it waits, if it does not move.
        var note: String?
    }

    struct Totals: Equatable {
        var running = 0
        var waiting = 0
        var completed = 0
        var failed = 0
        var done: Int64 = 0
        /// `nil` as long as one of the sizes is unknown.
        var total: Int64?
        var rate: Double = 0
    }

    /// Rows that do not fit are left out; the total line counts them.
    var rows: [Row]
    /// `nil` for a single transfer.
    var totals: Totals?
    /// Running continued tasks, safe for a terminal.
    var tasks: [String] = []

    /// At most as many lines as the terminal has, less one for the cursor.
    func lines(_ terminal: TerminalFacts) -> [String] {
        let width = terminal.columns ?? 80
        let room = min(progressRows, max(1, terminal.rows - 2))
        let lines = rows.prefix(room).map { line($0, width: width, terminal) }
        let tasks = tasks.prefix(room).map {
            DisplayWidth.cut($0, to: max(8, width - 1), ellipsis: terminal.ellipsis)
        }
        return lines + tasks + (totals.map { [line($0, width: width)] } ?? [])
    }

    // MARK: - One line

    /// If the width does not suffice, parts at the right are dropped in this order: the bar, the
    /// size, the rate, the time left.
    private func line(_ row: Row, width: Int, _ terminal: TerminalFacts) -> String {
        let percent = DisplayWidth.padded(
            row.total == nil ? "" : Units.percent(row.done, of: row.total), to: 4, right: true)
        let size = Units.progress(row.done, of: row.total)
        var tail: [String] = []
        if let note = row.note {
            let start = width >= 60 ? [percent, size] : width >= 30 ? [percent] : []
            // The name stays readable beside a long reason.
            let taken = DisplayWidth.of(start.joined(separator: " ")) + 3
            let name = max(4, min(DisplayWidth.of(row.name), max(12, width / 4)))
            let shown = DisplayWidth.cut(
                note, to: max(8, width - taken - name), ellipsis: terminal.ellipsis)
            tail = start.isEmpty ? [percent] : start + [shown]
        } else {
            let rate = row.rate.map(Units.rate) ?? ""
            let left = row.secondsLeft.map(Units.duration) ?? ""
            let time = DisplayWidth.padded(left, to: 7, right: true)
            if width >= 60 {
                tail = [
                    percent, DisplayWidth.padded(size, to: 15, right: true),
                    DisplayWidth.padded(rate, to: 11, right: true), time,
                ]
            } else if width >= 36 {
                tail = [percent, DisplayWidth.padded(rate, to: 11, right: true), time]
            } else {
                tail = [percent]
            }
        }
        let end = tail.joined(separator: " ")
        let room = width - 1 - DisplayWidth.of(end) - 1
        if room < 4 { return DisplayWidth.prefix(end, width - 1) }
        let barWidth = row.note == nil && room >= 34 ? min(30, room / 2) : 0
        let nameWidth = barWidth == 0 ? room : room - barWidth - 1
        let name = DisplayWidth.padded(
            DisplayWidth.shortened(row.name, to: nameWidth, ellipsis: terminal.ellipsis),
            to: nameWidth)
        let bar = barWidth == 0 ? "" : bar(row, barWidth, terminal) + " "
        return trimmed(name + " " + bar + end)
    }

    private func bar(_ row: Row, _ width: Int, _ terminal: TerminalFacts) -> String {
        let inner = width - 2
        guard let total = row.total, total > 0 else {
            return "[" + String(repeating: " ", count: inner) + "]"
        }
        let part = Double(min(max(row.done, 0), total)) / Double(total)
        let filled = Int(part * Double(inner))
        let (full, empty) = terminal.hasUnicode ? ("━", " ") : ("=", " ")
        return "["
            + terminal.styled(String(repeating: full, count: filled), .green)
            + String(repeating: empty, count: inner - filled) + "]"
    }

    private func line(_ totals: Totals, width: Int) -> String {
        DisplayWidth.prefix(ProgressView.text(totals), width - 1)
    }

    static func text(_ totals: Totals) -> String {
        var parts = ["\(totals.running) running"]
        if totals.waiting > 0 { parts.append("\(totals.waiting) waiting") }
        parts.append("\(totals.completed) done")
        if totals.failed > 0 { parts.append("\(totals.failed) failed") }
        var line = parts.joined(separator: ", ")
        line += "  " + Units.progress(totals.done, of: totals.total)
        line += "  " + Units.rate(totals.rate)
        if let total = totals.total, totals.rate > 0 {
            line += "  " + Units.duration(Double(max(0, total - totals.done)) / totals.rate)
        }
        return line
    }

    private func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}

extension ProgressView.Totals {
    /// The totals of transfers that have not ended. `moving` may include waiting transfers, and may
    /// lack some pending ones.
    init(moving: [Transfer], pending: Int, bytesOfEnded: Int64) {
        running = moving.count { $0.state == .running }
        waiting = pending - running
        done = moving.reduce(bytesOfEnded) { $0.addingClamped($1.bytesDone) }
        rate = moving.reduce(0) { $0 + ($1.bytesPerSecond ?? 0) }
        if moving.count == pending, moving.allSatisfy({ $0.bytesTotal != nil }) {
            total = moving.reduce(bytesOfEnded) { $0.addingClamped($1.bytesTotal ?? 0) }
        }
    }
}
