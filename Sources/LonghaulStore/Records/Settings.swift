package import LonghaulModel

/// The conditions and limits that the engine uses, as one text in `setting`: other processes show
/// the reasons of a waiting transfer from the same data.
enum ConditionsRecord {
    static let key = "engineView"

    static func text(_ view: EngineView) -> String { StoredJSON.encode(view) }

    static func read(_ text: String) -> EngineView? { StoredJSON.decode(EngineView.self, text) }
}

/// The limits under `outlook`, and beside them a reading under the name of each condition.
extension EngineView: Codable {
    private struct Entry: Codable {
        var value: String?
        var source: String
        var since: Timestamp?
        var names: NetworkNames?
        /// Where each file system is mounted.
        var directories: [String: String]?
    }

    private struct Key: CodingKey {
        static let outlook = Key(stringValue: "outlook")

        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let entries = try decoder.container(keyedBy: Key.self)
        self.init(
            conditions: Conditions(),
            outlook: try entries.decode(PublishedLimits.self, forKey: .outlook))
        for kind in ConditionKind.allCases {
            let key = Key(stringValue: kind.rawValue)
            guard let entry = try entries.decodeIfPresent(Entry.self, forKey: key) else { continue }
            conditions[kind] = Reading(entry.value, source: entry.source, since: entry.since)
            if kind == .network { conditions.network.names = entry.names }
            if kind == .mounted, let directories = entry.directories {
                conditions.mounted.value?.directories = directories
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var entries = encoder.container(keyedBy: Key.self)
        try entries.encode(outlook, forKey: .outlook)
        for kind in ConditionKind.allCases {
            let reading = conditions[kind]
            let directories = kind == .mounted ? conditions.mounted.value?.directories : nil
            try entries.encode(
                Entry(
                    value: reading.value, source: reading.source, since: reading.since,
                    names: reading.names, directories: directories),
                forKey: Key(stringValue: kind.rawValue))
        }
    }
}

/// The basis of an engine's decisions, as other processes see it.
package struct EngineView: Hashable, Sendable {
    package var conditions: Conditions
    package var outlook: PublishedLimits

    package init(conditions: Conditions, outlook: PublishedLimits = PublishedLimits()) {
        self.conditions = conditions
        self.outlook = outlook
    }
}

/// The rows of `setting`.
struct SettingRows: ConnectionRows {
    let connection: Connection

    func value(of key: String) throws -> String? {
        try connection.value("SELECT value FROM setting WHERE key = ?1", key)
    }

    func set(_ key: String, to value: String) throws {
        try connection.run(
            "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2",
            key, value)
    }

    func remove(_ key: String) throws {
        try connection.run("DELETE FROM setting WHERE key = ?1", key)
    }
}

/// Finds the transfers to which clients have given a gid (``TransferOptions/gid``), by rows of
/// `setting` that come and go with them.
struct GIDRows: ConnectionRows {
    let connection: Connection

    func transfer(of gid: String) throws -> TransferID? {
        try SettingRows(connection).value(of: key(gid)).flatMap { Int64($0) }
            .map(TransferID.init(rawValue:))
    }

    /// - Parameter prefix: Hexadecimal digits, in lower case.
    func transfers(of prefix: String, limit: Int) throws -> [TransferID] {
        let found: [String] = try connection.values(
            "SELECT value FROM setting WHERE key >= ?1 AND key < ?1 || 'g' ORDER BY key LIMIT ?2",
            key(prefix), limit)
        return found.compactMap { Int64($0) }.map(TransferID.init(rawValue:))
    }

    /// - Throws: `conflict` where another transfer has it.
    func checkIsFree(_ gid: String) throws {
        guard let id = try transfer(of: gid) else { return }
        throw LonghaulError(.conflict, "GID \(gid) is already used, by transfer \(id)")
    }

    func add(_ gid: String, of id: TransferID) throws {
        try SettingRows(connection).set(key(gid), to: "\(id)")
    }

    func remove(_ gid: String) throws {
        try SettingRows(connection).remove(key(gid))
    }

    private func key(_ gid: String) -> String { "gid.\(gid)" }
}

/// The places of transfers that clients have moved in the queue, as rows of `setting`; the place of
/// all others is their id. Places are exchanged and never invented, so that they do not run out,
/// and transfers that are enqueued later come after all of them.
struct PlaceRows: ConnectionRows {
    let connection: Connection

    private static let prefix = "place."

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

    /// Waiting and paused transfers in the order of their turns: by priority, then by place.
    func turns(limit: Int) throws -> [QueueTurn] {
        let places = try all()
        let turns = try connection.all(
            """
            SELECT id, priority FROM transfer INDEXED BY transferLive WHERE ended = 0 \
            AND phase = 0 LIMIT ?1
            """, limit
        ) { (row: StoredRow<Int>) in
            let id: TransferID = row[0]
            return QueueTurn(id: id, priority: row[1], place: places[id] ?? id.rawValue)
        }
        return turns.sorted { ($0.priority, $0.place, $0.id) < ($1.priority, $1.place, $1.id) }
    }

    /// Moves a transfer before or behind another one of its priority.
    ///
    /// - Throws: `conflict` where one of them does not wait, their priorities differ, or more than
    ///   `most` others lie between.
    func move(_ id: TransferID, _ side: QueueSide, of other: TransferID, atMost most: Int) throws {
        let turns = try turns(limit: .max)
        guard let from = turns.firstIndex(where: { $0.id == id }),
            let to = turns.firstIndex(where: { $0.id == other })
        else {
            throw LonghaulError(
                .conflict, "only transfers that wait have an order", transferID: id)
        }
        guard turns[from].priority == turns[to].priority else {
            throw LonghaulError(
                .conflict, "\(other) has another priority; change the priority first",
                transferID: id)
        }
        guard abs(from - to) <= most else {
            throw LonghaulError(
                .conflict, "a transfer passes at most \(most) others at once", transferID: id)
        }
        var ids = turns[min(from, to)...max(from, to)].map(\.id).filter { $0 != id }
        guard let index = ids.firstIndex(of: other) else { return }
        ids.insert(id, at: side == .before ? index : index + 1)
        try arrange(ids)
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

/// A waiting transfer with what its turn depends on.
struct QueueTurn {
    var id: TransferID
    var priority: Int
    var place: Int64
}

/// Where a moved transfer goes.
package enum QueueSide: Sendable {
    case before, after
}
