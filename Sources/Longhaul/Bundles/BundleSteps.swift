internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// Files of one version that transfers fetch at a time: rows are recorded for this window only.
private let bundleWindow = 512
/// Longest wait between two looks while something is done for a bundle.
private let bundlePollSeconds: Double = 2
/// Files that one transaction changes.
private let bundleBatch = 128
/// Checks of a version whose files keep changing; a file system may have unsteady times, too.
private let mostRechecks = 8
/// Seconds from the end of a transfer after which its file is read again.
private let lateSeconds: Double = 10
/// Fetches of a file whose digest is wrong.
private let fetchesOfWrongFile = 2

/// What the process of the engine does for bundles: it asks sources for their manifests, records
/// transfers for the files, and finishes versions. Every step begins and ends with rows, so that
/// the next engine continues after a crash.
package struct BundleSteps: EngineWork {
    package var descriptor: Int32? { nil }
    package var hasLastStep: Bool { false }

    private let queue: TransferQueue
    /// Checks under way, by bundle. Those of an engine that has ended begin again.
    private var checks: [Int64: ManifestCheck] = [:]
    /// Versions whose files had gone from the server: their manifests were asked for once more.
    private var asked: Set<Int64> = []
    /// How registries let images be read.
    private var registries: [Int64: RegistryLease] = [:]
    /// Versions for which the disk has room.
    private var roomy: Set<Int64> = []
    /// How often files of a version had changed when all were complete.
    private var rechecks: [Int64: Int] = [:]
    private var random: SeededGenerator

    private var work: BundleWork { queue.store.bundleWork }

    /// - Parameter seed: Of the moments at which sources are asked again.
    package init(_ queue: TransferQueue, seed: UInt64) {
        self.queue = queue
        random = SeededGenerator(seed: seed)
    }

    /// Does what can be done now.
    ///
    /// - Returns: When to look again even if nothing happens; `nil` = only then.
    /// - Throws: `LonghaulError` `storeUnavailable`; another call tries again.
    package mutating func run() throws(LonghaulError) -> Timestamp? {
        let open = try work.open(now: queue.now)
        for id in checks.keys where !open.contains(where: { $0.id == id && $0.phase == .checking })
        {
            checks.removeValue(forKey: id)?.end()
        }
        let current = Set(checks.values.compactMap(\.transfer))
        let left = try work.leftovers(
            besidesAnswersIn: ManifestCheck.directory(of: queue), now: queue.now)
        try ManifestCheck.forget(left.filter { !current.contains($0.id) }, in: queue)
        for bundle in open {
            do throws(LonghaulError) {
                try advance(bundle)
            } catch {
                if error.code == .storeUnavailable { throw error }
                try fail(bundle, error)
            }
        }
        let next = try work.nextCheck()
        if open.isEmpty { return next }
        let soon = queue.now + bundlePollSeconds
        return next.map { min($0, soon) } ?? soon
    }

    private mutating func advance(_ bundle: StoredBundle) throws(LonghaulError) {
        switch bundle.phase {
        case .idle: try work.beginCheck(bundle.id)
        case .checking: try check(bundle)
        case .fetching: try fetch(bundle)
        }
    }

    private mutating func fail(
        _ bundle: StoredBundle, _ error: LonghaulError
    ) throws(LonghaulError) {
        checks.removeValue(forKey: bundle.id)?.end()
        _ = try queue.cancel(.session(bundle.session))
        try work.fail(bundle, error, nextCheck: nextCheck(of: bundle), now: queue.now)
        WakeChannel.poke(queue.directory)
    }

    /// The moment is chosen once for each machine and bundle, so that many machines spread.
    private mutating func nextCheck(of bundle: StoredBundle) -> Timestamp? {
        bundle.settings.every.map {
            queue.now + $0 * Double.random(in: 0.9...1, using: &random)
        }
    }

    // MARK: - The manifest

    private mutating func check(_ bundle: StoredBundle) throws(LonghaulError) {
        var check: ManifestCheck
        if let known = checks[bundle.id] {
            check = known
        } else {
            check = try ManifestCheck(queue, bundle)
        }
        let whole = try check.advance()
        guard var manifest = whole else {
            checks[bundle.id] = check
            return
        }
        checks[bundle.id] = nil
        if bundle.source.kind == .ociImage {
            registries[bundle.id] = RegistryLease(
                manifest.access, until: queue.now + manifest.access.seconds,
                after: registries[bundle.id])
        }
        let globs = try GlobSet(
            include: bundle.settings.include, exclude: bundle.settings.exclude)
        manifest.files.removeAll { !globs.selects($0.path) }
        if manifest.files.isEmpty {
            throw LonghaulError(
                .invalidManifest, "the source has no file that the patterns select")
        }
        try ManifestNames.check(
            manifest.files, foldsCase: queue.machine.files.foldsCase(in: bundle.directory))
        var signedBy: String?
        if let key = bundle.settings.signedBy {
            guard let signature = manifest.signature else {
                throw LonghaulError(.invalidManifest, "the list has no signature")
            }
            try SignatureProgram.check(signature, key: key, in: queue.directory)
            signedBy = key
        }
        try work.record(
            manifest, manifest.layout.stored, signedBy: signedBy, of: bundle.id,
            nextCheck: nextCheck(of: bundle), now: queue.now)
    }

    // MARK: - The files

    private mutating func fetch(_ bundle: StoredBundle) throws(LonghaulError) {
        guard let version = bundle.target else {
            return try fail(
                bundle, LonghaulError(.internal, "the bundle has no version to fetch"))
        }
        let registry = registries[bundle.id].flatMap { $0.until > queue.now ? $0.access : nil }
        let files = BundlePlaces(
            bundle, version, queue, registry?.credential ?? .source)
        try settle(bundle, version, files)
        if try isStillLeaving(bundle) { return }
        if bundle.source.kind == .ociImage {
            try renewToken(of: bundle, version)
            let isOver = registries[bundle.id].map { $0.until <= queue.now } ?? true
            if isOver, try work.isUnderWay(version.id) {
                // The manifest is asked for once more, and with it a token.
                return try queue.store.bundles.check(bundle.name)
            }
        }
        if !roomy.contains(version.id) {
            try files.requireRoom()
            roomy.insert(version.id)
        }
        try fill(bundle, version, files)
        if try work.isUnderWay(version.id) { return }
        try end(bundle, version.id)
    }

    /// True while transfers of the bundle run that an earlier version or attempt has left: they may
    /// write to the same places.
    private mutating func isStillLeaving(
        _ bundle: StoredBundle
    ) throws(LonghaulError) -> Bool {
        for version in try work.unsettled(of: bundle) {
            try settle(bundle, version, BundlePlaces(bundle, version, queue))
        }
        let strays = try work.strays(of: bundle, now: queue.now)
        let running = strays.filter { $0.state != .cancelled }
        if !running.isEmpty { _ = try queue.cancel(.ids(running.map(\.id))) }
        return !strays.isEmpty
    }

    /// Records how transfers have ended.
    private mutating func settle(
        _ bundle: StoredBundle, _ version: BundleVersion, _ files: BundlePlaces
    ) throws(LonghaulError) {
        var changes: [BundleWork.Change] = []
        for (file, end) in try work.ended(version.id, now: queue.now) {
            // A token that has expired is renewed, once for each file.
            if case .other(let transfer) = end, transfer.error?.code == .unauthorized,
                file.mismatches == 0, case .bearer = registries[bundle.id]?.access
            {
                registries[bundle.id]?.until = queue.now
                changes.append(.again(file, isWrong: true))
            } else {
                changes.append(outcome(of: file, end, files))
            }
        }
        try apply(changes, bundle, version)
    }

    /// Transfers that wait because a token was refused get the present one; if it is that one that
    /// was refused, its time is over.
    private mutating func renewToken(
        of bundle: StoredBundle, _ version: BundleVersion
    ) throws(LonghaulError) {
        guard let lease = registries[bundle.id], case .bearer(let token) = lease.access else {
            return
        }
        var filter = TransferFilter()
        filter.session = bundle.session
        filter.states = [.waiting]
        filter.limit = nil
        let held = try queue.transfers(filter).filter {
            $0.waitingFor.contains { $0.required == WaitReason.otherCredentials }
        }
        if held.isEmpty { return }
        let field = BundleCredential.bearer(token.text)
        if held.contains(where: { $0.options.headers["Authorization"] == field }) {
            guard registries[bundle.id]?.mayRenew(complete: version.complete) == true else {
                throw LonghaulError(
                    .unauthorized, "the registry refuses the tokens that it gives out",
                    retryable: true)
            }
            registries[bundle.id]?.until = queue.now
            return
        }
        var change = TransferChange()
        change.headers = [HeaderFields.Field(name: "Authorization", value: field)]
        for transfer in held { try queue.change(transfer.id, change) }
    }

    private func outcome(
        of file: BundleFile, _ end: BundleWork.End, _ files: BundlePlaces
    ) -> BundleWork.Change {
        let isLast = file.mismatches + 1 >= fetchesOfWrongFile
        switch end {
        case .gone: return .again(file, isWrong: false)
        case .completed(let finishedAt):
            guard let found = queue.machine.files.version(at: files.place(of: file)) else {
                return .again(file, isWrong: false)
            }
            // It may have been changed since: it is read as any file that is there.
            let isLate = abs(queue.now - finishedAt) > lateSeconds
            if isLate, file.entry.digest != nil { return .again(file, isWrong: false) }
            if let size = file.entry.size, size != found.size {
                // What came is the bundle's all the same.
                var file = file
                file.stamp = found.text
                if !isLast { return .again(file, isWrong: true) }
                return .failed(
                    file,
                    LonghaulError(
                        .checksumMismatch,
                        "the server sent \(found.size) bytes; the list says \(size)"))
            }
            return .complete(file, stamp: found.text, size: found.size, isFetched: true)
        case .other(let transfer):
            let error =
                transfer.error
                ?? LonghaulError(.cancelled, "its transfer was cancelled", retryable: true)
            // Another program has put a file there meanwhile.
            if error.code == .destinationExists { return .again(file, isWrong: false) }
            if error.code == .checksumMismatch {
                // Such an ETag is not a digest (Amazon S3 API Reference, Object).
                if file.entry.digest != nil, transfer.isEncryptedWithKey { return .unproved(file) }
                if !isLast { return .again(file, isWrong: true) }
            }
            return .failed(file, error)
        }
    }

    /// Records transfers for files that wait, as many as the window has room for.
    private func fill(
        _ bundle: StoredBundle, _ version: BundleVersion, _ files: BundlePlaces
    ) throws(LonghaulError) {
        var validator = RequestValidator()
        var last: Int64 = 0
        // The first object tells whether the ETags of the bucket are digests.
        let isFirst = bundle.source.kind == .s3 && version.complete + version.failed == 0
        let window = isFirst ? 1 : bundle.source.filesAtOnce ?? bundleWindow
        while true {
            let next = try work.next(
                of: bundle, version.id, after: last, window: window, limit: bundleBatch)
            guard let end = next.last?.number else { return }
            last = end
            var begun: Set<Checksum> = []
            var changes: [BundleWork.Change] = []
            for file in next {
                if let digest = file.entry.digest, begun.contains(digest) { continue }
                let change = files.decision(on: file, &validator)
                if case .fetch = change, let digest = file.entry.digest { begun.insert(digest) }
                changes.append(change)
            }
            try apply(changes, bundle, version)
        }
    }

    private func apply(
        _ changes: [BundleWork.Change], _ bundle: StoredBundle, _ version: BundleVersion
    ) throws(LonghaulError) {
        if changes.isEmpty { return }
        let parts: [OrphanedPart]
        do {
            parts = try work.apply(changes, of: bundle, version.id, now: queue.now)
        } catch {
            throw error as? LonghaulError ?? LonghaulError(.internal, "\(error)")
        }
        try? queue.store.wants.forget(parts.filter { queue.machine.files.discard($0) })
        WakeChannel.poke(queue.directory)
    }

    /// No file waits or is under way.
    private mutating func end(_ bundle: StoredBundle, _ id: Int64) throws(LonghaulError) {
        guard let bundle = try work.find(bundle.id), !bundle.isPaused,
            let version = bundle.target, version.id == id, bundle.phase == .fetching
        else { return }
        roomy.remove(id)
        guard version.isDone else { return try endWithout(version, bundle) }
        let places = BundlePlaces(bundle, version, queue)
        let changed = try places.changed()
        if !changed.isEmpty, rechecks[id, default: 0] < mostRechecks {
            rechecks[id, default: 0] += 1
            return try queue.store.bundles.markDamaged(changed, of: id, replaces: false)
        }
        try places.finish()
        try work.finish(version, of: bundle, now: queue.now)
        asked.remove(id)
        WakeChannel.poke(queue.directory)
        try dropOld(bundle, version)
    }

    /// Some files have failed. Files that are gone may have gone with their version: the source is
    /// asked once more.
    private mutating func endWithout(
        _ version: BundleVersion, _ bundle: StoredBundle
    ) throws(LonghaulError) {
        let failed = try queue.store.bundles.failedFiles(of: version.id, limit: 1_000)
        let areGone = failed.contains { $0.error?.code == .notFound }
        if areGone, asked.insert(version.id).inserted {
            return try queue.store.bundles.check(bundle.name)
        }
        asked.remove(version.id)
        guard let first = failed.first else { return }
        var error = first.error ?? LonghaulError(.internal, "a file failed")
        error.transferID = nil
        let others = version.failed > 1 ? " (and \(version.failed - 1) more files)" : ""
        error.message = "\(first.entry.path): \(error.message)\(others)"
        try fail(bundle, error)
    }

    /// Deletes versions that nothing uses any more.
    private func dropOld(
        _ bundle: StoredBundle, _ ready: BundleVersion
    ) throws(LonghaulError) {
        var present = bundle
        present.ready = ready
        let unused = try work.unused(of: present) { pid, start in
            ProcessIdentity(pid: pid, startTicks: UInt64(clamping: start)).isAlive
        }
        let kept = bundle.layout == .versions ? bundle.settings.keep : 0
        // Another selection of the version that is ready has the same directory.
        let old = unused.filter { $0.readyAt != nil && $0.name != ready.name }
        let others = unused.filter { $0.readyAt == nil || $0.name == ready.name }
        for version in others + old.dropLast(kept) {
            try BundlePlaces(present, version, queue).deleteFiles(besides: ready)
            try work.drop(version)
        }
    }
}

extension Transfer {
    /// The object of S3 was encrypted with a key of the key management service.
    fileprivate var isEncryptedWithKey: Bool {
        response?.headers.single("x-amz-server-side-encryption")?.hasPrefix("aws:kms") == true
    }
}
