internal import LonghaulCore

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

    static let columns = """
        id, generation, partPath, partDevice, partInode, durable, validator, bytesTotal, \
        bytesFetched, attempts, restarts, fruitlessAttempts, emptyAnswers, source, effectiveURL, \
        proposedName, contentCoding, askedURL, response, partBirth, publication, \
        partMount, prefetched, upload, digestRefuted
        """

    static let select = "SELECT \(columns), leader FROM fetch WHERE id = ?"

    static let update = """
        UPDATE fetch SET generation = ?2, partPath = ?3, partDevice = ?4, partInode = ?5, \
        durable = ?6, validator = ?7, bytesTotal = ?8, bytesFetched = ?9, attempts = ?10, \
        restarts = ?11, fruitlessAttempts = ?12, emptyAnswers = ?13, source = ?14, \
        effectiveURL = ?15, proposedName = ?16, contentCoding = ?17, \
        askedURL = ?18, response = ?19, partBirth = ?20, publication = ?21, \
        partMount = ?22, prefetched = ?23, upload = ?24, digestRefuted = ?25 \
        WHERE id = ?1
        """

    static let insert = """
        INSERT INTO fetch (\(columns)) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
        ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)
        """

    /// The id is bound separately: it is NULL for a new row.
    static func bind(_ state: FetchState, to statement: Prepared) {
        statement.bind(2, state.generation)
        statement.bind(3, state.partPath)
        statement.bind(4, state.partIdentity.map { Int64(bitPattern: $0.device) })
        statement.bind(5, state.partIdentity.map { Int64(bitPattern: $0.inode) })
        statement.bind(6, state.durable.description)
        statement.bind(7, state.validator.map { StoredJSON.text($0) })
        statement.bind(8, state.bytesTotal)
        statement.bind(9, state.bytesFetched)
        statement.bind(10, state.attempts)
        statement.bind(11, state.restarts)
        statement.bind(12, state.fruitlessAttempts)
        statement.bind(13, state.emptyAnswers)
        statement.bind(14, state.source)
        statement.bind(15, state.effectiveURL)
        statement.bind(16, state.proposedName)
        statement.bind(17, state.contentCoding)
        statement.bind(18, state.askedURL)
        statement.bind(19, state.response.map { StoredJSON.encode($0) })
        statement.bind(20, state.partIdentity?.birth ?? 0)
        statement.bind(21, state.publication)
        statement.bind(22, state.partMount)
        statement.bind(23, state.isPrefetched)
        statement.bind(24, state.upload.map { StoredJSON.encode($0) })
        statement.bind(25, state.isDigestRefuted)
    }

    /// Values that cannot be read count as unknown: bytes whose ranges or validator are lost are
    /// fetched again.
    static func read(_ row: StoredRow) -> FetchState {
        var state = FetchState(id: FetchID(rawValue: row.int64(0)))
        state.generation = row.count64(1)
        state.partPath = row.text(2)
        if !row.isNull(3) {
            state.partIdentity = row.fileIdentity(device: 3, inode: 4, birth: 19)
        }
        state.durable = ByteRanges(stored: row.text(5)) ?? ByteRanges()
        state.validator = row.optionalText(6).flatMap { StoredJSON.decode(Validator.self, $0) }
        state.bytesTotal = row.optionalLength(7)
        state.bytesFetched = row.count64(8)
        state.attempts = row.count(9)
        state.restarts = row.count(10)
        state.fruitlessAttempts = row.count(11)
        state.emptyAnswers = row.count(12)
        state.source = row.count(13)
        state.effectiveURL = row.optionalText(14)
        state.proposedName = row.optionalText(15)
        state.contentCoding = row.optionalText(16)
        state.askedURL = row.optionalText(17)
        state.response = row.optionalText(18).flatMap {
            StoredJSON.decode(TransferResponse.self, $0)
        }
        state.publication = row.optionalText(20)
        state.partMount = row.optionalText(21)
        state.isPrefetched = row.bool(22)
        state.upload = row.optionalText(23).flatMap { StoredJSON.decode(UploadState.self, $0) }
        state.isDigestRefuted = row.bool(24)
        state.leader = row.optionalInt64(25).map(TransferID.init(rawValue:))
        return state
    }
}

enum OriginRecord {
    private static let columns = """
        name, ignoresRanges, mishandlesIfRange, speaksHTTP2, coolDownUntil, failures, \
        bytesPerSecond, coolDownSince, pauseUntil, uploads, lastFailure
        """

    static let select = "SELECT \(columns) FROM origin WHERE name = ?"

    static let selectByID = "SELECT \(columns) FROM origin WHERE id = ?"

    static let save = """
        INSERT INTO origin (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
        ON CONFLICT (name) DO UPDATE SET ignoresRanges = ?2, mishandlesIfRange = ?3, \
        speaksHTTP2 = ?4, coolDownUntil = ?5, failures = ?6, bytesPerSecond = ?7, \
        coolDownSince = ?8, pauseUntil = ?9, uploads = ?10, lastFailure = ?11
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
        memory.uploads = row.optionalText(9).flatMap(SpokenUploads.init(rawValue:))
        memory.lastFailure = row.optionalText(10)
        return memory
    }
}
