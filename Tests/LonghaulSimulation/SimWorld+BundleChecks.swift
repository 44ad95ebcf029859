import CSQLite
import Longhaul
import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// The promises of bundles, by rules that are not the engine's.
extension SimWorld {
    /// Where a file of a version is.
    private func place(_ path: String, _ version: String, _ bundle: SimBundle) -> String {
        bundle.layout == .plain
            ? "\(bundle.directory)/\(path)" : "\(bundle.directory)/versions/\(version)/\(path)"
    }

    /// Files of a version that are not durable with the bytes that its list tells.
    func wrongFiles(of bundle: SimBundle, _ version: String) -> [String] {
        (bundle.versions[version] ?? []).filter { file in
            let path = place(file.path, version, bundle)
            guard let inode = disk.durableNames[path], disk.names[path] == inode,
                let data = disk.files[inode]?.durable
            else { return true }
            return SimDisk.checksum(of: data) != file.digest ?? SimDisk.checksum(of: data)
                || data.count != file.size ?? data.count
        }.map(\.path)
    }

    func checkBundles() throws {
        guard let bundles else { return }
        let stored = Dictionary(
            uniqueKeysWithValues: try clients.bundles.all().map { ($0.name, $0) })
        for index in bundles.all.indices {
            guard let found = stored[bundles.all[index].name] else { continue }
            try checkReady(found, &bundles.all[index])
            try checkRows(found, bundles.all[index])
            try checkBundleEvents(&bundles.all[index])
            if found.phase == .idle { bundles.settled.insert(found.name) }
        }
    }

    /// A version that is ready has been whole, and its link leads to it.
    private func checkReady(_ found: StoredBundle, _ bundle: inout SimBundle) throws {
        defer { bundle.ready = found.ready.map { ($0.name, $0.readyAt) } }
        guard let ready = found.ready else { return }
        let isNew = bundle.ready?.name != ready.name || bundle.ready?.at != ready.readyAt
        guard isNew else { return }
        say("\(bundle.name): \(ready.name.suffix(8)) is ready")
        tally.bundlesReady += 1
        // A file that is replaced between its publication and the look at it counts as the one that
        // was published, unless its size differs.
        let wrong = wrongFiles(of: bundle, ready.name).filter {
            guard let at = bundle.disturbed[place($0, ready.name, bundle)] else { return true }
            return now.monotonic - at > 1
        }
        if !wrong.isEmpty {
            throw SimComplaint("\(bundle.name) is ready, and wrong are \(wrong)", self)
        }
        if bundle.layout == .versions { try checkLink(bundle, ready.name) }
    }

    private func checkLink(_ bundle: SimBundle, _ version: String) throws {
        let link = "\(bundle.directory)/current"
        let target = disk.durableNames[link].flatMap { disk.files[$0]?.target }
        if target != "versions/\(version)" {
            throw SimComplaint(
                "\(bundle.name): \(version.suffix(8)) is ready, the link leads to"
                    + " \(target ?? "nothing")", self)
        }
    }

    private func checkRows(_ found: StoredBundle, _ bundle: SimBundle) throws {
        for version in try clients.bundles.versions(of: found.id) {
            var counts: [BundleFile.State: Int] = [:]
            var underWay: Set<Checksum> = []
            var files = clients.bundles.files(of: version.id)
            while let file = try files.next() {
                counts[file.state, default: 0] += 1
                let path = place(file.entry.path, version.name, bundle)
                // A file that has its name counts as failed if its directory cannot be synced.
                if file.error?.code == .destinationExists, disk.names[path] != nil,
                    !disk.isForeign(path), !bundle.isDisturbed, bundles?.drawn.directory == 0
                {
                    throw SimComplaint("\(path) is said to be somebody's", self)
                }
                guard file.state == .recorded, let digest = file.entry.digest else { continue }
                if !underWay.insert(digest).inserted {
                    throw SimComplaint("\(found.name) fetches \(digest) twice", self)
                }
            }
            if counts[.complete] ?? 0 != version.complete
                || counts[.failed] ?? 0 != version.failed
            {
                throw SimComplaint("\(found.name): \(version) has \(counts)", self)
            }
        }
        if let ready = found.ready, !ready.isDone {
            throw SimComplaint("\(found.name) is ready without all of \(ready)", self)
        }
        if found.phase == .fetching, found.target == nil {
            throw SimComplaint("\(found.name) fetches nothing", self)
        }
    }

    /// One for each version that takes another's place, or is whole again.
    private func checkBundleEvents(_ bundle: inout SimBundle) throws {
        let events = try clients.events.list(
            after: bundle.lastEvent, session: "bundle:\(bundle.name)", limit: 10_000)
        for event in events {
            bundle.lastEvent = event.seq
            guard event.type.rawValue.hasPrefix("bundle") else { continue }
            say("event \(event.type.rawValue) of \(bundle.name) \(event.detail ?? "")")
            if event.type.rawValue == "bundleFailed" {
                tally.bundlesFailed += 1
                continue
            }
            let version = bundle.versions.keys.first { event.detail?.contains($0) == true }
            if let version, version == bundle.announced, !bundle.isDisturbed {
                throw SimComplaint("\(bundle.name) tells twice of \(version.suffix(8))", self)
            }
            bundle.announced = version
            bundle.isDisturbed = false
        }
    }

    /// What is proved is not fetched again.
    func checkBundleRequest(_ request: SegmentRequest) {
        guard let bundles else { return }
        for bundle in bundles.all where request.url.hasPrefix(bundle.list.dropLast("list".count)) {
            let query = ListQuery(
                states: [.running, .waiting], session: "bundle:\(bundle.name)", limit: .max)
            let transfers = (try? clients.transfers.list(query, now: now.wall)) ?? []
            guard
                let transfer = transfers.first(where: { $0.held?.fetch == request.key.fetch }),
                let digest = transfer.options.checksum,
                let inode = disk.durableNames[transfer.path], disk.names[transfer.path] == inode,
                let file = disk.files[inode], file.durable == file.data,
                SimDisk.checksum(of: file.data) == digest,
                transfer.options.maxSize ?? file.data.count == file.data.count
            else { continue }
            complain("\(transfer.path) is fetched again, and is there")
        }
    }

    // MARK: - At the end

    /// Nothing of it is in the store, and nothing on the disk but what it was to leave.
    func checkRemoved(_ bundle: SimBundle, keepsFiles: Bool) throws {
        let query = ListQuery(
            states: Set(TransferState.allCases), session: "bundle:\(bundle.name)", limit: .max)
        let transfers = try clients.transfers.list(query, now: now.wall)
        if !transfers.isEmpty {
            throw SimComplaint(
                "\(bundle.name) is removed, and has \(transfers.map(\.id.rawValue))", self)
        }
        if !keepsFiles { try checkNoFiles(of: bundle) }
    }

    private func checkNoFiles(of bundle: SimBundle) throws {
        if bundle.hasKeptFiles { return }
        let left = disk.names.keys.filter { path in
            path.hasPrefix(bundle.directory + "/") && !disk.isForeign(path)
                && disk.undeleted[path] == nil
        }
        // A read-only disk keeps them, and a process that dies between two of its files.
        guard !left.isEmpty, !disk.isReadOnly else { return }
        let isRight = left.contains { !$0.hasSuffix(".longhaul-new") && !$0.hasSuffix(".part") }
        let drawn = bundles?.drawn ?? .none
        if isRight, tally.crashPoints == 0, drawn.readOnly == 0, drawn.directory == 0 {
            throw SimComplaint("\(bundle.name) leaves \(left.sorted())", self)
        }
    }

    private func storeHolds(_ table: String) throws -> Int {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open(directory + "/state/queue.sqlite", &database) == SQLITE_OK else {
            return -1
        }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        sqlite3_prepare_v2(database, "SELECT count(*) FROM \(table)", -1, &statement, nil)
        return sqlite3_step(statement) == SQLITE_ROW ? Int(sqlite3_column_int64(statement, 0)) : -1
    }

    /// Faults stop. Each bundle comes to an end by itself; then, once its people have asked for it
    /// again, it is ready with what its server has.
    func makeBundlePeace() throws {
        guard let bundles else { return }
        try endTrouble()
        bundles.settled = []
        try settleBundles("by themselves") { bundle in
            bundle.isPaused || bundles.settled.contains(bundle.name)
        }
        for index in bundles.all.indices { makeTrue(&bundles.all[index]) }
        for round in 1...3 {
            for index in bundles.all.indices { try ensure(index, round: round) }
            bundles.settled = []
            try settleBundles("round \(round)") { $0.phase == .idle }
        }
        for bundle in bundles.all {
            let found = try clients.bundles.find(bundle.name)
            if found.state != .ready || wrongFiles(of: bundle, found.ready?.name ?? "") != [] {
                throw SimComplaint(
                    "\(bundle.name) is \(found.state) in the end: "
                        + "\(found.error?.message ?? "no error")", self)
            }
        }
        try checkLeftovers()
        try removeAll()
    }

    private func ensure(_ index: Int, round: Int) throws {
        guard let bundles else { return }
        let name = bundles.all[index].name
        if let removal = bundles.all[index].removal {
            say("\(name) is not to be removed (\(removal))")
            bundles.all[index].removal = nil
        }
        if !bundles.all[index].isThere { try act("add", on: index) { try addBundle(index) } }
        let found = try clients.bundles.find(name)
        // What somebody has put in the place of its files is given up.
        if round > 1, found.target?.complete ?? 0 > 0 {
            try act("repair", on: index) { try verifyBundle(index, repair: true) }
        }
        for path in disk.names.keys.sorted()
        where round > 1 && path.hasPrefix(bundles.all[index].directory) && disk.isForeign(path) {
            disk.names[path] = nil
            disk.durableNames[path] = nil
            bundles.all[index].isDisturbed = true
        }
        try act("ensure --latest", on: index) { _ = try bundles.client.want(name, latest: true) }
    }

    func settleBundles(_ what: String, isDone: (StoredBundle) throws -> Bool) throws {
        guard let bundles else { return }
        let end = now.monotonic + Self.patienceSeconds
        while true {
            let open = try clients.bundles.all().filter { try !isDone($0) }
            if open.isEmpty { return }
            guard now.monotonic < end else {
                throw SimComplaint(
                    "\(what) do not end: \(open.map { "\($0.name) \($0.phase)" })", self)
            }
            for _ in 0..<20 {
                let toLook = max(0, bundles.nextLook - now.monotonic)
                let seconds = max(0.05, min(secondsToNext(), toLook, 60))
                pass(seconds)
                wire.advance(min(seconds, 0.5))
                for _ in 0..<8 { disk.step() }
                if isTurnDue { try turn() }
                try bundles.run()
                try checkBundles()
                if let complaint { throw complaint }
                if isDead { throw SimComplaint("the engine died in peace", self) }
            }
        }
    }

    /// No transfer, no part file and no list stays once all bundles are ready.
    private func checkLeftovers() throws {
        guard let bundles else { return }
        // What could not be deleted is for the next engine.
        try leave()
        bundles.settled = []
        try settleBundles("with another engine") { bundle in
            bundle.phase == .idle && disk.orders.isEmpty && !hasNews && wire.order.isEmpty
        }
        for bundle in bundles.all {
            let found = try clients.bundles.find(bundle.name)
            let versions = try clients.bundles.versions(of: found.id).count
            if versions > 1 + (bundle.layout == .versions ? bundle.settings.keep : 0) {
                throw SimComplaint("\(bundle.name) keeps \(versions) versions", self)
            }
        }
        let parts = disk.names.keys.filter {
            ($0.hasSuffix(".part") || $0.hasSuffix(".longhaul-new"))
                && disk.undeleted[$0] == nil
        }
        // A file that was made in the moment of a crash is for `doctor` to find, and a read-only
        // disk keeps those of transfers that are forgotten.
        let isSound = tally.crashPoints == 0 && bundles.drawn.readOnly == 0
        if !parts.isEmpty, isSound { throw SimComplaint("left behind: \(parts.sorted())", self) }
        var kept: Set<String> = []
        for bundle in bundles.all {
            let query = ListQuery(
                states: [.completed], session: .session(ofBundle: bundle.name), limit: .max)
            kept.formUnion(try clients.transfers.list(query, now: now.wall).map(\.path))
        }
        let lists = disk.names.keys.filter {
            $0.hasPrefix(directory) && !$0.hasSuffix(".part") && disk.undeleted[$0] == nil
                && !kept.contains($0)
        }
        if !lists.isEmpty, isSound { throw SimComplaint("lists are left: \(lists.sorted())", self) }
    }

    private func removeAll() throws {
        guard let bundles else { return }
        for index in bundles.all.indices {
            let name = bundles.all[index].name
            try bundles.client.cancel(name)
            bundles.all[index].removal = false
            for _ in 0..<50 where bundles.all[index].removal != nil {
                pass(0.1)
                for _ in 0..<8 { disk.step() }
                try turn()
                try removeBundle(index)
            }
            if bundles.all[index].removal != nil {
                throw SimComplaint("\(name) cannot be removed", self)
            }
        }
        for table in ["bundle", "bundleVersion", "bundleFile", "bundleHold"] {
            let count = try storeHolds(table)
            if count != 0 { throw SimComplaint("\(count) rows are left in \(table)", self) }
        }
    }

    /// The list tells what the server has.
    private func makeTrue(_ bundle: inout SimBundle) {
        var isTrue = wire.contents[bundle.list].map { disk.isText($0.current) } ?? false
        for index in bundle.files.indices {
            var file = bundle.files[index]
            guard let bytes = wire.contents[file.url]?.current else { continue }
            if file.digest != nil { file.digest = SimDisk.checksum(of: bytes) }
            if file.size != nil { file.size = bytes.count }
            if file.digest != bundle.files[index].digest || file.size != bundle.files[index].size {
                isTrue = false
                bundle.files[index] = file
            }
        }
        if !isTrue { publish(&bundle) }
    }
}
