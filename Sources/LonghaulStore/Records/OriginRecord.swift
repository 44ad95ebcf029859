internal import LonghaulCore

enum OriginRecord {
    private static let columns = """
        name, ignoresRanges, mishandlesIfRange, speaksHTTP2, coolDownUntil, failures, \
        bytesPerSecond, coolDownSince, pauseUntil
        """

    static let select = "SELECT \(columns) FROM origin WHERE name = ?"

    static let selectByID = "SELECT \(columns) FROM origin WHERE id = ?"

    static let save = """
        INSERT INTO origin (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
        ON CONFLICT (name) DO UPDATE SET ignoresRanges = ?2, mishandlesIfRange = ?3, \
        speaksHTTP2 = ?4, coolDownUntil = ?5, failures = ?6, bytesPerSecond = ?7, \
        coolDownSince = ?8, pauseUntil = ?9
        """

    static func read(_ row: StoredRow) -> OriginMemory {
        var memory = OriginMemory(origin: row.text(0))
        memory.ignoresRanges = row.bool(1)
        memory.mishandlesIfRange = row.bool(2)
        memory.speaksHTTP2 = row.bool(3)
        memory.coolDownUntil = row.optionalTimestamp(4)
        memory.failures = row.count(5)
        memory.bytesPerSecond = row.optionalDouble(6)
        memory.coolDownSince = row.optionalTimestamp(7)
        memory.pauseUntil = row.optionalTimestamp(8)
        return memory
    }
}
