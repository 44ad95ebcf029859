internal import LonghaulModel

/// The rows of `bundleFile`.
struct BundleFileRows: ConnectionRows {
    let connection: Connection

    private enum Column: Int32, StoredColumn {
        case number, path, url, size, digest, more, state, transfer, stamp, mismatches, replaces
        case error
    }

    /// The parts of a manifest's file that most files do not have.
    private struct More: Codable {
        var headers: HeaderFields?
        var sendsCredential: Bool?
        var name: String?

        init?(_ file: ManifestFile) {
            if file.headers.fields.isEmpty, file.name == nil, !file.sendsCredential { return nil }
            headers = file.headers.fields.isEmpty ? nil : file.headers
            sendsCredential = file.sendsCredential ? true : nil
            name = file.name
        }
    }

    private struct NewFile: BatchedRow {
        var version: Int64
        var file: BundleFile

        enum Column: Int32, StoredColumn { case version, number, path, url, size, digest, more }

        static let insertion = RowInsertion<Column>([32], into: "bundleFile")

        func bind(to row: RowParameters<Column>) {
            row.bind(.version, version)
            row.bind(.number, file.number)
            row.bind(.path, file.entry.path)
            row.bind(.url, file.entry.url)
            row.bind(.size, file.entry.size)
            row.bind(.digest, file.entry.digest?.description)
            row.bind(.more, More(file.entry).map(StoredJSON.encode))
        }
    }

    func insert(_ files: [ManifestFile], version: Int64) throws {
        var batch = RowBatch<NewFile>()
        for (number, file) in files.enumerated() {
            batch.append(
                NewFile(version: version, file: BundleFile(number: Int64(number) + 1, file)))
            if batch.rows.count == 1024 { try batch.flush(connection) }
        }
        try batch.flush(connection)
    }

    private static func read(_ row: StoredRow<Column>) -> BundleFile {
        let more: More? = row.json(.more)
        let digest: String? = row[.digest]
        var manifest = ManifestFile(path: row[.path], url: row[.url])
        manifest.size = row.optionalLength(.size)
        manifest.digest = digest.flatMap { Checksum(parsing: $0) }
        manifest.headers = more?.headers ?? HeaderFields()
        manifest.sendsCredential = more?.sendsCredential ?? false
        manifest.name = more?.name
        var file = BundleFile(number: row[.number], manifest)
        file.state = row.known(.state) ?? .waiting
        file.transfer = row[.transfer]
        file.stamp = row[.stamp]
        file.mismatches = row.count(.mismatches)
        file.replaces = row[.replaces]
        file.error = row.json(.error)
        return file
    }

    private static let page = """
        SELECT \(Column.list) FROM bundleFile WHERE version = ?1 AND number > ?2 \
        ORDER BY number LIMIT ?3
        """
    private static let byPath = """
        SELECT \(Column.list) FROM bundleFile WHERE version = ?1 AND path = ?2
        """
    private static let firstFailed = """
        SELECT \(Column.list) FROM bundleFile WHERE version = ?1 AND state = 3 \
        ORDER BY number LIMIT ?2
        """
    private static let ended = """
        SELECT \(Column.list), (SELECT t.finishedAt FROM transfer t \
        WHERE t.id = f.transfer AND t.phase = \(Phase.completed.rawValue)) \
        FROM bundleFile f INDEXED BY bundleFileRecorded WHERE version = ?1 AND state = 1 \
        AND NOT EXISTS (SELECT 1 FROM transfer t \
        WHERE t.id = f.transfer AND NOT (t.ended = 1 AND t.rearm = t.rearmed))
        """
    /// Another file with the same digest that is under way is waited for.
    private static let next = """
        SELECT \(Column.list) FROM bundleFile f INDEXED BY bundleFileWaiting \
        WHERE version = ?1 AND state = 0 AND number > ?2 AND (digest IS NULL OR NOT EXISTS (\
        SELECT 1 FROM bundleFile o INDEXED BY bundleFileDigest \
        JOIN bundleVersion v ON v.id = o.version JOIN bundle b ON b.id = v.bundle \
        WHERE o.digest = f.digest AND o.digest IS NOT NULL AND o.state IN (1, 2) \
        AND o.state = 1 AND b.paused = 0 \
        AND (b.id = ?4 OR ?5 OR json_extract(b.settings, '$.policy') = 'essential'))) \
        ORDER BY number LIMIT ?3
        """
    private static let equals = """
        SELECT \(Column.list), version FROM bundleFile INDEXED BY bundleFileDigest \
        WHERE digest = ?1 AND digest IS NOT NULL AND state IN (1, 2) AND state = 2 \
        AND (version <> ?2 OR number <> ?3) LIMIT 8
        """

    func page(of version: Int64, after number: Int64, limit: Int) throws -> [BundleFile] {
        try connection.all(Self.page, version, number, limit, read: Self.read)
    }

    func file(_ path: String, of version: Int64) throws -> BundleFile? {
        try connection.first(Self.byPath, version, path, read: Self.read)
    }

    func failed(of version: Int64, limit: Int) throws -> [BundleFile] {
        try connection.all(Self.firstFailed, version, limit, read: Self.read)
    }

    /// The files whose transfers have ended, or are gone, and when the completed ones ended.
    func ended(of version: Int64) throws -> [(file: BundleFile, completedAt: Timestamp?)] {
        let position = Int(Column.allCases.count)
        return try connection.all(Self.ended, version) { (row: StoredRow<Column>) in
            (Self.read(row), StoredRow<Int>(handle: row.handle)[position])
        }
    }

    func recordedCount(of version: Int64) throws -> Int {
        try connection.value(
            """
            SELECT count(*) FROM bundleFile INDEXED BY bundleFileRecorded \
            WHERE version = ?1 AND state = 1
            """, version) ?? 0
    }

    /// The next files that wait.
    ///
    /// - Parameter sharesAll: A file of another bundle with the same digest is waited for, too.
    func next(
        of version: Int64, after number: Int64, limit: Int, bundle: Int64, sharesAll: Bool
    ) throws -> [BundleFile] {
        try connection.all(
            Self.next, version, number, limit, bundle, sharesAll, read: Self.read)
    }

    /// A file of the version is there, or may be.
    func hasBegun(_ version: Int64) throws -> Bool {
        try connection.value(
            """
            SELECT 1 FROM bundleFile WHERE version = ?1 \
            AND (stamp IS NOT NULL OR transfer IS NOT NULL) LIMIT 1
            """, version) ?? false
    }

    func isAnyWaiting(of version: Int64) throws -> Bool {
        try connection.value(
            """
            SELECT 1 FROM bundleFile INDEXED BY bundleFileWaiting \
            WHERE version = ?1 AND state = 0 LIMIT 1
            """, version) ?? false
    }

    /// Complete files with the same digest, and their versions.
    func equals(
        of file: BundleFile, in version: Int64
    ) throws -> [(file: BundleFile, version: Int64)] {
        guard let digest = file.entry.digest else { return [] }
        let position = Int(Column.allCases.count)
        return try connection.all(Self.equals, digest.description, version, file.number) {
            (row: StoredRow<Column>) in
            (Self.read(row), StoredRow<Int>(handle: row.handle)[position])
        }
    }

    /// Files that have failed, or whose bytes are damaged, wait again.
    func resetFailed(of version: Int64) throws {
        try connection.run(
            """
            UPDATE bundleFile SET state = 0, error = NULL, mismatches = 0 \
            WHERE version = ?1 AND state = 3
            """, version)
        try connection.run("UPDATE bundleVersion SET failed = 0 WHERE id = ?1", version)
    }

    /// Files whose transfers were given up wait again. The transfers stay named: one may yet
    /// complete, and its file is the bundle's.
    func resetRecorded(of version: Int64) throws {
        try connection.run(
            "UPDATE bundleFile SET state = 0 WHERE version = ?1 AND state = 1", version)
    }
}
