internal import LonghaulModel

/// The row of a fetch: ``FetchState``, saved whole.
enum FetchRecord {
    /// SQL for a fetch `f` of a transfer `t`: see ``Candidate/isUnresumable``.
    static let isUnresumable = """
        CASE WHEN f.upload IS NOT NULL \
        THEN json_extract(f.upload, '$.sentBound') > 0 \
        AND json_extract(f.upload, '$.address') IS NULL \
        WHEN f.bytesFetched > 0 THEN f.validator = '\(StoredJSON.text(Validator()))' \
        OR (SELECT ignoresRanges FROM origin WHERE id = t.originID) END
        """

    enum Column: Int32, StoredColumn {
        case id, generation, partPath, partDevice, partInode, durable, validator, bytesTotal
        case bytesFetched, attempts, restarts, fruitlessAttempts, emptyAnswers, source
        case effectiveURL, proposedName, contentCoding, askedURL, response, partBirth, publication
        case partMount, prefetched, upload, digestRefuted, leader
    }

    /// See ``FetchState/leader``.
    private static let saved = Column.allCases.filter { $0 != .leader }

    private static let select = "SELECT \(Column.list) FROM fetch WHERE id = ?"
    private static let update = "UPDATE fetch SET \(saved.dropFirst().assignments) WHERE id = ?1"
    private static let insert =
        "INSERT INTO fetch (\(saved.list)) VALUES (\(saved.parameters))"

    static func find(_ id: FetchID, _ connection: Connection) throws -> FetchState? {
        try connection.first(select, id, read: read)
    }

    static func save(_ state: FetchState, _ connection: Connection) throws {
        try write(state, update, id: state.id, connection)
    }

    /// Makes a row; the state's id is that of another one, or none.
    static func insert(_ state: FetchState, _ connection: Connection) throws -> FetchID {
        try write(state, insert, id: nil, connection)
        return FetchID(rawValue: connection.lastInsertedRowID)
    }

    private static func write(
        _ state: FetchState, _ sql: String, id: FetchID?, _ connection: Connection
    ) throws {
        let statement = try connection.prepare(sql)
        let row = RowParameters<Column>(statement: statement)
        row.bind(.id, id)
        row.bind(.generation, state.generation)
        row.bind(.partPath, state.partPath)
        row.bind(.partDevice, state.partIdentity.map { Int64(bitPattern: $0.device) })
        row.bind(.partInode, state.partIdentity.map { Int64(bitPattern: $0.inode) })
        row.bind(.durable, state.durable.description)
        row.bind(.validator, state.validator.map { StoredJSON.text($0) })
        row.bind(.bytesTotal, state.bytesTotal)
        row.bind(.bytesFetched, state.bytesFetched)
        row.bind(.attempts, state.attempts)
        row.bind(.restarts, state.restarts)
        row.bind(.fruitlessAttempts, state.fruitlessAttempts)
        row.bind(.emptyAnswers, state.emptyAnswers)
        row.bind(.source, state.source)
        row.bind(.effectiveURL, state.effectiveURL)
        row.bind(.proposedName, state.proposedName)
        row.bind(.contentCoding, state.contentCoding)
        row.bind(.askedURL, state.askedURL)
        row.bind(.response, state.response.map { StoredJSON.encode($0) })
        row.bind(.partBirth, state.partIdentity?.birth ?? 0)
        row.bind(.publication, state.publication)
        row.bind(.partMount, state.partMount)
        row.bind(.prefetched, state.isPrefetched)
        row.bind(.upload, state.upload.map { StoredJSON.encode($0) })
        row.bind(.digestRefuted, state.isDigestRefuted)
        try statement.runOnce()
    }

    /// Values that cannot be read count as unknown: bytes whose ranges or validator are lost are
    /// fetched again.
    private static func read(_ row: StoredRow<Column>) -> FetchState {
        var state = FetchState(id: row[.id])
        state.generation = row.count64(.generation)
        state.partPath = row[.partPath]
        if !row.isNull(.partDevice) {
            state.partIdentity = row.fileIdentity(
                device: .partDevice, inode: .partInode, birth: .partBirth)
        }
        state.durable = ByteRanges(stored: row[.durable]) ?? ByteRanges()
        state.validator = row.json(.validator)
        state.bytesTotal = row.optionalLength(.bytesTotal)
        state.bytesFetched = row.count64(.bytesFetched)
        state.attempts = row.count(.attempts)
        state.restarts = row.count(.restarts)
        state.fruitlessAttempts = row.count(.fruitlessAttempts)
        state.emptyAnswers = row.count(.emptyAnswers)
        state.source = row.count(.source)
        state.effectiveURL = row[.effectiveURL]
        state.proposedName = row[.proposedName]
        state.contentCoding = row[.contentCoding]
        state.askedURL = row[.askedURL]
        state.response = row.json(.response)
        state.publication = row[.publication]
        state.partMount = row[.partMount]
        state.isPrefetched = row[.prefetched]
        state.upload = row.json(.upload)
        state.isDigestRefuted = row[.digestRefuted]
        state.leader = row[.leader]
        return state
    }
}

enum OriginRecord {
    private enum Column: Int32, StoredColumn {
        case name, ignoresRanges, mishandlesIfRange, speaksHTTP2, coolDownUntil, failures
        case bytesPerSecond, coolDownSince, pauseUntil, uploads, lastFailure, isVerified

        var sql: String {
            switch self {
            case .isVerified:
                "EXISTS (SELECT 1 FROM setting WHERE key = '\(verifiedKey)' || name)"
            default: "\(self)"
            }
        }
    }

    /// Rows of `setting` by the names of origins: ``OriginMemory/isVerified``.
    private static let verifiedKey = "verified."

    private static let saved = Column.allCases.filter { $0 != .isVerified }

    private static let selectByName = "SELECT \(Column.list) FROM origin WHERE name = ?"
    private static let selectByID = "SELECT \(Column.list) FROM origin WHERE id = ?"
    private static let save = """
        INSERT INTO origin (\(saved.list)) VALUES (\(saved.parameters)) \
        ON CONFLICT (name) DO UPDATE SET \(saved.dropFirst().replacements)
        """

    /// The memory of an origin; default values for an unknown one.
    static func find(_ name: String, _ connection: Connection) throws -> OriginMemory {
        try connection.first(selectByName, name, read: read) ?? OriginMemory(origin: name)
    }

    static func find(_ id: Int64, _ connection: Connection) throws -> OriginMemory? {
        try connection.first(selectByID, id, read: read)
    }

    static func save(_ memory: OriginMemory, _ connection: Connection) throws {
        let statement = try connection.prepare(save)
        let row = RowParameters<Column>(statement: statement)
        row.bind(.name, memory.origin)
        row.bind(.ignoresRanges, memory.ignoresRanges)
        row.bind(.mishandlesIfRange, memory.mishandlesIfRange)
        row.bind(.speaksHTTP2, memory.speaksHTTP2)
        row.bind(.coolDownUntil, memory.coolDownUntil)
        row.bind(.failures, memory.failures)
        row.bind(.bytesPerSecond, memory.bytesPerSecond)
        row.bind(.coolDownSince, memory.coolDownSince)
        row.bind(.pauseUntil, memory.pauseUntil)
        row.bind(.uploads, memory.uploads?.rawValue)
        row.bind(.lastFailure, memory.lastFailure)
        try statement.runOnce()
        guard memory.isVerified else { return }
        try connection.run(
            "INSERT OR IGNORE INTO setting (key, value) VALUES (?1, '')",
            verifiedKey + memory.origin)
    }

    private static func read(_ row: StoredRow<Column>) -> OriginMemory {
        var memory = OriginMemory(origin: row[.name])
        memory.ignoresRanges = row[.ignoresRanges]
        memory.mishandlesIfRange = row[.mishandlesIfRange]
        memory.speaksHTTP2 = row[.speaksHTTP2]
        memory.coolDownUntil = row[.coolDownUntil]
        memory.failures = row.count(.failures)
        memory.bytesPerSecond = row[.bytesPerSecond]
        memory.coolDownSince = row[.coolDownSince]
        memory.pauseUntil = row[.pauseUntil]
        memory.uploads = row.known(.uploads)
        memory.lastFailure = row[.lastFailure]
        memory.isVerified = row[.isVerified]
        return memory
    }
}
