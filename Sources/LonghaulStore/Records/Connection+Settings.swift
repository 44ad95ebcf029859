/// The rows of `setting`.
extension Connection {
    func setting(_ key: String) throws -> String? {
        try first("SELECT value FROM setting WHERE key = ?1", key) { $0.text(0) }
    }

    func set(_ key: String, to value: String) throws {
        try run(
            "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2",
            key, value)
    }

    func removeSetting(_ key: String) throws {
        try run("DELETE FROM setting WHERE key = ?1", key)
    }
}
