/// Rows of cells that fit a width: wide cells are shortened, the least important columns dropped.
struct TableLayout {
    struct Column {
        var title: String
        var alignsRight = false
        /// The least width; `nil` = never shortened.
        var shrinksTo: Int?
        /// The end is left out of a cell that is too wide, and not the middle.
        var isSentence = false
        /// If the width does not suffice, the column with the highest rank is dropped first; rank 0
        /// is never dropped.
        var dropRank = 0
    }

    var columns: [Column]
    /// `nil` = unlimited.
    var width: Int?
    var ellipsis = "…"

    /// The width that each column needs, kept from page to page so that a long listing stays
    /// aligned.
    private var naturalWidths: [Int]

    init(columns: [Column], width: Int?, ellipsis: String = "…") {
        self.columns = columns
        self.width = width
        self.ellipsis = ellipsis
        naturalWidths = columns.map { DisplayWidth.of($0.title) }
    }

    /// All rows of a table below bold titles.
    static func lines(
        _ columns: [Column], _ rows: [[String]], _ terminal: TerminalFacts
    ) -> [String] {
        var layout = TableLayout(
            columns: columns, width: terminal.columns, ellipsis: terminal.ellipsis)
        var lines = layout.lines(rows, includingTitles: true)
        lines[0] = terminal.styled(lines[0], .bold)
        return lines
    }

    /// Lays out the rows, whose widths count for later pages, too. Cells must be safe for a
    /// terminal.
    mutating func lines(_ rows: [[String]], includingTitles: Bool) -> [String] {
        for row in rows {
            precondition(row.count == columns.count, "a cell for every column")
            for (index, cell) in row.enumerated() {
                naturalWidths[index] = max(naturalWidths[index], DisplayWidth.of(cell))
            }
        }
        let widths = fittedWidths()
        let titles = includingTitles ? [columns.map(\.title)] : []
        return (titles + rows).map { line($0, widths) }
    }

    private var separator: Int { (width ?? .max) < 60 ? 1 : 2 }

    /// `nil` for a column that is left out.
    private func fittedWidths() -> [Int?] {
        var widths: [Int?] = naturalWidths
        guard let width else { return widths }
        while excess(widths.enumerated().map { $1 == nil ? nil : least($0) }, width) > 0 {
            let candidates = columns.indices.filter {
                widths[$0] != nil && columns[$0].dropRank > 0
            }
            guard let last = candidates.max(by: { columns[$0].dropRank < columns[$1].dropRank })
            else { break }
            widths[last] = nil
        }
        while excess(widths, width) > 0 {
            let candidates = columns.indices.filter { (widths[$0] ?? 0) > least($0) }
            guard let widest = candidates.max(by: { (widths[$0] ?? 0) < (widths[$1] ?? 0) })
            else { break }
            widths[widest] = (widths[widest] ?? 0) - 1
        }
        return widths
    }

    private func least(_ column: Int) -> Int {
        min(naturalWidths[column], columns[column].shrinksTo ?? .max)
    }

    private func excess(_ widths: [Int?], _ width: Int) -> Int {
        let kept = widths.compactMap { $0 }
        return kept.reduce(0, +) + separator * max(0, kept.count - 1) - width
    }

    private func line(_ cells: [String], _ widths: [Int?]) -> String {
        let shown = cells.indices.filter { widths[$0] != nil }
        let parts = shown.map { index in
            let shorten = columns[index].isSentence ? DisplayWidth.cut : DisplayWidth.shortened
            let text = shorten(cells[index], widths[index] ?? 0, ellipsis)
            if index == shown.last, !columns[index].alignsRight { return text }
            return DisplayWidth.padded(
                text, to: widths[index] ?? 0, right: columns[index].alignsRight)
        }
        var line = parts.joined(separator: String(repeating: " ", count: separator))
        while line.last == " " { line.removeLast() }
        // If not even the columns of rank 0 fit, the line is cut rather than wrapped.
        return width.map { DisplayWidth.prefix(line, $0) } ?? line
    }
}
