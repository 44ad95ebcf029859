internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// The files of a version on the disk: what is there already, what has to be fetched, what is put
/// in place at the end.
struct BundlePlaces {
    private let bundle: StoredBundle
    private let version: BundleVersion
    private let queue: TransferQueue
    private let layout: BundleLayout
    /// What goes with requests for files that need it.
    private let credential: ManifestCredential

    init(
        _ bundle: StoredBundle, _ version: BundleVersion, _ queue: TransferQueue,
        _ credential: ManifestCredential = .source
    ) {
        self.bundle = bundle
        self.version = version
        self.queue = queue
        self.credential = credential
        layout = BundleLayout(bundle.layout, directory: bundle.directory, source: bundle.source)
    }

    private var store: Store { queue.store }
    private var disk: any PlacedFilePort { queue.machine.files }

    func place(of file: BundleFile) -> String { layout.place(of: file.entry, in: version.name) }

    // MARK: - One file

    /// Decides on a file that waits: it is here, can be copied, has to be fetched, or a file that
    /// is not the bundle's is in its place.
    func decision(
        on file: BundleFile, _ validator: inout RequestValidator
    ) -> BundleWork.Change {
        do throws(LonghaulError) {
            let path = place(of: file)
            var request = try request(for: file, path)
            if let found = disk.version(at: path) {
                switch try standing(of: found, file, at: path) {
                case .right:
                    return .complete(file, stamp: found.text, size: found.size, isFetched: false)
                case .replaceable: break
                case .foreign: return .failed(file, Self.foreign(path))
                }
            } else if disk.exists(path) {
                return .failed(file, Self.foreign(path))
            } else if !bundle.layout.namesByContent, !bundle.settings.overwrites {
                // A file that another program puts there meanwhile stays.
                request.options.ifExists = .fail
            }
            if let copied = try copy(file, to: path, request.options.ifExists) { return copied }
            switch try validator.admit(request) {
            case .insert(let new): return .fetch(file, new)
            case .skip: return .failed(file, Self.foreign(path))
            }
        } catch {
            return .failed(file, error)
        }
    }

    private enum Standing {
        case right, replaceable, foreign
    }

    /// Tells the right file from one that this bundle or a broken transfer has left, and from one
    /// that is not the bundle's.
    private func standing(
        of found: SourceVersion, _ file: BundleFile, at path: String
    ) throws(LonghaulError) -> Standing {
        let isOurs = try isOurs(found, file)
        let hasSize = file.entry.size.map { $0 == found.size } ?? true
        if hasSize, let digest = file.entry.digest {
            if try hashed({ () throws(SystemFailure) in try disk.has(digest, at: path) }) {
                return .right
            }
        } else if hasSize, file.entry.size != nil, !isOurs {
            return .right
        }
        if isOurs || file.replaces || bundle.settings.overwrites || file.mismatches > 0 {
            return .replaceable
        }
        return file.entry.size.map { found.size < $0 } ?? false ? .replaceable : .foreign
    }

    /// The file is as a version of this bundle has left it. A file that is named by its content has
    /// no other owner.
    private func isOurs(
        _ found: SourceVersion, _ file: BundleFile
    ) throws(LonghaulError) -> Bool {
        if bundle.layout.namesByContent { return true }
        if file.stamp == found.text { return true }
        guard bundle.layout == .plain else { return false }
        return try store.bundleWork.hasLeft(file.entry.path, found.text, of: bundle)
    }

    private static func foreign(_ path: String) -> LonghaulError {
        LonghaulError(
            .destinationExists,
            "\(path) was changed by somebody, or is somebody's; move it away, or replace it with"
                + " `longhaul bundle verify --repair`")
    }

    /// Copies the bytes of a file with the same digest that any bundle has.
    private func copy(
        _ file: BundleFile, to path: String, _ policy: ExistingFilePolicy
    ) throws(LonghaulError) -> BundleWork.Change? {
        guard let digest = file.entry.digest else { return nil }
        for equal in try store.bundleWork.equals(of: file, in: version.id) {
            guard let stamp = equal.file.stamp else { continue }
            // A list that tells another size is wrong about one of the two.
            if let size = file.entry.size, size != equal.file.entry.size { continue }
            let source = BundlePlaces(equal.bundle, equal.version, queue).place(of: equal.file)
            // The place of a blob is the same for all files with its bytes.
            if source == path { continue }
            let isCopied = try hashed { () throws(SystemFailure) in
                try disk.copy(
                    source, stamp, to: path, expecting: digest, replaces: policy == .overwrite)
            }
            if isCopied, let found = disk.version(at: path) {
                return .complete(file, stamp: found.text, size: found.size, isFetched: false)
            }
        }
        return nil
    }

    private func hashed(
        _ body: () throws(SystemFailure) -> Bool
    ) throws(LonghaulError) -> Bool {
        do throws(SystemFailure) {
            return try body()
        } catch {
            throw error.longhaulError()
        }
    }

    private func request(
        for file: BundleFile, _ path: String
    ) throws(LonghaulError) -> TransferRequest {
        var request = bundle.settings.request(file.entry.url, to: path, session: bundle.session)
        request.options.checksum = file.entry.digest
        request.expectedBytes = file.entry.size
        if let size = file.entry.size { request.options.maxSize = size }
        request.options.keepsResponse = bundle.source.kind == .s3
        request.options.headers = request.options.headers.overridden(by: file.entry.headers)
        if file.entry.sendsCredential {
            try BundleCredential(bundle).apply(credential, to: &request)
        }
        return request
    }

    // MARK: - The whole version

    /// - Throws: `noSpace` where the disk has no room for the bytes that are missing.
    func requireRoom() throws(LonghaulError) {
        var missing: Int64 = 0
        var files = store.bundles.files(of: version.id)
        while let file = try files.next() {
            guard file.state == .waiting, let size = file.entry.size else { continue }
            let present = disk.version(at: place(of: file))?.size ?? 0
            missing = missing.addingClamped(max(0, size - present))
        }
        guard missing > 0, let free = disk.available(at: bundle.directory) else { return }
        if free >= missing { return }
        throw LonghaulError(
            .noSpace,
            "\(missing) bytes are missing, and the disk of \(bundle.directory) has room for"
                + " \(free); free some, then `longhaul bundle ensure \(bundle.name)`",
            retryable: true)
    }

    /// Makes the version current.
    func finish() throws(LonghaulError) {
        let steps = try steps()
        do throws(SystemFailure) {
            for step in steps {
                switch step {
                case .write(let path, let bytes): try disk.write(bytes, to: path)
                case .link(let path, let target): try disk.link(path, to: target)
                }
            }
        } catch {
            throw error.longhaulError()
        }
    }

    /// Removes what ``finish()`` has made.
    func undoFinish() throws(LonghaulError) {
        for step in try steps().reversed() {
            switch step {
            case .write(let path, _):
                disk.remove(
                    path, disk.version(at: path)?.text, upTo: bundle.directory)
            case .link(let path, _): disk.removeLink(path, upTo: bundle.directory)
            }
        }
    }

    private func steps() throws(LonghaulError) -> [LayoutStep] {
        var manifest = Manifest(version: version.name, files: [])
        manifest.layout = LayoutFacts(stored: version.facts)
        // The other layouts have no link for each file.
        if bundle.layout == .hfCache {
            var files = store.bundles.files(of: version.id)
            while let file = try files.next() { manifest.files.append(file.entry) }
        }
        return layout.finish(manifest)
    }

    /// The numbers of complete files that were changed or deleted since.
    func changed() throws(LonghaulError) -> [Int64] {
        var changed: [Int64] = []
        var files = store.bundles.files(of: version.id)
        while let file = try files.next() {
            if disk.version(at: place(of: file))?.text != file.stamp {
                changed.append(file.number)
            }
        }
        return changed
    }

    /// What is wrong with a complete file; `nil` = nothing was found.
    ///
    /// - Parameter readsAll: Its bytes are compared, too.
    func problem(of file: BundleFile, readsAll: Bool) -> BundleProblem.Kind? {
        let path = place(of: file)
        guard let found = disk.version(at: path) else {
            return disk.exists(path) ? .unreadable : .missing
        }
        if let size = file.entry.size, size != found.size { return .size }
        guard readsAll, let digest = file.entry.digest else { return nil }
        guard let isRight = try? disk.has(digest, at: path) else { return .unreadable }
        return isRight ? nil : .digest
    }

    /// Deletes the unchanged files of this version, except those of the version that stays.
    func deleteFiles(besides kept: BundleVersion?) throws(LonghaulError) {
        // Blobs may belong to other versions, and to other programs.
        if let kept, bundle.layout.namesByContent, kept.id != version.id {
            return
        }
        var files = store.bundles.files(of: version.id)
        while let file = try files.next() {
            if let kept, bundle.layout == .plain || kept.name == version.name,
                try store.bundles.file(file.entry.path, of: kept.id) != nil
            {
                continue
            }
            disk.remove(place(of: file), file.stamp, upTo: bundle.directory)
        }
    }
}

extension LayoutFacts {
    private static let hubMark = "hub\n"
    private static let ociMark = "oci\n"

    /// The text that ``init(stored:)`` reads; `nil` = there are no facts.
    var stored: String? {
        switch self {
        case .none: nil
        case .hubTree(let bytes): Self.hubMark + String(decoding: bytes, as: UTF8.self)
        case .ociManifest(let bytes, let mediaType):
            Self.ociMark + mediaType + "\n" + String(decoding: bytes, as: UTF8.self)
        }
    }

    init(stored text: String?) {
        self = .none
        guard let text else { return }
        if text.hasPrefix(Self.hubMark) {
            self = .hubTree(Array(text.utf8.dropFirst(Self.hubMark.utf8.count)))
        } else if text.hasPrefix(Self.ociMark) {
            let parts = text.split(
                separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
            if parts.count == 3 {
                self = .ociManifest(Array(parts[2].utf8), mediaType: String(parts[1]))
            }
        }
    }
}
