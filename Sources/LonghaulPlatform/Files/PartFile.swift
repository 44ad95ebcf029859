internal import CLonghaul
internal import Glibc
package import LonghaulCore
private import Synchronization

/// The file that a fetch is written into, beside its destination: ours alone (created here, 0600,
/// and locked, so that no other process takes it for a leftover), and open until the last owner
/// lets go.
///
/// After a crash it is found again by its name and ``identity``; see ``reopen(_:in:expecting:)``.
package final class PartFile: Sendable {
    package let directory: DirectoryHandle
    package let name: String
    package let identity: FileIdentity
    /// The mount that it was opened through; see ``FileFacts/mount``.
    package let mount: UInt64
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

    init(
        _ owner: Descriptor, _ look: FileLook, name: String, directory: DirectoryHandle,
        isNew: Bool
    ) {
        self.owner = owner
        identity = look.identity
        mount = look.mount
        self.name = name
        self.directory = directory
        self.nameIsNew = Atomic(isNew)
    }
}

// MARK: - Content

extension PartFile {
    /// Where the file has a hole, written by nobody, or cut off by others and then written behind,
    /// up to a block later than it was cut off; `nil` = there is none before its end, or it cannot
    /// be told. To be asked of what is synced: some file systems take for a hole what they have yet
    /// to write.
    package var firstHole: Int64? {
        let answer = lh_first_hole(descriptor)
        return answer < 0 ? nil : answer
    }

    /// What the file system keeps together: a hole has no part of one.
    package func blockSize() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_blksize)
    }

    /// Bytes from the start to the end of the file, holes included.
    package func size() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_size)
    }

    /// Reserves room for `total` bytes without changing the size, so that a full disk is known
    /// before the first byte; where there is not room for all, none is taken. Silent where the file
    /// system cannot reserve.
    package func preallocate(_ total: Int64) throws(SystemFailure) {
        guard total > 0 else { return }
        let answer = lh_preallocate(descriptor, total)
        if answer == -EOPNOTSUPP || answer == -ENOSYS { return }
        try check(answer, "fallocate", path)
    }

    /// Bytes of the disk that the file has, those that are set aside for it included.
    package func allocated() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_blocks) * 512
    }

    /// Lets others have the room that was set aside behind the end of the file. Not while anybody
    /// writes to it.
    package func giveBack() throws(SystemFailure) {
        try check(lh_give_back(descriptor), "ftruncate", path)
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
        if uninterrupted({ fdatasync(descriptor) }) == 0 { return }
        let failure = SystemFailure.last("fdatasync", path)
        // The file system has no way to sync it (fsync(2)), which says nothing of its bytes.
        if failure.errno != EINVAL, failure.errno != EOPNOTSUPP { throw failure }
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
