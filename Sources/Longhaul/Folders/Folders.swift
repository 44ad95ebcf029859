internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Longest time for which a file may have to stay unchanged.
private let longestSettleSeconds: Double = 86_400
/// Transfers that are read to show what a folder waits for.
private let folderTransfersShown = 16

/// The watched folders of a queue: what appears in one and is complete is uploaded.
package struct Folders: Sendable {
    package let queue: TransferQueue
    private var store: Store { queue.store }

    package init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// A folder to be watched.
    package struct New: Sendable {
        package var name: String
        package var settings: FolderSettings
        package var host: String?

        /// - Parameters:
        ///   - directory: Absolute path.
        ///   - url: Where the files go.
        ///   - request: The options of the uploads.
        package init(_ name: String, directory: String, url: String, _ request: TransferRequest) {
            self.name = name
            let directory = PathParts.withoutSlashes(PathParts.plain(directory))
            settings = FolderSettings(directory: directory, url: url, request)
        }
    }

    /// Records a folder, durably. One of the same name is replaced.
    ///
    /// - Throws: `LonghaulError` `invalidRequest`; `conflict` when a directory does not exist or
    ///   cannot be used; `noSuchHost`; `storeUnavailable`.
    package func add(_ new: New) throws(LonghaulError) {
        var new = new
        try check(new)
        if case .move(let target) = new.settings.ending {
            new.settings.ending = .move(try usable(target, for: new.settings))
        }
        try new.settings.complete(in: queue.directory)
        let known = try store.folders.add(
            new.name, new.settings, host: new.host, now: queue.now)
        if let known, !known.sendsSame(as: new.settings) {
            _ = try queue.cancel(.session(.session(ofFolder: new.name)))
        }
        WakeChannel.poke(queue.directory)
    }

    private func check(_ new: New) throws(LonghaulError) {
        guard new.name.isPlainName, new.name.first != "-" else {
            throw .usage(
                "the name of a folder has letters, digits, '.', '_' and '-', and at most 128 of"
                    + " them")
        }
        _ = try FileSelection(include: new.settings.include, exclude: new.settings.exclude)
        guard (0...longestSettleSeconds).contains(new.settings.settle) else {
            throw .usage("--settle: it is 0 s to a day")
        }
        let directory = new.settings.directory
        guard FileInspection.kind(at: directory + "/.") == .directory else {
            throw LonghaulError(.conflict, "there is no directory \(directory); make it first")
        }
        guard directoryNames(directory) != nil else {
            throw LonghaulError(.permission, "no permission to read \(directory)")
        }
        let upload = new.settings.common.options.upload ?? UploadOptions()
        if upload.snapshot || upload.ifChanged != .fail {
            throw .usage(
                "a watched folder sends complete files: --snapshot and --if-changed do not apply")
        }
    }

    /// The path of the directory for files that were sent, as seen from the folder's.
    private func usable(
        _ target: String, for settings: FolderSettings
    ) throws(LonghaulError) -> String {
        let target = PathParts.withoutSlashes(PathParts.plain(target))
        let directory = settings.directory
        guard let one = try? DirectoryHandle(opening: directory),
            let other = try? DirectoryHandle(opening: target)
        else {
            throw LonghaulError(.conflict, "there is no directory \(target); make it first")
        }
        if one.identity == other.identity {
            throw .usage("--after: files cannot be moved to where they are")
        }
        guard one.identity.device == other.identity.device else {
            throw LonghaulError(
                .conflict,
                "\(target) is on another file system than \(directory); choose a directory on the"
                    + " same one")
        }
        let (root, place) = (PathParts.resolved(directory), PathParts.resolved(target))
        guard place.hasPrefix(root + "/") else { return target }
        return directory + place.dropFirst(root.count)
    }

    /// All folders, by name.
    package func all() throws(LonghaulError) -> [FolderRecord] {
        var records: [FolderRecord] = []
        for folder in try store.folders.all() { records.append(try record(folder)) }
        return records
    }

    /// - Throws: `LonghaulError` `noSuchFolder`, `storeUnavailable`.
    package func find(_ name: String) throws(LonghaulError) -> FolderRecord {
        try record(try store.folders.find(name))
    }

    private func record(_ folder: StoredFolder) throws(LonghaulError) -> FolderRecord {
        let counts = try store.transfers.counts(session: folder.session)
        var record = FolderRecord(folder, counts)
        if record.waiting > 0, counts[.running] == nil {
            var filter = TransferFilter()
            filter.session = folder.session
            filter.states = [.waiting]
            filter.limit = folderTransfersShown
            record.waitingFor = try queue.transfers(filter).last?.waitingFor ?? []
        }
        let isMissing = !folder.isPaused && record.waitingFor.isEmpty && !queue.isEngineRunning
        if isMissing { record.waitingFor = [.noEngine()] }
        return record
    }

    /// Looks for files now, and tries failed ones again.
    ///
    /// - Throws: `LonghaulError` `noSuchFolder`, `storeUnavailable`.
    package func scan(_ name: String) throws(LonghaulError) {
        try store.folders.scan(name)
        var filter = TransferFilter()
        filter.session = .session(ofFolder: name)
        filter.states = [.failed]
        filter.limit = nil
        let failed = try queue.transfers(filter).map(\.id)
        if !failed.isEmpty { _ = try queue.retry(.ids(failed)) }
        WakeChannel.poke(queue.directory)
    }

    /// Nothing is sent, and nothing is looked for.
    ///
    /// - Throws: `LonghaulError` `noSuchFolder`, `storeUnavailable`.
    package func pause(_ name: String) throws(LonghaulError) {
        try store.folders.setPaused(name, true)
        _ = try queue.pause(.session(.session(ofFolder: name)))
    }

    /// - Throws: `LonghaulError` `noSuchFolder`, `storeUnavailable`.
    package func resume(_ name: String) throws(LonghaulError) {
        try store.folders.setPaused(name, false)
        _ = try queue.resume(.session(.session(ofFolder: name)))
        WakeChannel.poke(queue.directory)
    }

    /// Watches the folder no more, and cancels its transfers. Files stay, here and at the server.
    ///
    /// - Throws: `LonghaulError` `noSuchFolder`, `storeUnavailable`.
    package func remove(_ name: String) throws(LonghaulError) {
        try store.folders.remove(name)
        _ = try queue.cancel(.session(.session(ofFolder: name)))
    }
}

extension FolderSettings {
    /// Finds the bucket of an s3: URL, with the means of signing, and refuses what an upload would
    /// be refused for.
    ///
    /// - Parameter queue: The state directory: a file of it serves as an example.
    fileprivate mutating func complete(in queue: String) throws(LonghaulError) {
        common.options.upload = common.options.upload ?? UploadOptions()
        common.options.upload?.createsDirectories = true
        if url.beginsIgnoringCase(with: "s3:") {
            common.options.upload?.uploadProtocol = .s3
            var request = common.request(url, "", session: "")
            request = try S3Location().located(request)
            request.options.s3?.askedURL = nil
            common.options = request.options
            url = request.url
        }
        let isPlace = common.options.upload?.namesItsPlace == true
        if isPlace, !UploadPlace.isDirectory(url) {
            throw .usage("the files go to a URL that ends in a slash, as \(Redaction.url(url))/")
        }
        var validator = RequestValidator()
        let example = common.request(
            url, PathParts.join(queue, "queue.sqlite"), session: "default")
        _ = try validator.admit(example)
    }
}
