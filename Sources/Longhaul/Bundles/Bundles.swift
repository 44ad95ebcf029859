internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// How long a removal waits for the engine to end the bundle's transfers.
private let bundleRemovalSeconds: Double = 10
/// Transfers that are read to show what a bundle waits for.
private let bundleTransfersShown = 16

/// The bundles of a queue: sets of files that are whole, or an error.
package struct Bundles: Sendable {
    package let queue: TransferQueue
    private var store: Store { queue.store }

    package init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// A bundle to be added.
    package struct New: Sendable {
        /// `nil` = made from the source, and free.
        package var name: String?
        package var source: BundleSource
        /// Absolute path; `nil` = the name, in the directory given to ``Bundles/add(_:in:)``.
        package var directory: String?
        /// `nil` = the source's own.
        package var layout: BundleLayoutKind?
        package var settings = BundleSettings()
        package var host: String?

        package init(_ source: BundleSource) {
            self.source = source
        }
    }

    /// Records a bundle, durably, whether its source answers or not. The same again is the same
    /// bundle, with the new settings.
    ///
    /// - Parameter parent: Directory of a bundle that names none.
    /// - Returns: Its name.
    /// - Throws: `LonghaulError` `invalidRequest`; `conflict` when another bundle has the name or
    ///   the directory; `noSuchHost`; `storeUnavailable`.
    package func add(_ new: New, in parent: String) throws(LonghaulError) -> String {
        var new = new
        if new.source.kind == .s3 { try new.findBucket() }
        let layout = new.layout ?? new.source.defaultLayout
        guard new.source.allows(layout) else {
            throw LonghaulError(
                .invalidRequest, "\(new.source) cannot be laid out as \(layout.rawValue)")
        }
        if new.settings.signedBy != nil, !new.source.mayBeSigned {
            throw LonghaulError(.invalidRequest, "--signed-by is for a list of checksums (sums:)")
        }
        _ = try GlobSet(include: new.settings.include, exclude: new.settings.exclude)
        let name: String
        if let given = new.name {
            name = given
        } else {
            name = try freeName(for: new, layout, in: parent)
        }
        if let defect = Self.defect(of: name) { throw LonghaulError(.invalidRequest, defect) }
        let directory = PathParts.withoutSlashes(
            PathParts.plain(new.directory ?? PathParts.join(parent, name)))
        try store.bundles.add(
            RegisteredBundles.NewBundle(
                name: name, source: new.source, directory: directory, layout: layout,
                settings: new.settings, isWanted: new.settings.policy != .onDemand,
                host: new.host), now: queue.now)
        WakeChannel.poke(queue.directory)
        return name
    }

    /// The name of the bundle that has this source and directory; a free one if there is none.
    private func freeName(
        for new: New, _ layout: BundleLayoutKind, in parent: String
    ) throws(LonghaulError) -> String {
        let all = try store.bundles.all()
        let base = new.source.defaultName
        for number in 1... {
            let name = number == 1 ? base : "\(base)-\(number)"
            guard let known = all.first(where: { $0.name == name }) else { return name }
            let directory = PathParts.plain(new.directory ?? PathParts.join(parent, name))
            if known.source == new.source, known.layout == layout,
                known.directory.isExactly(PathParts.withoutSlashes(directory))
            {
                return name
            }
        }
        return base
    }

    private static func defect(of name: String) -> String? {
        if name.isPlainName, name.first != "-" { return nil }
        return "the name of a bundle has letters, digits, '.', '_' and '-', and at most 128 of them"
    }

    /// All bundles, by name.
    package func all() throws(LonghaulError) -> [BundleRecord] {
        var records: [BundleRecord] = []
        for bundle in try store.bundles.all() { records.append(try record(bundle)) }
        return records
    }

    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func find(_ name: String) throws(LonghaulError) -> BundleRecord {
        try record(try store.bundles.find(name))
    }

    private func record(_ bundle: StoredBundle) throws(LonghaulError) -> BundleRecord {
        var record = BundleRecord(bundle)
        guard bundle.phase != .idle else {
            record.forecast.text = Self.forecast(of: record)
            return record
        }
        var filter = TransferFilter()
        filter.session = bundle.session
        filter.states = [.running]
        filter.limit = nil
        record.running = try queue.transfers(filter)
        if bundle.phase == .fetching {
            let moving = record.running.reduce(Int64(0)) { $0.addingClamped($1.bytesDone) }
            record.bytesDone = record.bytesDone.addingClamped(moving)
        }
        if record.running.isEmpty {
            filter.states = [.waiting, .paused]
            filter.limit = bundleTransfersShown
            record.waitingFor = try queue.transfers(filter).last?.waitingFor ?? []
        }
        if record.waitingFor.isEmpty, !queue.isEngineRunning { record.waitingFor = [.noEngine()] }
        record.forecast.text = Self.forecast(of: record)
        return record
    }

    private static func forecast(of record: BundleRecord) -> String {
        let left = record.files.total - record.files.complete
        return switch record.state {
        case .absent: "`longhaul bundle ensure \(record.name)` fetches it"
        case .checking: "the source is asked for its files"
        case .fetching: "\(left) of \(record.files.total) files are left"
        case .ready: "it stays so"
        case .outdated: "`longhaul bundle ensure --latest \(record.name)` fetches the newer version"
        case .failed: "`longhaul bundle ensure \(record.name)` tries again"
        case .paused: "`longhaul bundle resume \(record.name)` continues"
        }
    }

    // MARK: - What is wanted

    /// Asks for the files: nothing is asked for if all files of the version that is ready are
    /// there.
    ///
    /// - Parameter latest: Of the newest version of the source, which is asked for it.
    /// - Returns: Whether something is left to be done.
    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func want(_ name: String, latest: Bool) throws(LonghaulError) -> Bool {
        let bundle = try store.bundles.find(name)
        let isWhole = bundle.phase == .fetching ? false : try isWhole(bundle)
        if !latest, isWhole, bundle.phase == .idle, !bundle.isPaused { return false }
        if bundle.isPaused { try resume(name) }
        try store.bundles.want(name, latest: latest, now: queue.now)
        WakeChannel.poke(queue.directory)
        return true
    }

    /// Every file of the version that is ready has its size. Files that have not wait from now on.
    private func isWhole(_ bundle: StoredBundle) throws(LonghaulError) -> Bool {
        guard let ready = bundle.ready else { return false }
        let places = BundlePlaces(bundle, ready, queue)
        var damaged: [Int64] = []
        var files = store.bundles.files(of: ready.id)
        while let file = try files.next() {
            if places.problem(of: file, readsAll: false) != nil { damaged.append(file.number) }
        }
        if damaged.isEmpty { return true }
        try store.bundles.markDamaged(damaged, of: ready.id, replaces: false)
        return false
    }

    /// Asks the source for its version.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func check(_ name: String) throws(LonghaulError) {
        try store.bundles.check(name)
        WakeChannel.poke(queue.directory)
    }

    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func pause(_ name: String) throws(LonghaulError) {
        try store.bundles.setPaused(name, true)
        _ = try queue.pause(.session(.session(ofBundle: name)))
    }

    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func resume(_ name: String) throws(LonghaulError) {
        try store.bundles.setPaused(name, false)
        _ = try queue.resume(.session(.session(ofBundle: name)))
    }

    /// Its transfers run now, regardless of their conditions.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func runNow(_ name: String) throws(LonghaulError) {
        if try store.bundles.find(name).isPaused { try resume(name) }
        _ = try queue.runNow(.session(.session(ofBundle: name)))
    }

    /// Ends what is done for the bundle. Complete files stay.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func cancel(_ name: String) throws(LonghaulError) {
        try store.bundles.giveUp(name)
        _ = try queue.cancel(.session(.session(ofBundle: name)))
    }

    /// Forgets a bundle, and deletes the files that it has brought, unless they were changed.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`; `conflict` while its transfers do not end;
    ///   `storeUnavailable`.
    package func remove(_ name: String, keepingFiles: Bool) throws(LonghaulError) {
        try cancel(name)
        let end = SystemClock.now().monotonic + bundleRemovalSeconds
        while true {
            if !queue.isEngineRunning { try queue.settle() }
            if try removeIfEnded(name, keepingFiles: keepingFiles) { return }
            if SystemClock.now().monotonic >= end {
                throw LonghaulError(
                    .conflict, "the transfers of the bundle \(name) have not ended; try again")
            }
            ThreadSleep.seconds(0.05)
        }
    }

    /// Forgets a cancelled bundle. `false` = its transfers have not ended.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`.
    package func removeIfEnded(_ name: String, keepingFiles: Bool) throws(LonghaulError) -> Bool {
        let bundle = try store.bundles.find(name)
        let query = ListQuery(
            states: Set(TransferState.allCases), session: bundle.session, limit: .max)
        let left = try store.transfers.list(query, now: queue.now)
        guard left.allSatisfy(\.state.hasEnded) else { return false }
        if try queue.isCancelPending(among: left.map(\.id)) { return false }
        try ManifestCheck.forget(left, in: queue)
        if !keepingFiles {
            for version in try store.bundles.versions(of: bundle.id) {
                let places = BundlePlaces(bundle, version, queue)
                try places.deleteFiles(besides: nil)
                try places.undoFinish()
            }
        }
        try store.bundles.remove(name)
        return true
    }

    // MARK: - Files

    /// Calls the body with each file of the version that is being fetched, or is ready.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`, `storeUnavailable`; and what the body throws.
    package func forEachFile(
        of name: String, _ body: (BundleFileRecord) throws -> Void
    ) throws {
        let bundle = try store.bundles.find(name)
        guard let version = bundle.target ?? bundle.ready else { return }
        var files = store.bundles.files(of: version.id)
        while let file = try files.next() { try body(BundleFileRecord(file: file)) }
    }

    /// Reads every file of the version that is ready again, and compares. Files with problems wait
    /// from then on, and the version is not ready any more.
    ///
    /// - Parameters:
    ///   - repair: They are fetched again, in place of what is there.
    ///   - report: Called with each problem.
    /// - Returns: The number of problems.
    /// - Throws: `LonghaulError` `noSuchBundle`; `conflict` when no version is ready;
    ///   `storeUnavailable`; and what `report` throws.
    package func verify(
        _ name: String, repair: Bool, report: (BundleProblem) throws -> Void
    ) throws -> Int {
        let bundle = try store.bundles.find(name)
        guard let version = bundle.ready ?? bundle.target, version.complete > 0 else {
            throw LonghaulError(.conflict, "no version of the bundle \(name) is ready")
        }
        let places = BundlePlaces(bundle, version, queue)
        var damaged: [Int64] = []
        var files = store.bundles.files(of: version.id)
        while let file = try files.next() {
            let isIncomplete = file.state == .waiting || file.state == .failed
            let isMissing =
                isIncomplete && queue.machine.files.version(at: places.place(of: file)) == nil
            let found = isMissing ? .missing : places.problem(of: file, readsAll: true)
            // Nothing proves a file that has neither size nor digest.
            let isForeign = file.state == .failed && file.error?.code == .destinationExists
            guard let problem = found ?? (isForeign ? .digest : nil) else { continue }
            damaged.append(file.number)
            try report(BundleProblem(path: file.entry.path, kind: problem))
        }
        if damaged.isEmpty { return 0 }
        try store.bundles.markDamaged(damaged, of: version.id, replaces: repair)
        if repair {
            try store.bundles.want(name, latest: false, now: queue.now)
            WakeChannel.poke(queue.directory)
        }
        return damaged.count
    }

    /// The directory of the version that is ready, or one of its files.
    ///
    /// - Throws: `LonghaulError` `noSuchBundle`; `notFound` when no version is ready, or it has no
    ///   such file; `storeUnavailable`.
    package func path(_ name: String, file: String?) throws(LonghaulError) -> String {
        let bundle = try store.bundles.find(name)
        guard let ready = bundle.ready else {
            throw LonghaulError(
                .notFound,
                "no version of the bundle \(name) is ready; `longhaul bundle ensure \(name)`"
                    + " fetches one")
        }
        let layout = BundleLayout(
            bundle.layout, directory: bundle.directory, source: bundle.source)
        guard let file else { return layout.path(of: ready.name) }
        guard try store.bundles.file(file, of: ready.id) != nil else {
            throw LonghaulError(.notFound, "the bundle \(name) has no file \(file)")
        }
        return layout.path(of: file, in: ready.name)
    }

    /// Keeps the version that is ready while this process lives, and returns its directory.
    ///
    /// - Throws: as ``path(_:file:)``.
    package func hold(_ name: String) throws(LonghaulError) -> String {
        let path = try path(name, file: nil)
        if let ready = try store.bundles.find(name).ready {
            let process = ProcessIdentity.current
            try store.bundles.hold(
                ready.id, pid: process.pid, pidStart: Int64(clamping: process.startTicks))
        }
        return path
    }
}

extension Bundles {
    /// Keeps a list that comes on standard input, and returns its path.
    ///
    /// - Throws: `LonghaulError` `io`, `noSpace`.
    package func keepInput() throws(LonghaulError) -> String {
        do throws(SystemFailure) {
            let bytes = try TextFile.readStandardInput()
            let directory = PathParts.join(queue.directory, "bundles")
            let incoming = PathParts.join(directory, "list-\(ProcessIdentity.current.pid)")
            try PlacedFile().write(bytes, to: incoming)
            defer { SpooledFile.remove(incoming) }
            let digest = try PlacedFile().read(incoming, atMost: .max).sha256
            // The same list is the same source.
            let path = PathParts.join(directory, "list-\(digest).jsonl")
            try PlacedFile().write(bytes, to: path)
            return path
        } catch {
            throw error.longhaulError()
        }
    }
}

extension Bundles.New {
    /// Records where the bucket is, and the means of signing.
    fileprivate mutating func findBucket() throws(LonghaulError) {
        let bucket = source.name.prefix { $0 != "/" }
        var request = TransferRequest(url: "s3://\(bucket)/", destination: .file(""))
        request.options = settings.common.options
        request = try S3Location().located(request)
        request.options.s3?.askedURL = nil
        source.endpoint = String(request.url.dropLast())
        source.region = request.options.s3?.region
        settings.common.options = request.options
    }
}
