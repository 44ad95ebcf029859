package import LonghaulModel

/// Files of a version that are read at once.
private let filesPerPage = 1_000

/// The bundles, for clients.
package struct RegisteredBundles {
    let store: Store

    /// A bundle to be added, or its new settings.
    package struct NewBundle {
        package var name: String
        package var source: BundleSource
        package var directory: String
        package var layout: BundleLayoutKind
        package var settings: BundleSettings
        /// The files are fetched.
        package var isWanted: Bool
        package var host: String?

        package init(
            name: String, source: BundleSource, directory: String, layout: BundleLayoutKind,
            settings: BundleSettings, isWanted: Bool, host: String? = nil
        ) {
            self.name = name
            self.source = source
            self.directory = directory
            self.layout = layout
            self.settings = settings
            self.isWanted = isWanted
            self.host = host
        }
    }

    /// Records a bundle, durably, and asks its source for the manifest. One of the same name,
    /// source and directory gets the settings.
    ///
    /// - Throws: `conflict` when another bundle has the name or the directory; `noSuchHost`.
    package func add(_ new: NewBundle, now: Timestamp) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try checkIsFree(new, connection)
            try connection.run(
                """
                INSERT INTO bundle (name, source, directory, layout, settings, created) \
                VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                ON CONFLICT (name) DO UPDATE SET settings = ?5
                """, new.name, StoredJSON.encode(new.source), new.directory, new.layout.rawValue,
                StoredJSON.encode(new.settings), now)
            let session = try SessionRows(connection).makeID(
                of: .session(ofBundle: new.name), now: now)
            try connection.run(
                "UPDATE session SET quiet = ?2, notify = ?3 WHERE id = ?1", session,
                !new.settings.fileEvents, new.settings.common.options.notifies)
            if let host = new.host { try SessionRows(connection).bind(session, to: host) }
            try connection.run(
                """
                UPDATE bundle SET phase = 1, wanted = max(wanted, ?2), error = NULL, \
                nextCheck = NULL WHERE name = ?1
                """, new.name, new.isWanted)
        }
    }

    private func checkIsFree(_ new: NewBundle, _ connection: Connection) throws {
        if let known = try BundleRows(connection).find(new.name),
            known.source != new.source || known.layout != new.layout
                || !known.directory.isExactly(new.directory)
        {
            throw LonghaulError(
                .conflict,
                "the bundle \(new.name) is \(known.source) in \(known.directory); give the new one"
                    + " another name, or remove that one first")
        }
        let others = try connection.all(
            "SELECT name, layout FROM bundle WHERE directory = ?1 AND name <> ?2", new.directory,
            new.name
        ) { ($0[0] as String, $0[1] as String) }
        // A cache of several repositories is one directory.
        let other = others.first { _, layout in
            layout != BundleLayoutKind.hfCache.rawValue || new.layout != .hfCache
        }
        guard let other else { return }
        throw LonghaulError(
            .conflict,
            "\(new.directory) is the directory of the bundle \(other.0); choose another directory")
    }

    /// All bundles, by name.
    package func all() throws(LonghaulError) -> [StoredBundle] {
        try store.snapshot { connection in
            let names: [String] = try connection.values("SELECT name FROM bundle ORDER BY name")
            return try names.compactMap { try BundleRows(connection).find($0) }
        }
    }

    /// - Throws: `noSuchBundle`.
    package func find(_ name: String) throws(LonghaulError) -> StoredBundle {
        try store.snapshot { try BundleRows($0).required(name) }
    }

    /// Asks for the files: of the newest version, or of the known one.
    ///
    /// - Throws: `noSuchBundle`.
    package func want(
        _ name: String, latest: Bool, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let bundle = try BundleRows(connection).required(name)
            if let target = bundle.target {
                try BundleFileRows(connection).resetFailed(of: target.id)
            }
            let phase: StoredBundle.Phase =
                latest || bundle.target == nil || bundle.phase == .checking ? .checking : .fetching
            try connection.run(
                "UPDATE bundle SET phase = ?2, wanted = 1, error = NULL WHERE id = ?1", bundle.id,
                phase.rawValue)
        }
    }

    /// Asks the source for its version.
    ///
    /// - Throws: `noSuchBundle`.
    package func check(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let bundle = try BundleRows(connection).required(name)
            // What is being fetched stays wanted.
            try connection.run(
                """
                UPDATE bundle SET wanted = max(wanted, phase = 2), phase = 1, error = NULL \
                WHERE id = ?1
                """, bundle.id)
        }
    }

    /// - Throws: `noSuchBundle`.
    package func setPaused(_ name: String, _ isPaused: Bool) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let bundle = try BundleRows(connection).required(name)
            try connection.run("UPDATE bundle SET paused = ?2 WHERE id = ?1", bundle.id, isPaused)
        }
    }

    /// Ends what is done for the bundle: its files are not wanted any more. The caller cancels its
    /// transfers afterwards.
    ///
    /// - Throws: `noSuchBundle`.
    package func giveUp(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let bundle = try BundleRows(connection).required(name)
            if let target = bundle.target {
                try BundleFileRows(connection).resetRecorded(of: target.id)
            }
            try connection.run(
                """
                UPDATE bundle SET phase = 0, wanted = 0, paused = 0, error = NULL WHERE id = ?1
                """, bundle.id)
        }
    }

    /// Removes the records of a bundle. Its transfers have ended.
    ///
    /// - Throws: `noSuchBundle`.
    package func remove(_ name: String) throws(LonghaulError) {
        try store.write(.durable) { connection in
            let id: Int64? = try connection.value("SELECT id FROM bundle WHERE name = ?1", name)
            guard let id else { throw noSuchBundle(name) }
            for version in try BundleRows(connection).versions(of: id) {
                try BundleRows(connection).drop(version: version.id)
            }
            try connection.run("DELETE FROM bundle WHERE id = ?1", id)
        }
    }

    /// The versions of a bundle, the oldest first.
    package func versions(of bundle: Int64) throws(LonghaulError) -> [BundleVersion] {
        try store.snapshot { try BundleRows($0).versions(of: bundle) }
    }

    /// The files of a version, in the order of the manifest.
    package func files(of version: Int64) -> BundleFileReader {
        BundleFileReader(store: store, version: version)
    }

    /// The first files of a version that failed.
    package func failedFiles(
        of version: Int64, limit: Int
    ) throws(LonghaulError) -> [BundleFile] {
        try store.access { try BundleFileRows($0).failed(of: version, limit: limit) }
    }

    package func file(
        _ path: String, of version: Int64
    ) throws(LonghaulError) -> BundleFile? {
        try store.access { try BundleFileRows($0).file(path, of: version) }
    }

    /// Records that complete files of a version are damaged or gone: the version is not ready any
    /// more, and they wait.
    ///
    /// - Parameter replaces: What is in their places is replaced.
    package func markDamaged(
        _ numbers: [Int64], of version: Int64, replaces: Bool
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            for number in numbers {
                try connection.run(
                    """
                    UPDATE bundleVersion SET complete = complete - (f.state = 2), \
                    failed = failed - (f.state = 3), \
                    bytesComplete = bytesComplete - iif(f.state = 2, f.size, 0) \
                    FROM bundleFile f WHERE id = ?1 AND f.version = ?1 AND f.number = ?2
                    """, version, number)
                try connection.run(
                    """
                    UPDATE bundleFile SET state = 0, replaces = ?3, stamp = NULL, error = NULL, \
                    mismatches = 0 WHERE version = ?1 AND number = ?2 AND state <> 1
                    """, version, number, replaces)
            }
            try connection.run(
                "UPDATE bundle SET ready = NULL, target = ?1 WHERE ready = ?1", version)
            try connection.run(
                "UPDATE bundleVersion SET readyAt = NULL WHERE id = ?1", version)
        }
    }

    /// Keeps a version from being dropped while the process lives.
    package func hold(
        _ version: Int64, pid: Int32, pidStart: Int64
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try connection.run(
                "INSERT INTO bundleHold (version, pid, pidStart) VALUES (?1, ?2, ?3)", version,
                Int(pid), pidStart)
        }
    }
}

/// Reads the files of a version one by one. The rows come a page at a time: a version may have a
/// million files.
package struct BundleFileReader {
    let store: Store
    let version: Int64
    private var last: Int64 = 0
    private var page: ArraySlice<BundleFile> = []

    init(store: Store, version: Int64) {
        self.store = store
        self.version = version
    }

    /// `nil` = there are no more.
    ///
    /// - Throws: `storeUnavailable`.
    package mutating func next() throws(LonghaulError) -> BundleFile? {
        if page.isEmpty {
            let (version, last) = (version, last)
            page =
                try store.access {
                    try BundleFileRows($0).page(of: version, after: last, limit: filesPerPage)
                }[...]
            self.last = page.last?.number ?? last
        }
        return page.popFirst()
    }
}

extension Store {
    /// The bundles, for clients.
    package var bundles: RegisteredBundles { RegisteredBundles(store: self) }
}
