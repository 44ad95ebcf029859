import Testing

/// What a rule found, as one issue with a line for each place: a test that records hundreds is slow
/// and unreadable.
struct Complaints {
    private static let shown = 50

    private var lines: [String] = []

    mutating func add(_ line: String) {
        lines.append(line)
    }

    func report(sourceLocation: SourceLocation = #_sourceLocation) {
        if lines.isEmpty { return }
        var text = lines.prefix(Complaints.shown).joined(separator: "\n")
        if lines.count > Complaints.shown {
            text += "\nand \(lines.count - Complaints.shown) more"
        }
        Issue.record("\(text)", sourceLocation: sourceLocation)
    }
}
