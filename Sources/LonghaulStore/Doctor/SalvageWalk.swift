/// Reads all rows of one table that can be read, each once: forward until reading fails, backward
/// from the end until it fails, and then into what lies between from ever more distant points, in
/// both directions from each.
struct SalvageWalk {
    /// Points tried between two readable stretches. Each is twice as far as the one before until
    /// one is readable.
    private static let probesMax = 20_000

    let source: SalvageSource
    let table: String
    let columns: [String]
    /// Places where reading failed.
    private(set) var failures = 0

    init(source: SalvageSource, table: String, columns: [String]) {
        self.source = source
        self.table = table
        self.columns = columns
    }

    /// Hands out each row, the row id first.
    mutating func run(_ body: (Int64, [SalvageSource.Value]) throws -> Void) throws {
        var low = Int64.min
        if try forward(after: &low, below: nil, body) { return }
        failures += 1
        var high = Int64.max
        if try backward(above: low, from: &high, body) { return }
        failures += 1
        try between(&low, high, body)
    }

    /// Reads (`low`, `high`), moving `low` to the last row read. `false` when reading failed.
    private func forward(
        after low: inout Int64, below high: Int64?,
        _ body: (Int64, [SalvageSource.Value]) throws -> Void
    ) throws -> Bool {
        var last = low
        let isComplete = try source.read(
            "\(select) WHERE rowid > ?1 AND rowid < ?2 ORDER BY rowid", [low, high ?? .max]
        ) { row in
            guard case .integer(let id) = row[0] else { return }
            try body(id, Array(row.dropFirst()))
            last = id
        }
        low = last
        return isComplete
    }

    /// Reads (`low`, `high`) from its end, moving `high` to the last row read. `false` when reading
    /// failed.
    private func backward(
        above low: Int64, from high: inout Int64,
        _ body: (Int64, [SalvageSource.Value]) throws -> Void
    ) throws -> Bool {
        var last = high
        let isComplete = try source.read(
            "\(select) WHERE rowid > ?1 AND rowid < ?2 ORDER BY rowid DESC", [low, high]
        ) { row in
            guard case .integer(let id) = row[0] else { return }
            try body(id, Array(row.dropFirst()))
            last = id
        }
        high = last
        return isComplete
    }

    private mutating func between(
        _ low: inout Int64, _ high: Int64, _ body: (Int64, [SalvageSource.Value]) throws -> Void
    ) throws {
        // Without a row from either side there is nothing to start from but the ids that are usual.
        low = max(low, 0)
        var step: Int64 = 1
        var probes = 0
        while probes < Self.probesMax {
            probes += 1
            let (point, overflow) = low.addingReportingOverflow(step)
            if overflow || point >= high { return }
            guard try isReadable(point, below: high) else {
                let (next, tooFar) = step.multipliedReportingOverflow(by: 2)
                if tooFar { return }
                step = next
                continue
            }
            var start = point + 1
            // What lies between the last bad place and the point, from the point downwards.
            if try !backward(above: low, from: &start, body) { failures += 1 }
            low = point
            if try forward(after: &low, below: high, body) { return }
            failures += 1
            step = 1
        }
    }

    private func isReadable(_ point: Int64, below high: Int64) throws -> Bool {
        var found = false
        let isComplete = try source.read(
            """
            SELECT rowid FROM \(table) NOT INDEXED WHERE rowid >= ?1 AND rowid < ?2 \
            ORDER BY rowid LIMIT 1
            """, [point, high]
        ) { _ in found = true }
        return isComplete && found
    }

    private var select: String {
        "SELECT rowid, \(columns.joined(separator: ", ")) FROM \(table) NOT INDEXED"
    }
}
