internal import LonghaulCore

/// The places of transfers that clients have moved in the queue, as rows of `setting`; all others
/// have their id. Places are exchanged and never made up, so that they do not run out, and what is
/// enqueued later comes after all of them.
struct PlaceRows {
    let connection: Connection

    private static let prefix = "place."

    init(_ connection: Connection) {
        self.connection = connection
    }

    func all() throws -> [TransferID: Int64] {
        let rows = try connection.all("SELECT key, value FROM setting WHERE key GLOB 'place.*'") {
            (key: $0[0] as String, value: $0[1] as String)
        }
        var places: [TransferID: Int64] = [:]
        for row in rows {
            // A row that cannot be read counts as none.
            guard let id = Int64(row.key.dropFirst(Self.prefix.count)), let place = Int64(row.value)
            else { continue }
            places[TransferID(rawValue: id)] = place
        }
        return places
    }

    /// Gives transfers the places that they have together in this order.
    func arrange(_ ids: [TransferID]) throws {
        let known = try all()
        let places = ids.map { known[$0] ?? $0.rawValue }.sorted()
        for (id, place) in zip(ids, places) where place != known[id] ?? id.rawValue {
            try SettingRows(connection).set("\(Self.prefix)\(id)", to: "\(place)")
        }
        try connection.run(
            """
            DELETE FROM setting WHERE key GLOB 'place.*' AND NOT EXISTS (SELECT 1 FROM transfer \
            WHERE id = CAST(substr(key, 7) AS INTEGER) AND ended = 0)
            """)
    }
}
