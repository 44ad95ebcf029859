import LonghaulModel

/// The windows of transfers. Each text has one row, which never changes, and the number of the row
/// stands in the eligibility keys of all transfers that have these windows.
struct CalendarRows: ConnectionRows {
    let connection: Connection

    /// The number of the windows, which are recorded where they are new; 0 = at any time.
    func place(of windows: TimeWindows?) throws -> Int64 {
        guard let text = windows?.stored else { return 0 }
        let known: Int64? = try connection.value("SELECT id FROM calendar WHERE windows = ?1", text)
        if let known { return known }
        try connection.run("INSERT INTO calendar (windows) VALUES (?1)", text)
        return connection.lastInsertedRowID
    }

    /// The number that the columns `schedule` and `eligibility` have of a key.
    func stored(_ key: EligibilityKey) throws -> Int64 {
        key.stored(place: try place(of: key.windows))
    }

    /// The key of a stored number. Unreadable windows count as no windows: their transfer is
    /// unreadable and not carried out.
    func key(_ stored: Int64) throws -> EligibilityKey {
        let windows: String? = try connection.value(
            "SELECT windows FROM calendar WHERE id = ?1", EligibilityKey.place(inStored: stored))
        return EligibilityKey(stored: stored, windows: windows.flatMap { TimeWindows(stored: $0) })
    }

    // MARK: - In queries

    /// The text of the windows of a column, for ``key(_:_:windows:)``.
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
            stored: row[column], windows: text.flatMap { TimeWindows(stored: $0) })
    }

    /// False if a key has windows that cannot be read.
    static func isReadable<Column>(
        _ row: StoredRow<Column>, _ column: Column, windows: Column
    ) -> Bool {
        EligibilityKey.place(inStored: row[column]) == 0
            || key(row, column, windows: windows).windows != nil
    }
}
