import Longhaul

/// The table that `list` prints.
struct TransferTable {
    private var layout: TableLayout
    private let terminal: TerminalFacts
    private let wait: WaitText
    /// Shown as `~`.
    private let home: String?
    private let isLong: Bool

    /// - Parameter isLong: Session, priority and URL have columns, and nothing is cut off.
    init(terminal: TerminalFacts, time: TimeText, home: String?, isLong: Bool = false) {
        self.terminal = terminal
        self.home = home
        self.isLong = isLong
        wait = WaitText(time: time)
        var columns: [TableLayout.Column] = [
            .init(title: "ID", alignsRight: true),
            .init(title: "STATE"),
            .init(title: "DONE", alignsRight: true, dropRank: 1),
            .init(title: "SIZE", alignsRight: true, dropRank: 4),
            .init(title: "RATE/WAITS FOR", shrinksTo: 12, isSentence: true, dropRank: 3),
        ]
        if isLong { columns += [.init(title: "SESSION"), .init(title: "PRIORITY")] }
        columns.append(.init(title: "DESTINATION", shrinksTo: 10, dropRank: 2))
        if isLong { columns.append(.init(title: "URL")) }
        layout = TableLayout(
            columns: columns, width: isLong ? nil : terminal.columns, ellipsis: terminal.ellipsis)
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
        let cells = [
            transfer.id.description,
            transfer.state.rawValue,
            done(transfer),
            transfer.bytesTotal.map(Units.size) ?? "",
            now(transfer),
        ]
        if !isLong { return cells + [place(transfer)] }
        return cells + [
            TerminalText.shown(transfer.session), transfer.priority.name, path(transfer.path),
            url(transfer),
        ]
    }

    /// Destination of the file, with the URL where its name says nothing; for uploads, its source
    /// and the URL.
    private func place(_ transfer: Transfer) -> String {
        let path = path(transfer.path)
        let arrows = terminal.hasUnicode ? (" ← ", " → ") : (" <- ", " -> ")
        switch transfer.kind {
        case .download:
            let saysNothing = TransferTable.saysNothing(TransferText.name(transfer))
            return saysNothing ? path + arrows.0 + url(transfer) : path
        case .upload: return path + arrows.1 + url(transfer)
        }
    }

    private func url(_ transfer: Transfer) -> String {
        TerminalText.shown(Redaction.url(transfer.url))
    }

    /// The name of a file is one that many URLs end with, or a number.
    static func saysNothing(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." && $0 != " " }.lowercased()
        let isNumber = stem.count >= 16 && stem.allSatisfy { $0.isHexDigit || $0 == "-" }
        return emptyNames.contains(stem) || isNumber || !stem.contains(where: \.isLetter)
    }

    private static let emptyNames: Set<String> = [
        "archive", "asset", "blob", "content", "data", "download", "export", "file", "get",
        "index", "latest", "main", "master", "output", "raw", "release", "stream", "view",
    ]

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
            if TransferText.waitsForBytes(transfer) != nil { return "waits for more" }
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
