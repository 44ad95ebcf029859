package import LonghaulModel

/// The bundles as the engine's process works on them.
package struct BundleWork {
    let store: Store

    /// True if there is no bundle.
    package func isEmpty() throws(LonghaulError) -> Bool {
        try store.access { try $0.value("SELECT 1 FROM bundle LIMIT 1") as Bool? == nil }
    }

    /// Bundles with something to do now, the oldest first.
    package func open(now: Timestamp) throws(LonghaulError) -> [StoredBundle] {
        try store.snapshot { connection in
            let ids: [Int64] = try connection.values(
                """
                SELECT id FROM bundle WHERE paused = 0 AND (phase > 0 OR nextCheck <= ?1) \
                ORDER BY id
                """, now)
            return try ids.compactMap { try BundleRows(connection).find($0) }
        }
    }

    /// `nil` = it was removed.
    package func find(_ bundle: Int64) throws(LonghaulError) -> StoredBundle? {
        try store.snapshot { try BundleRows($0).find(bundle) }
    }

    /// When the next check is due.
    package func nextCheck() throws(LonghaulError) -> Timestamp? {
        try store.access {
            try $0.value("SELECT min(nextCheck) FROM bundle WHERE paused = 0 AND phase = 0")
        }
    }

    /// True of a bundle that waits for this process, not for its transfers.
    package func isAnyDue() throws(LonghaulError) -> Bool {
        try store.access {
            try $0.value(
                """
                SELECT 1 FROM bundle b WHERE b.phase > 0 AND b.paused = 0 AND NOT EXISTS (\
                SELECT 1 FROM tally t JOIN session s ON s.id = t.sessionID \
                WHERE s.name = 'bundle:' || b.name AND t.phase = 0 AND t.n > 0) LIMIT 1
                """) ?? false
        }
    }

    /// Begins a check that is due; the files of a newer version are wanted.
    package func beginCheck(_ bundle: Int64) throws(LonghaulError) {
        try store.write(.relaxed) { connection in
            try connection.run(
                """
                UPDATE bundle SET phase = 1, wanted = 1, nextCheck = NULL \
                WHERE id = ?1 AND phase = 0
                """, bundle)
        }
    }

    /// Records the answer to a check. Files of another version take the place of those that were
    /// wanted before.
    ///
    /// - Parameter nextCheck: `nil` = only when a client asks for it.
    package func record(
        _ manifest: Manifest, _ facts: String?, signedBy: String?, of bundle: Int64,
        nextCheck: Timestamp?, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            guard let known = try BundleRows(connection).find(bundle), known.phase == .checking
            else { return }
            try connection.run(
                """
                UPDATE bundle SET checkedAt = ?2, nextCheck = ?3, error = NULL, \
                latestSeen = iif(latest = ?4, latestSeen, ?2), latest = ?4 WHERE id = ?1
                """, bundle, now, nextCheck, manifest.version)
            var target = known.target
            let selection = StoredJSON.encode([known.settings.include, known.settings.exclude])
            if target?.name != manifest.version || target?.files != manifest.files.count
                || target?.signedBy != signedBy || target?.selection != selection
            {
                // Its files serve the new version, and are deleted once that one is ready.
                if let old = target, old.id != known.ready?.id,
                    try !BundleFileRows(connection).hasBegun(old.id)
                {
                    try BundleRows(connection).drop(version: old.id)
                }
                target = try insert(manifest, facts, signedBy, selection, of: bundle, connection)
            }
            let isDone = target?.id == known.ready?.id
            try connection.run(
                """
                UPDATE bundle SET target = ?2, phase = ?3, wanted = wanted AND NOT ?4 \
                WHERE id = ?1
                """, bundle, target?.id,
                (isDone || !known.isWanted ? StoredBundle.Phase.idle : .fetching).rawValue, isDone)
        }
    }

    private func insert(
        _ manifest: Manifest, _ facts: String?, _ signedBy: String?, _ selection: String,
        of bundle: Int64, _ connection: Connection
    ) throws -> BundleVersion? {
        let bytes = manifest.files.reduce(Int64(0)) { $0.addingClamped($1.size ?? 0) }
        try connection.run(
            """
            INSERT INTO bundleVersion (bundle, name, files, bytes, passedOver, proved, signedBy, \
            facts, selection) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """, bundle, manifest.version, manifest.files.count, bytes, manifest.passedOver,
            manifest.files.allSatisfy { $0.digest != nil }, signedBy, facts, selection)
        let id = connection.lastInsertedRowID
        try BundleFileRows(connection).insert(manifest.files, version: id)
        return try BundleRows(connection).version(id)
    }

    /// Ends the attempt with an error.
    package func fail(
        _ bundle: StoredBundle, _ error: LonghaulError, nextCheck: Timestamp?, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try connection.run(
                """
                UPDATE bundle SET phase = 0, wanted = 0, error = ?2, nextCheck = ?3 \
                WHERE id = ?1 AND phase > 0
                """, bundle.id, StoredJSON.encode(error), nextCheck)
            if connection.changes == 0 { return }
            if let target = bundle.target {
                try BundleFileRows(connection).resetRecorded(of: target.id)
            }
            try BundleRows(connection).append(
                .bundleFailed, of: bundle.name,
                detail: StoredJSON.encode(["code": error.code.rawValue, "message": error.message]),
                now: now)
        }
    }

    // MARK: - Files

    /// How the transfer of a file has ended.
    package enum End {
        case completed(Timestamp)
        case other(Transfer)
        /// It was removed.
        case gone
    }

    /// The files whose transfers have ended, or are gone.
    package func ended(
        _ version: Int64, now: Timestamp
    ) throws(LonghaulError) -> [(file: BundleFile, end: End)] {
        try store.snapshot { connection in
            try BundleFileRows(connection).ended(of: version).map { file, completedAt in
                if let completedAt { return (file, .completed(completedAt)) }
                let transfer = try file.transfer.flatMap {
                    try TransferRows(connection).transfer($0, now: now)
                }
                return (file, transfer.map(End.other) ?? .gone)
            }
        }
    }

    /// Transfers of bundles that have ended, and that no file waits for: cancelled ones, and the
    /// checks of an engine that has ended.
    ///
    /// - Parameter directory: Files of completed transfers there are answers that are kept.
    package func leftovers(
        besidesAnswersIn directory: String, now: Timestamp
    ) throws(LonghaulError) -> [Transfer] {
        try store.snapshot { connection in
            let ids: [TransferID] = try connection.values(
                """
                SELECT t.id FROM bundle b JOIN session s ON s.name = 'bundle:' || b.name \
                JOIN transfer t INDEXED BY transferEnded ON t.sessionID = s.id \
                WHERE t.ended = 1 AND t.rearm = t.rearmed AND NOT EXISTS (SELECT 1 \
                FROM bundleVersion v JOIN bundleFile f INDEXED BY bundleFileRecorded \
                ON f.version = v.id WHERE v.bundle = b.id AND f.state = 1 AND f.transfer = t.id) \
                AND NOT (t.phase = ?2 AND substr(t.destination, 1, length(?1)) = ?1)
                """, directory, Phase.completed.rawValue)
            return try ids.compactMap { try TransferRows(connection).transfer($0, now: now) }
        }
    }

    /// Records the files of completed transfers as the bundle's, whether or not they are still
    /// waited for.
    ///
    /// - Parameter stamps: ``SourceVersion/text`` of each.
    package func own(_ stamps: [TransferID: String]) throws(LonghaulError) {
        if stamps.isEmpty { return }
        try store.write(.durable) { connection in
            let rows = try connection.all(
                """
                SELECT version, number, transfer FROM bundleFile \
                WHERE state IN (0, 1) AND transfer IS NOT NULL
                """
            ) { ($0[0] as Int64, $0[1] as Int64, $0[2] as TransferID) }
            for (version, number, transfer) in rows {
                guard let stamp = stamps[transfer] else { continue }
                try connection.run(
                    "UPDATE bundleFile SET stamp = ?3 WHERE version = ?1 AND number = ?2",
                    version, number, stamp)
            }
        }
    }

    /// Live transfers of a bundle that its version to be fetched does not wait for.
    package func strays(
        of bundle: StoredBundle, now: Timestamp
    ) throws(LonghaulError) -> [Transfer] {
        try store.snapshot { connection in
            let ids: [TransferID] = try connection.values(
                """
                SELECT t.id FROM session s JOIN transfer t INDEXED BY transferLive \
                ON t.sessionID = s.id WHERE s.name = ?1 AND t.ended = 0 AND NOT EXISTS (\
                SELECT 1 FROM bundleFile f INDEXED BY bundleFileRecorded \
                WHERE f.version = ?2 AND f.state = 1 AND f.transfer = t.id)
                """, bundle.session, bundle.target?.id)
            return try ids.compactMap { try TransferRows(connection).transfer($0, now: now) }
        }
    }

    /// Versions that were to be fetched before, and whose transfers have not all ended.
    package func unsettled(
        of bundle: StoredBundle
    ) throws(LonghaulError) -> [BundleVersion] {
        try store.snapshot { connection in
            try BundleRows(connection).versions(of: bundle.id).filter {
                try $0.id != bundle.target?.id
                    && BundleFileRows(connection).recordedCount(of: $0.id) > 0
            }
        }
    }

    /// The next files that wait.
    ///
    /// - Parameters:
    ///   - window: How many may be under way.
    ///   - limit: The most that are returned.
    package func next(
        of bundle: StoredBundle, _ version: Int64, after number: Int64, window: Int, limit: Int
    ) throws(LonghaulError) -> [BundleFile] {
        try store.snapshot { connection in
            let rows = BundleFileRows(connection)
            let room = min(limit, window - (try rows.recordedCount(of: version)))
            if room <= 0 { return [] }
            return try rows.next(
                of: version, after: number, limit: room, bundle: bundle.id,
                sharesAll: bundle.settings.policy != .essential)
        }
    }

    /// True while files of the version wait for a transfer.
    package func isAnyWaiting(_ version: Int64) throws(LonghaulError) -> Bool {
        try store.access { try BundleFileRows($0).isAnyWaiting(of: version) }
    }

    /// True while files of the version wait or are under way.
    package func isUnderWay(_ version: Int64) throws(LonghaulError) -> Bool {
        try store.snapshot { connection in
            let rows = BundleFileRows(connection)
            return try rows.isAnyWaiting(of: version) || rows.recordedCount(of: version) > 0
        }
    }

    /// Complete files with the same digest, with the bundles that have them.
    package func equals(
        of file: BundleFile, in version: Int64
    ) throws(LonghaulError) -> [(file: BundleFile, version: BundleVersion, bundle: StoredBundle)] {
        try store.snapshot { connection in
            try BundleFileRows(connection).equals(of: file, in: version).compactMap {
                guard let found = try BundleRows(connection).version($0.version),
                    let id: Int64 = try connection.value(
                        "SELECT bundle FROM bundleVersion WHERE id = ?1", found.id),
                    let bundle = try BundleRows(connection).find(id)
                else { return nil }
                return ($0.file, found, bundle)
            }
        }
    }

    /// A version of the bundle has left this file: a newer version may replace it.
    ///
    /// - Parameter stamp: ``SourceVersion/text`` of the file.
    package func hasLeft(
        _ path: String, _ stamp: String, of bundle: StoredBundle
    ) throws(LonghaulError) -> Bool {
        try store.access {
            try $0.value(
                """
                SELECT 1 FROM bundleVersion v JOIN bundleFile f INDEXED BY bundleFilePath \
                ON f.version = v.id WHERE v.bundle = ?1 AND f.path = ?2 AND f.stamp = ?3 LIMIT 1
                """, bundle.id, path, stamp) ?? false
        }
    }

    /// A change of one file.
    package enum Change {
        /// It is durable under its name.
        case complete(BundleFile, stamp: String, size: Int64, isFetched: Bool)
        /// It waits again; `isWrong` = its bytes did not have the digest.
        case again(BundleFile, isWrong: Bool)
        /// It waits again. The digests of files that wait are not of their bytes.
        case unproved(BundleFile)
        case failed(BundleFile, LonghaulError)
        /// It is fetched by a new transfer.
        case fetch(BundleFile, NewTransfer)
    }

    /// Records changes in one durable transaction. Ended transfers of the files are forgotten with
    /// it. Returns their part files, which nothing uses any more.
    package func apply(
        _ changes: [Change], of bundle: StoredBundle, _ version: Int64, now: Timestamp
    ) throws -> [OrphanedPart] {
        if changes.isEmpty { return [] }
        var parts: [OrphanedPart] = []
        try store.wants.enqueue(now: now) { inserter in
            let connection = inserter.connection
            for change in changes {
                switch change {
                case .complete(let file, let stamp, let size, let isFetched):
                    try connection.run(
                        """
                        UPDATE bundleFile SET state = 2, transfer = NULL, stamp = ?3, size = ?4, \
                        replaces = 0, error = NULL WHERE version = ?1 AND number = ?2
                        """, version, file.number, stamp, size)
                    try connection.run(
                        """
                        UPDATE bundleVersion SET complete = complete + 1, \
                        bytesComplete = bytesComplete + ?2, bytes = bytes + ?3 WHERE id = ?1
                        """, version, size, size - (file.entry.size ?? 0))
                    if isFetched {
                        try connection.run(
                            "UPDATE bundle SET bytesFetched = bytesFetched + ?2 WHERE id = ?1",
                            bundle.id, size)
                    }
                case .again(let file, let isWrong):
                    try connection.run(
                        """
                        UPDATE bundleFile SET state = 0, transfer = NULL, stamp = ?4, \
                        mismatches = mismatches + ?3 WHERE version = ?1 AND number = ?2
                        """, version, file.number, isWrong, file.stamp)
                case .unproved(let file):
                    try connection.run(
                        """
                        UPDATE bundleFile SET state = 0, transfer = NULL, digest = NULL \
                        WHERE version = ?1 AND (number = ?2 OR state = 0)
                        """, version, file.number)
                    try connection.run(
                        "UPDATE bundleVersion SET proved = 0 WHERE id = ?1", version)
                case .failed(let file, let error):
                    try connection.run(
                        """
                        UPDATE bundleFile SET state = 3, transfer = NULL, error = ?3, \
                        stamp = ?4 WHERE version = ?1 AND number = ?2
                        """, version, file.number, StoredJSON.encode(error), file.stamp)
                    try connection.run(
                        "UPDATE bundleVersion SET failed = failed + 1 WHERE id = ?1", version)
                case .fetch(let file, let new):
                    try record(file, new, version, inserter)
                    continue
                }
                parts += try forgetTransfer(of: change, connection, now: now)
            }
        }
        return parts
    }

    private func record(
        _ file: BundleFile, _ new: NewTransfer, _ version: Int64, _ inserter: TransferInserter
    ) throws {
        do {
            let outcome = try inserter.insert(new)
            let id: TransferID? =
                switch outcome {
                case .recorded(let id, _), .existing(let id, _): id
                case .skipped, .refused: nil
                }
            try inserter.connection.run(
                """
                UPDATE bundleFile SET state = 1, transfer = ?3 WHERE version = ?1 AND number = ?2
                """, version, file.number, id)
        } catch let refusal as LonghaulError {
            try inserter.connection.run(
                "UPDATE bundleFile SET state = 3, error = ?3 WHERE version = ?1 AND number = ?2",
                version, file.number, StoredJSON.encode(refusal))
            try inserter.connection.run(
                "UPDATE bundleVersion SET failed = failed + 1 WHERE id = ?1", version)
        }
    }

    private func forgetTransfer(
        of change: Change, _ connection: Connection, now: Timestamp
    ) throws -> [OrphanedPart] {
        let id: TransferID? =
            switch change {
            case .complete(let file, _, _, _), .again(let file, _), .unproved(let file),
                .failed(let file, _):
                file.transfer
            case .fetch: nil
            }
        guard let id,
            try connection.value("SELECT ended FROM transfer WHERE id = ?1", id) == true
        else { return [] }
        return try TransferRows(connection).forget(id, now: now)
    }

    // MARK: - Versions

    /// The version is whole: it is the one that is ready, and the bundle's session has its event.
    package func finish(
        _ version: BundleVersion, of bundle: StoredBundle, now: Timestamp
    ) throws(LonghaulError) {
        try store.write(.durable) { connection in
            try connection.run(
                "UPDATE bundleVersion SET readyAt = ?2 WHERE id = ?1", version.id, now)
            let isNew = bundle.ready?.name != version.name
            try connection.run(
                """
                UPDATE bundle SET ready = ?2, phase = iif(phase = 2, 0, phase), wanted = 0, \
                error = NULL WHERE id = ?1
                """, bundle.id, version.id)
            try BundleRows(connection).append(
                isNew && bundle.ready != nil ? .bundleUpdated : .bundleReady, of: bundle.name,
                detail: StoredJSON.encode(["version": version.name]), now: now)
        }
    }

    /// Versions that neither are ready nor wanted nor held, the oldest first.
    ///
    /// - Parameter isAlive: Whether the process of a hold lives.
    package func unused(
        of bundle: StoredBundle, isAlive: (_ pid: Int32, _ start: Int64) -> Bool
    ) throws(LonghaulError) -> [BundleVersion] {
        try store.snapshot { connection in
            let held = try connection.all(
                "SELECT h.version, h.pid, h.pidStart FROM bundleHold h "
                    + "JOIN bundleVersion v ON v.id = h.version WHERE v.bundle = ?1", bundle.id
            ) { ($0[0] as Int64, $0[1] as Int64, $0[2] as Int64) }
            let ids = Set(held.filter { isAlive(Int32(clamping: $0.1), $0.2) }.map(\.0))
            return try BundleRows(connection).versions(of: bundle.id).filter {
                $0.id != bundle.ready?.id && $0.id != bundle.target?.id && !ids.contains($0.id)
            }
        }
    }

    /// Removes the records of a version whose files are gone.
    package func drop(_ version: BundleVersion) throws(LonghaulError) {
        try store.write(.relaxed) { try BundleRows($0).drop(version: version.id) }
    }
}

extension Store {
    /// The bundles, for the process of the engine.
    package var bundleWork: BundleWork { BundleWork(store: self) }
}
