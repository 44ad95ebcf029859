internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Transfers of one folder that are recorded at a time.
private let folderWindow = 512
/// Files of one folder that one step handles.
private let folderBatch = 512
/// Seconds between two looks at a folder's directory: nothing tells that one above it was moved.
private let folderCheckSeconds: Double = 10
/// The same while it is gone.
private let goneFolderCheckSeconds: Double = 4
/// Seconds between two scans where the kernel does not notify, and between two looks at a file that
/// cannot be sent.
private let folderScanSeconds: Double = 600
/// Least seconds until a file is looked at again that a program writes to.
private let openFileSeconds: Double = 1

/// The work of the engine's process on watched folders: it finds files, records transfers for
/// those that are complete, and deletes or moves files that were sent. The next scan finds again
/// all that is known of a file, so a crash costs nothing.
struct FolderSteps: EngineWork {
    private let queue: TransferQueue
    private let watches: FolderWatches
    private var known: [Int64: WatchedFolder] = [:]

    var descriptor: Int32? { watches.descriptor }
    var hasLastStep: Bool { known.values.contains(where: \.isSending) }

    init(_ queue: TransferQueue, _ watches: FolderWatches = FolderWatches()) {
        self.queue = queue
        self.watches = watches
    }

    mutating func run() throws(LonghaulError) -> Timestamp? {
        let folders = try queue.store.folders.all().filter { !$0.isPaused }
        for id in known.keys where !folders.contains(where: { $0.id == id }) { forget(id) }
        var news = watches.news()
        var next: Instant?
        var failure: LonghaulError?
        let now = queue.machine.now()
        for folder in folders {
            if known[folder.id]?.isOf(folder) == false { forget(folder.id) }
            var watched: WatchedFolder
            if let before = known[folder.id] {
                watched = before
                known[folder.id] = nil
            } else {
                watched = try WatchedFolder(folder, queue, watches)
            }
            defer { known[folder.id] = watched }
            do throws(LonghaulError) {
                let due = try watched.advance(folder, news.removeValue(forKey: folder.id), now)
                next = min(next ?? due, due)
            } catch {
                // News of the other folders comes only once.
                failure = error
            }
        }
        if let failure { throw failure }
        return next.map { now.wall + max(0, $0 - now.monotonic) }
    }

    private mutating func forget(_ id: Int64) {
        known[id] = nil
        watches.forget(id)
    }
}

/// One watched folder, with its files that are not done with.
private struct WatchedFolder {
    private let queue: TransferQueue
    private let watches: FolderWatches
    private var folder: StoredFolder
    private let selection: FileSelection
    private var files: [String: FolderFile] = [:]
    private var findings: FolderFindings
    private var scansDone: Int64
    private var isScanned = false
    /// The last scan still counts files that were sent and are unchanged.
    private var isCountingSkipped = true
    private var directory: FileIdentity?
    private var nextCheck: Instant
    private var nextScan: Instant?

    private var settings: FolderSettings { folder.settings }
    /// That of the settings, which cannot be read while ``files`` is changed.
    private let settle: Double

    var isSending: Bool { files.values.contains { $0.sending?.isLive == true } }

    init(
        _ folder: StoredFolder, _ queue: TransferQueue, _ watches: FolderWatches
    ) throws(LonghaulError) {
        self.queue = queue
        self.watches = watches
        self.folder = folder
        settle = folder.settings.settle
        selection = try FileSelection(
            include: folder.settings.include, exclude: folder.settings.exclude)
        findings = folder.findings
        scansDone = folder.scansDone
        nextCheck = queue.machine.now().monotonic
        try loadTransfers()
    }

    /// The settings are still those.
    func isOf(_ folder: StoredFolder) -> Bool {
        self.folder.settings == folder.settings && self.folder.since == folder.since
    }

    /// Files that are being sent, or could not be.
    private mutating func loadTransfers() throws(LonghaulError) {
        let now = queue.machine.now().monotonic
        let root = settings.directory + "/"
        let states: Set<TransferState> = [.waiting, .running, .paused, .failed, .cancelled]
        let query = ListQuery(states: states, session: folder.session, limit: .max)
        // The newest one of a file comes first.
        for transfer in try queue.store.transfers.list(query, now: queue.now) {
            guard transfer.id > folder.since, let source = transfer.source,
                source.hasPrefix(root), let version = transfer.options.upload?.source
            else { continue }
            let path = String(source.dropFirst(root.count))
            if files[path] != nil { continue }
            var file = FolderFile(version: version, standing: .settling(until: now))
            file.sending = FolderFile.Sending(id: transfer.id, version: version)
            if transfer.state.hasEnded { file.ended(transfer.state, transfer.error?.code) }
            files[path] = file
        }
    }

    /// Does what can be done now, and returns when to do more.
    mutating func advance(
        _ folder: StoredFolder, _ news: FolderWatches.News?, _ moment: Moment
    ) throws(LonghaulError) -> Instant {
        self.folder = folder
        let now = moment.monotonic
        if nextCheck <= now || news?.isAll == true { checkDirectory(now) }
        if findings.error != nil, folder.scansAsked > scansDone {
            checkDirectory(now)
            scansDone = folder.scansAsked
        }
        guard findings.error == nil else {
            try save()
            return nextCheck
        }
        if news?.isAll == true { isScanned = false }
        if !isScanned || folder.scansAsked > scansDone || nextScan.map({ $0 <= now }) == true {
            try scan(moment)
        } else if let news {
            for path in news.names { examine(path, moment, isNew: true) }
            for path in news.directories.sorted() { read(path, moment) }
        }
        try followTransfers(now)
        let next = try carryOut(moment)
        try save()
        return [next, nextScan].compactMap { $0 }.reduce(nextCheck, min)
    }

    private func save() throws(LonghaulError) {
        if findings == folder.findings, scansDone <= folder.scansDone { return }
        try queue.store.folders.record(findings, scansDone: scansDone, of: folder)
        // An engine that leaves when nothing is due looks again.
        WakeChannel.poke(queue.directory)
    }

    // MARK: - Finding files

    private mutating func checkDirectory(_ now: Instant) {
        var found: FileIdentity?
        do throws(SystemFailure) {
            found = try DirectoryHandle(opening: settings.directory).identity
            findings.error = nil
        } catch {
            var failure = error.longhaulError()
            if error.leadsNowhere {
                failure.message =
                    "\(settings.directory) is gone; it is watched again when it is back"
            }
            failure.retryable = true
            findings.error = failure
            watches.forget(folder.id)
            files = files.filter { $0.value.sending != nil }
            findings.pending = 0
            isScanned = false
        }
        if found != directory { isScanned = false }
        directory = found
        nextCheck = now + (found == nil ? goneFolderCheckSeconds : folderCheckSeconds)
    }

    /// Reads the whole directory.
    private mutating func scan(_ moment: Moment) throws(LonghaulError) {
        let asked = folder.scansAsked
        watches.forget(folder.id)
        findings.scansBecause = nil
        nextScan = nil
        findings.skipped = 0
        isCountingSkipped = true
        try forgetRemovedTransfers()
        for (path, file) in files {
            if case .refused = file.standing {
                files[path]?.standing = .settling(until: moment.monotonic)
            }
        }
        read("", moment)
        let present = files
        for (path, file) in present where file.sending?.isLive != true {
            if SourceFile.present(at: self.path(of: path)) == nil { files[path] = nil }
        }
        isScanned = true
        scansDone = max(scansDone, asked)
        findings.lastScan = moment.wall
    }

    /// A transfer that has failed and was removed is tried again.
    private mutating func forgetRemovedTransfers() throws(LonghaulError) {
        let ended = files.compactMap { $1.sending?.isLive == false ? $1.sending?.id : nil }
        if ended.isEmpty { return }
        let present = Set(try queue.transfers(ended).map(\.id))
        for (path, file) in files {
            guard let sending = file.sending, !sending.isLive, !present.contains(sending.id)
            else { continue }
            files[path]?.sending = nil
        }
    }

    /// Reads a directory below the folder's; empty = that one.
    private mutating func read(_ directory: String, _ moment: Moment) {
        let (id, settings, selection, watches) = (folder.id, settings, selection, watches)
        if !directory.isEmpty, !settings.descends(into: directory, selection) { return }
        // Before it is read, so that no file falls between.
        var reason = watches.watch(id, settings.directory, directory)
        let start = directory.isEmpty ? "" : directory + "/"
        let tree = try? FileTree(path(of: directory), followsLinks: false) { path in
            guard settings.descends(into: start + path, selection) else { return false }
            reason = watches.watch(id, settings.directory, start + path) ?? reason
            return true
        }
        if let reason {
            findings.scansBecause = reason
            nextScan = nextScan ?? moment.monotonic + folderScanSeconds
        }
        for path in tree?.files ?? [] { examine(start + path, moment, isNew: false) }
        // Files that cannot be read are refused, with the reason.
        for (path, why) in tree?.obstacles ?? [] where why == .unreadable && !path.hasSuffix("/") {
            if !path.isEmpty { examine(start + path, moment, isNew: false) }
        }
    }

    private func path(of name: String) -> String {
        name.isEmpty ? settings.directory : settings.directory + "/" + name
    }

    /// - Parameter isNew: An event has named it; otherwise it may have been there for long.
    private mutating func examine(_ path: String, _ moment: Moment, isNew: Bool) {
        guard selection.selectsComplete(path) else { return }
        guard let version = SourceFile.present(at: self.path(of: path)) else {
            if files[path]?.sending?.isLive != true { files[path] = nil }
            return
        }
        let touched = Double(max(version.modified, version.changed)) / 1e9
        let age = Double(moment.wall.milliseconds) / 1e3 - touched
        let left = isNew ? settle : settle - min(max(age, 0), settle)
        let settlesAt = moment.monotonic + left
        if files[path] == nil {
            files[path] = FolderFile(version: version, standing: .settling(until: settlesAt))
        } else {
            files[path]?.found(version, settlesAt: settlesAt)
        }
    }

    // MARK: - Sending

    /// Transfers that have ended, or were retried.
    private mutating func followTransfers(_ now: Instant) throws(LonghaulError) {
        if files.values.allSatisfy({ $0.sending == nil }) { return }
        let live = try queue.store.folders.live(of: folder)
        var ended: [TransferID: String] = [:]
        for (path, file) in files {
            guard let sending = file.sending else { continue }
            if live.contains(sending.id) {
                files[path]?.sending?.isLive = true
            } else if sending.isLive {
                ended[sending.id] = path
            }
        }
        let found = try queue.transfers(Array(ended.keys))
        let ends = Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0) })
        for (id, path) in ended {
            let version = SourceFile.present(at: self.path(of: path))
            if let version { files[path]?.found(version, settlesAt: now + settle) }
            guard let end = ends[id] else {
                files[path]?.sending = nil
                continue
            }
            files[path]?.ended(end.state, end.error?.code)
            // Where times are not steady, it would fail again and again at once.
            if files[path]?.sending?.missedFile == true, files[path]?.outdated == nil {
                files[path]?.standing = .settling(until: now + folderCheckSeconds)
            }
            if version == nil { files[path] = nil }
        }
    }

    private mutating func carryOut(_ moment: Moment) throws(LonghaulError) -> Instant? {
        let now = moment.monotonic
        var plan = decide(now)
        for path in plan.look { try judge(path, now) }
        if !plan.look.isEmpty { plan = decide(now) }
        try send(plan.send, now)
        for path in plan.finish { finish(path, now) }
        if !plan.send.isEmpty || !plan.finish.isEmpty { plan = decide(now) }
        isCountingSkipped = isCountingSkipped && plan.pending > 0
        findings.pending = plan.pending
        findings.refused = plan.refused
        findings.refusal = plan.refusal
        return plan.next
    }

    private func decide(_ now: Instant) -> FolderPlan {
        let live = files.values.count { $0.sending?.isLive == true }
        // Not one by one: each time is a transaction.
        let room = live > folderWindow / 2 ? 0 : folderWindow - live
        return FolderPlan.decide(files, room: room, limit: folderBatch, now: now)
    }

    /// The time to settle is over.
    private mutating func judge(_ path: String, _ now: Instant) throws(LonghaulError) {
        guard let found = SourceFile.present(at: self.path(of: path)) else {
            files[path] = nil
            return
        }
        // A refused file is tried again.
        if case .refused = files[path]?.standing { files[path]?.standing = .settling(until: now) }
        files[path]?.found(found, settlesAt: now + settle)
        guard case .settling(let until) = files[path]?.standing, until <= now else { return }
        do throws(LonghaulError) {
            var sent = SentUploads(queue)
            if try sent.contains(request(for: path)) {
                files[path]?.standing = .sent
                if isCountingSkipped, settings.ending == .keep { findings.skipped += 1 }
            } else if FileInspection.hasWriter(self.path(of: path)) {
                files[path]?.standing = .settling(
                    until: now + max(settle, openFileSeconds))
            } else {
                files[path]?.standing = .complete
            }
        } catch {
            if error.code == .storeUnavailable { throw error }
            refuse(path, error, now)
        }
    }

    private mutating func refuse(_ path: String, _ error: LonghaulError, _ now: Instant) {
        var error = error
        error.message = "\(path): \(error.message)"
        files[path]?.standing = .refused(error, until: now + folderScanSeconds)
    }

    private func request(for path: String) -> TransferRequest {
        settings.request(for: path, session: folder.session)
    }

    private mutating func send(_ paths: [String], _ now: Instant) throws(LonghaulError) {
        var validator = RequestValidator()
        var batch: [(path: String, new: NewTransfer, version: SourceVersion)] = []
        for path in paths {
            do throws(LonghaulError) {
                guard let file = files[path],
                    case .insert(let new) = try validator.admit(request(for: path)),
                    let version = new.request.options.upload?.source
                else { continue }
                // The file has changed since it was complete.
                guard version.isSame(as: file.version), version.inode == file.version.inode else {
                    files[path]?.found(version, settlesAt: now + settle)
                    continue
                }
                batch.append((path, new, version))
            } catch {
                if error.code == .storeUnavailable { throw error }
                refuse(path, error, now)
            }
        }
        // A power cut could leave an empty file of the same name, which would replace the whole one
        // at the server.
        let failures = GroupCommit.makeDurable(
            sources: batch.map { (self.path(of: $0.path), $0.version) })
        for (item, failure) in zip(batch, failures) {
            if let failure { refuse(item.path, failure.longhaulError(), now) }
        }
        batch = zip(batch, failures).filter { $1 == nil }.map(\.0)
        // A transfer of the file as it was before has failed, and this one replaces it.
        let old = batch.compactMap { files[$0.path]?.outdated }
        if !old.isEmpty { _ = try queue.remove(old) }
        if batch.isEmpty { return }
        let outcomes = try queue.store.wants.enqueue(
            batch.map(\.new), now: queue.now, keepGoing: true)
        for (item, outcome) in zip(batch, outcomes) {
            switch outcome {
            case .recorded(let id, _), .existing(let id, _):
                files[item.path]?.sending = FolderFile.Sending(id: id, version: item.version)
            case .refused(let error): refuse(item.path, error, now)
            case .skipped: break
            }
        }
        WakeChannel.poke(queue.directory)
    }

    // MARK: - After it was sent

    private mutating func finish(_ path: String, _ now: Instant) {
        guard let file = files[path] else { return }
        let spent = SpentFile(self.path(of: path), file.version)
        do throws(SystemFailure) {
            let outcome: SpentFile.Outcome =
                switch settings.ending {
                case .keep: .done
                case .delete: try spent.delete()
                case .move(let target): try spent.move(to: place(of: path, in: target))
                }
            switch outcome {
            case .done: files[path] = nil
            case .isOpen, .isAnother:
                files[path]?.standing = .settling(
                    until: now + max(settle, openFileSeconds))
            }
        } catch {
            refuse(path, error.longhaulError(), now)
        }
    }

    /// Files of subdirectories keep their directories.
    private func place(of path: String, in target: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return target }
        return target + "/" + path[..<slash]
    }
}

extension FolderSettings {
    /// A directory below the folder's is watched. What is moved there is not sent again.
    fileprivate func descends(into directory: String, _ selection: FileSelection) -> Bool {
        if !isRecursive { return false }
        if case .move(let target) = ending,
            target.isExactly(PathParts.join(self.directory, directory))
        {
            return false
        }
        return selection.mayDescend(into: directory)
    }
}
