package import LonghaulModel

/// How a store is opened.
package enum OpenMode: Sendable {
    /// Use the store; create it if missing.
    case create
    /// Use the store; throws if it does not exist.
    case existing
    /// Reads alone: nothing is created, migrated or written; throws when there is no store or when
    /// it must be migrated first.
    case probe
    /// Reads alone, as far as the statements of this version go: the store is of a newer version.
    case newer

    var readsOnly: Bool { self == .probe || self == .newer }
}

extension Store {
    /// Opens the store in `directory` (absolute). When this returns, the file is of this version,
    /// belongs to the user, and is not writable for other users. Costs a few system calls and one
    /// query when the store exists.
    ///
    /// Throws `storeUnavailable`, with a message that says what to do: no permission, foreign
    /// owner, network file system, written by a newer version (left untouched), damaged, disk full
    /// or failing.
    package static func open(
        directory: String, mode: OpenMode = .create
    ) throws(LonghaulError) -> Store {
        try open(directory: directory, mode: mode, schema: .released)
    }

    /// The same for a command that only shows the store: a store of a newer version is opened to be
    /// read (``OpenMode/newer``).
    package static func openToShow(directory: String) throws(LonghaulError) -> Store {
        do {
            return try open(directory: directory)
        } catch {
            guard StoreFailure.isNewer(error) else { throw error }
            return try open(directory: directory, mode: .newer)
        }
    }

    static func open(
        directory: String, mode: OpenMode, schema: Migration,
        filesystemType: (String) -> Int? = { NetworkFilesystem.type(of: $0) }
    ) throws(LonghaulError) -> Store {
        let location = StoreLocation(directory: directory)
        switch mode {
        case .create: try StoreDirectory.create(location.directory)
        case .existing, .probe, .newer:
            guard exists(at: location) || location.hasRemains else {
                throw StoreFailure.unavailable(
                    "there is no queue at \(location.database); enqueue something first, or set"
                        + " LONGHAUL_HOME to the directory that holds it")
            }
        }
        try StoreDirectory.check(location.directory)
        let type = filesystemType(location.directory)
        if let type, let name = NetworkFilesystem.names[type] {
            throw StoreFailure.unavailable(
                "\(location.directory) is on a network file system (\(name)), where locks do not"
                    + " hold: two machines could move the same transfer; set LONGHAUL_HOME to a"
                    + " local directory")
        }
        if !mode.readsOnly, type == StoreDirectory.btrfs {
            StoreDirectory.keepInPlace(location.directory)
        }
        let found = try OpenStores.whileOpening { () throws(LonghaulError) -> Store? in
            try isReady(location, mode, schema) ? try connect(location, mode, schema) : nil
        }
        if let store = found {
            if try store.version() == schema.latest || mode == .newer { return store }
            try store.close()
        }
        guard !mode.readsOnly else {
            throw StoreFailure.unavailable(
                "the queue \(location.database) was written by an older version of longhaul; any"
                    + " command that changes something upgrades it")
        }
        return try connectMigrating(location, mode, schema)
    }

    /// True if a file has the store's name, regardless of its content.
    package static func exists(at location: StoreLocation) -> Bool {
        FileStatus.of(location.database) != nil || FileStatus.failure(location.database) != nil
    }

    /// Checks the file without SQLite. `false`: the lock must be taken, to create or to migrate.
    /// A file that is missing without it may be one that a repair is replacing.
    private static func isReady(
        _ location: StoreLocation, _ mode: OpenMode, _ schema: Migration, holdsLock: Bool = false
    ) throws(LonghaulError) -> Bool {
        guard let status = FileStatus.of(location.database) else {
            if let failure = FileStatus.failure(location.database) {
                throw StoreFailure.system("use", location.database, errno: failure)
            }
            if location.hasRemains, holdsLock || mode.readsOnly {
                throw StoreFailure.damaged(
                    location.database, "the file is missing, and its log or a repair is there")
            }
            return false
        }
        try StoreDirectory.checkFile(location.database, status)
        // A file that this process has open is of this version.
        if OpenStores.isOpen(status.identity) { return true }
        switch try FileHeader.read(location.database) {
        case .empty:
            throw StoreFailure.damaged(location.database, "the file is empty")
        case .other:
            throw StoreFailure.damaged(location.database, "it is not an SQLite file")
        case .sqlite(let header):
            guard header.applicationID == Migration.applicationID else {
                if header.applicationID >> 16 == Migration.family {
                    throw StoreFailure.unreleased(location.database)
                }
                throw StoreFailure.anothers(location.database)
            }
            guard header.userVersion > 0 else {
                throw StoreFailure.damaged(
                    location.database, "its version is \(header.userVersion)")
            }
            guard header.userVersion <= schema.latest || mode == .newer else {
                throw StoreFailure.newer(
                    location.database, version: header.userVersion, known: schema.latest)
            }
            return header.userVersion >= schema.latest
        }
    }

    private static func connectMigrating(
        _ location: StoreLocation, _ mode: OpenMode, _ schema: Migration
    ) throws(LonghaulError) -> Store {
        let lock = try OpenLock(location.openLock)
        defer { withExtendedLifetime(lock) {} }
        let store = try OpenStores.whileOpening { () throws(LonghaulError) -> Store in
            // Another process may have made or migrated it meanwhile.
            if try !isReady(location, mode, schema, holdsLock: true),
                FileStatus.of(location.database) == nil
            {
                try make(location, schema)
            }
            return try connect(location, mode, schema)
        }
        try store.migrate(to: schema)
        return store
    }

    private static func connect(
        _ location: StoreLocation, _ mode: OpenMode, _ schema: Migration
    ) throws(LonghaulError) -> Store {
        let spare = ReserveFile(location)
        spare.giveUpIfShort()
        do {
            let store = try connect(location, mode, schema, spare)
            if !mode.readsOnly { spare.keep() }
            return store
        } catch {
            guard StoreFailure.isFull(error), spare.giveUp() else { throw error }
            return try connect(location, mode, schema, spare)
        }
    }

    private static func connect(
        _ location: StoreLocation, _ mode: OpenMode, _ schema: Migration, _ spare: ReserveFile
    ) throws(LonghaulError) -> Store {
        let file = FileStatus.of(location.database)?.identity
        do {
            let connection = try Connection(
                path: location.database, readOnly: mode.readsOnly, waits: busySeconds)
            try configure(connection, mode)
            guard let file, FileStatus.of(location.database)?.identity == file else {
                throw StoreFailure.wentAway(location.database)
            }
            return Store(
                location: location, mode: mode, connection: connection, openedFile: file,
                spare: spare, knownVersion: schema.latest)
        } catch {
            // A repair was replacing the file: the bytes that were read belong to neither file.
            if FileStatus.isAnother(location.database, than: file) {
                throw StoreFailure.wentAway(location.database)
            }
            throw StoreFailure.translate(error, path: location.database)
        }
    }

    /// Write-ahead logging is a property of the file (see ``Migration``); these are the
    /// connection's own.
    private static func configure(_ connection: Connection, _ mode: OpenMode) throws {
        if !mode.readsOnly {
            // 16 MiB between checkpoints. A log that a large batch has enlarged is truncated
            // afterwards.
            try connection.execute(
                """
                PRAGMA wal_autocheckpoint=4000; PRAGMA journal_size_limit=67108864; \
                PRAGMA cache_size=-4096
                """)
        }
        // The first read fails if the file is no database.
        try connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    }

    func version() throws(LonghaulError) -> Int {
        try access { try $0.userVersion() }
    }
}
