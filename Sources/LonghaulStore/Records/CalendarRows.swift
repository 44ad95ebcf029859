import LonghaulModel

/// The terms of transfers: windows, and needs with names. Each text has one row, which never
/// changes, and the number of the row stands in the eligibility keys of all transfers that have
/// these terms.
struct CalendarRows: ConnectionRows {
    let connection: Connection

    /// The number of the terms, which are recorded where they are new; 0 = none.
    func place(of terms: EligibilityTerms) throws -> Int64 {
        if terms.isEmpty { return 0 }
        let text = terms.stored
        let known: Int64? = try connection.value("SELECT id FROM calendar WHERE windows = ?1", text)
        if let known { return known }
        try connection.run("INSERT INTO calendar (windows) VALUES (?1)", text)
        return connection.lastInsertedRowID
    }

    /// The number that the columns `schedule` and `eligibility` have of a key.
    func stored(_ key: EligibilityKey) throws -> Int64 {
        key.stored(place: try place(of: key.terms))
    }

    /// The key of a stored number. Unreadable terms count as none: their transfer is
    /// unreadable and not carried out.
    func key(_ stored: Int64) throws -> EligibilityKey {
        let terms: String? = try connection.value(
            "SELECT windows FROM calendar WHERE id = ?1", EligibilityKey.place(inStored: stored))
        return EligibilityKey(
            stored: stored, terms: terms.flatMap { EligibilityTerms(stored: $0) })
    }

    // MARK: - In queries

    /// The text of the terms of a column, for ``key(_:_:windows:)``.
    static func windows(_ column: String) -> String {
        let bits = EligibilityKey.placeBits
        return "(SELECT windows FROM calendar WHERE id = \(column) >> \(bits.lowerBound)"
            + " & \((1 << bits.count) - 1))"
    }

    static func key<Column>(
        _ row: StoredRow<Column>, _ column: Column, windows: Column
    ) -> EligibilityKey {
        let text: String? = row[windows]
        return EligibilityKey(
            stored: row[column], terms: text.flatMap { EligibilityTerms(stored: $0) })
    }

    /// False if a key has terms that cannot be read.
    static func isReadable<Column>(
        _ row: StoredRow<Column>, _ column: Column, windows: Column
    ) -> Bool {
        EligibilityKey.place(inStored: row[column]) == 0
            || !key(row, column, windows: windows).terms.isEmpty
    }
}
