import Longhaul

/// The table that `list` prints.
struct TransferTable {
    private var layout: TableLayout
    private let terminal: TerminalFacts
    private let wait: WaitText
    /// Shown as `~`.
    private let home: String?

    init(terminal: TerminalFacts, time: TimeText, home: String?) {
        self.terminal = terminal
        self.home = home
        wait = WaitText(time: time)
        layout = TableLayout(
            columns: [
                .init(title: "ID", alignsRight: true),
                .init(title: "STATE"),
                .init(title: "DONE", alignsRight: true, dropRank: 1),
                .init(title: "SIZE", alignsRight: true, dropRank: 4),
                .init(title: "RATE/WAITS FOR", shrinksTo: 12, isSentence: true, dropRank: 3),
                .init(title: "DESTINATION", shrinksTo: 10, dropRank: 2),
            ],
            width: terminal.columns, ellipsis: terminal.ellipsis)
    }

    /// The lines of one page; the first page brings the titles.
    mutating func lines(_ transfers: [Transfer], isFirstPage: Bool) -> [String] {
        let lines = layout.lines(transfers.map(cells), includingTitles: isFirstPage)
        guard terminal.hasColour else { return lines }
        let titles = isFirstPage ? [terminal.styled(lines[0], .bold)] : []
        return titles
            + zip(lines.dropFirst(titles.count), transfers).map { coloured($0, $1.state) }
    }

    private func cells(_ transfer: Transfer) -> [String] {
        [
            transfer.id.description,
            transfer.state.rawValue,
            done(transfer),
            transfer.bytesTotal.map(Units.size) ?? "",
            now(transfer),
            place(transfer),
        ]
    }

    /// Destination of the file; for uploads, its source.
    private func place(_ transfer: Transfer) -> String {
        let path = path(transfer.path)
        if transfer.kind == .download { return path }
        let arrow = terminal.hasUnicode ? " → " : " -> "
        return path + arrow + TerminalText.shown(Redaction.url(transfer.url))
    }

    private func done(_ transfer: Transfer) -> String {
        if transfer.state == .completed { return "100%" }
        if transfer.bytesTotal != nil {
            return Units.percent(transfer.bytesDone, of: transfer.bytesTotal)
        }
        return transfer.bytesDone > 0 ? Units.size(transfer.bytesDone) : "-"
    }

    /// The transfer's present rate, or the reason why it does not run.
    private func now(_ transfer: Transfer) -> String {
        switch transfer.state {
        case .running:
            if !transfer.waitingFor.isEmpty { return wait.short(transfer.waitingFor) }
            if transfer.bytesChecked != nil { return "checking" }
            guard let rate = transfer.bytesPerSecond else { return "starting" }
            let left = TransferText.secondsLeft(transfer).map { ", " + Units.duration($0) } ?? ""
            return Units.rate(rate) + left
        case .waiting: return wait.short(transfer.waitingFor, transfer)
        case .failed:
            return transfer.error.map(TransferText.words) ?? ""
        case .completed: return transfer.isSkipped ? "skipped" : ""
        case .paused, .cancelled: return ""
        }
    }

    private func path(_ path: String) -> String {
        let shown = TerminalText.shown(path)
        guard let home, home.utf8.count > 1, shown.hasPrefix(home + "/") else { return shown }
        return "~" + shown.dropFirst(home.count)
    }

    private func coloured(_ line: String, _ state: TransferState) -> String {
        switch state {
        case .running: terminal.styled(line, .green)
        case .failed: terminal.styled(line, .red)
        case .paused: terminal.styled(line, .yellow)
        case .completed, .cancelled: terminal.styled(line, .dim)
        case .waiting: line
        }
    }
}
