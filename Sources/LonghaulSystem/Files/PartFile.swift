internal import CLonghaul
internal import Glibc
package import LonghaulCore
private import Synchronization

/// The file that a fetch is written into, beside its destination: ours alone (created here, 0600,
/// no link, no second name), and open until the last owner lets go.
///
/// After a crash it is found again by its name and ``identity``; see ``reopen(_:in:expecting:)``.
package final class PartFile: Sendable {
    package let directory: DirectoryHandle
    package let name: String
    package let identity: FileIdentity
    private let owner: Descriptor
    /// The name is not yet known to be on disk.
    private let nameIsNew: Atomic<Bool>

    /// Writable, and good for as long as this object lives.
    package var descriptor: Int32 { owner.number }
    package var path: String { directory.path(of: name) }
    /// `nil` = it is that of `/`, or not known.
    package var disk: MountedDisk? {
        directory.mountPoint.map { MountedDisk(mountPoint: $0, device: identity.device) }
    }

    fileprivate init(
        _ owner: Descriptor, identity: FileIdentity, name: String, directory: DirectoryHandle,
        isNew: Bool
    ) {
        self.owner = owner
        self.identity = identity
        self.name = name
        self.directory = directory
        self.nameIsNew = Atomic(isNew)
    }

    /// `.NAME.ID.longhaul-part`, with NAME shortened so that the whole is one file name.
    ///
    /// - Parameters:
    ///   - number: So many that were made for the transfer may be in other hands.
    ///   - isSecond: The first name is in use at this moment.
    package static func partName(
        for name: String, id: Int64, number: Int = 0, isSecond: Bool = false
    ) -> String {
        let which = (number > 0 ? "-\(number)" : "") + (isSecond ? "b" : "")
        return PathParts.fitted("." + name, suffix: ".\(id)\(which).longhaul-part")
    }
}

// MARK: - Opening

extension PartFile {
    /// What became of a part file that the store knows.
    package enum Reopening: Sendable {
        case opened(PartFile)
        /// Nothing has this name: the bytes are gone.
        case vanished
        /// Something else has its name: another file, a link, or one with a second name that others
        /// may change. Left as it is.
        case replaced
    }

    /// Somebody who keeps putting files in our way is told so after this many tries.
    private static let createTriesMax = 3

    /// Creates the file anew. What is left of an earlier one by this name is removed first: call it
    /// only where the store knows of no bytes in it.
    ///
    /// - Parameter isInUse: Says of a file by this name that it must stay; then this throws
    ///   `EEXIST`.
    package static func create(
        _ name: String, in directory: DirectoryHandle,
        sparing isInUse: (FileIdentity) -> Bool = { _ in false }
    ) throws(SystemFailure) -> PartFile {
        var tries = 0
        while true {
            do {
                let owner = try openName(
                    name, in: directory.descriptor, flags: O_CREAT | O_EXCL | O_RDWR, mode: 0o600,
                    path: directory.path(of: name))
                let look = try FileLook(at: owner.number, path: directory.path(of: name))
                return PartFile(
                    owner, identity: look.identity, name: name, directory: directory, isNew: true)
            } catch {
                tries += 1
                guard error.errno == EEXIST, tries < createTriesMax else { throw error }
                if case .present(let old, _) = FileInspection.entry(at: directory.path(of: name)),
                    isInUse(old)
                {
                    throw error
                }
                try directory.remove(name)
            }
        }
    }

    /// Opens the file that the store knows by its identity. Anything else under its name is not
    /// touched.
    package static func reopen(
        _ name: String, in directory: DirectoryHandle, expecting identity: FileIdentity
    ) throws(SystemFailure) -> Reopening {
        let owner: Descriptor
        do {
            // O_NONBLOCK: a FIFO put there must not hold us up. It means nothing for regular files.
            owner = try openName(
                name, in: directory.descriptor, flags: O_RDWR | O_NONBLOCK,
                path: directory.path(of: name))
        } catch {
            switch error.errno {
            case ENOENT: return .vanished
            case ELOOP, EISDIR, ENXIO, ENODEV: return .replaced
            default: throw error
            }
        }
        let look = try FileLook(at: owner.number, path: directory.path(of: name))
        guard look.isRegular, look.owner == geteuid(), look.links == 1, look.identity == identity
        else { return .replaced }
        // Whoever created it may have been killed, or may have left, before the first sync.
        return .opened(
            PartFile(
                owner, identity: look.identity, name: name, directory: directory, isNew: true))
    }
}

// MARK: - Content

extension PartFile {
    /// Bytes from the start to the end of the file, holes included.
    package func size() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_size)
    }

    /// Reserves room for `total` bytes without changing the size, so that a full disk is known
    /// before the first byte. Silent where the file system cannot reserve.
    package func preallocate(_ total: Int64) throws(SystemFailure) {
        guard total > 0 else { return }
        let answer = lh_preallocate(descriptor, total)
        if answer == -EOPNOTSUPP || answer == -ENOSYS { return }
        try check(answer, "fallocate", path)
    }

    /// Drops what is at and after `size`, reserved room included.
    package func truncate(to size: Int64) throws(SystemFailure) {
        if uninterrupted({ ftruncate(descriptor, off_t(size)) }) < 0 {
            throw .last("ftruncate", path)
        }
    }

    /// What was written before the call is durable once it returns; so is the name of a file that
    /// was created.
    ///
    /// When it throws, what was written since the last sync that went well is unknown: the kernel
    /// may have dropped those pages, and would answer the next sync with success. Never try again;
    /// go back to the last checkpoint.
    package func sync() throws(SystemFailure) {
        try syncContent()
        if nameIsNew.load(ordering: .relaxed) {
            try directory.sync()
            nameIsNew.store(false, ordering: .relaxed)
        }
    }

    /// ``sync()`` for a file that is about to be renamed: its present name does not matter any
    /// more.
    func syncContent() throws(SystemFailure) {
        if uninterrupted({ fdatasync(descriptor) }) < 0 { throw .last("fdatasync", path) }
    }

    /// Lets go of what the page cache holds of the file, as far as it is on the disk: nobody will
    /// read it soon, and others need the memory. A hint; no byte is lost by it.
    package func dropCached() {
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// Up to `count` bytes at `offset`; fewer only where the file ends.
    package func read(at offset: Int64, count: Int) throws(SystemFailure) -> [UInt8] {
        var failure: SystemFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            while filled < count {
                let got = uninterrupted {
                    pread(
                        descriptor, buffer.baseAddress! + filled, count - filled,
                        off_t(offset) + filled)
                }
                if got < 0 { failure = .last("pread", path) }
                if got <= 0 { return }
                filled += got
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Where a file that is being written has got to, by the doing of others.
    package enum Place: Hashable, Sendable {
        case inPlace
        /// Its path leads nowhere or to something else: it, or a directory above it, was moved.
        case elsewhere
        /// It has no name any more: its bytes go with this object.
        case gone
    }

    package var place: Place {
        var facts = stat()
        if lstat(path, &facts) == 0, FileIdentity(facts) == identity { return .inPlace }
        return fstat(descriptor, &facts) == 0 && facts.st_nlink == 0 ? .gone : .elsewhere
    }

    /// Frees the bytes: removes the name, if it still is this file's. The object stays usable until
    /// it is let go.
    package func remove() throws(SystemFailure) {
        if try directory.holds(identity, at: name) { try directory.remove(name) }
    }
}

extension DirectoryHandle {
    /// Whether this very file is at `name`.
    func holds(_ identity: FileIdentity, at name: String) throws(SystemFailure) -> Bool {
        do {
            let facts = try stat.of(name: name, in: descriptor, path: path(of: name))
            return FileIdentity(facts) == identity
        } catch  where error.errno == ENOENT {
            return false
        }
    }
}
