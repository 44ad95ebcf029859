import Longhaul
import LonghaulPlatform

/// Events for people, page by page.
struct EventTable {
    private let time: TimeText
    private let terminal: TerminalFacts
    private var layout: TableLayout
    private var isFirstPage = true

    init(terminal: TerminalFacts, time: TimeText) {
        self.time = time
        self.terminal = terminal
        layout = TableLayout(
            columns: [
                .init(title: "SEQ", alignsRight: true),
                .init(title: "WHEN", dropRank: 2),
                .init(title: "EVENT"),
                .init(title: "TRANSFER", alignsRight: true, dropRank: 1),
                .init(title: "SESSION", shrinksTo: 8, dropRank: 3),
                .init(title: "FILE", shrinksTo: 12, dropRank: 4),
            ], width: terminal.columns, ellipsis: terminal.ellipsis)
    }

    /// A page of rows, with the titles before the first one. An unacknowledged event has a `*`
    /// after its number.
    mutating func lines(_ events: [EventRecord]) -> [String] {
        let rows = events.map { event in
            [
                "\(event.sequence)\(event.acknowledgedAt == nil ? "*" : " ")",
                time.full(event.at), TerminalText.shown(event.type),
                event.transferID.map { "\($0.rawValue)" } ?? "-",
                TerminalText.shown(event.session), event.path.map { TerminalText.shown($0) } ?? "",
            ]
        }
        var lines = layout.lines(rows, includingTitles: isFirstPage)
        if isFirstPage { lines[0] = terminal.styled(lines[0], .bold) }
        isFirstPage = false
        return lines
    }
}
