internal import CLonghaul
internal import Glibc
package import LonghaulModel
private import Synchronization

/// The file that a fetch is written into, beside its destination. It is created here (0600) and
/// locked, so that no other process takes it for a leftover. It stays open until its last reference
/// is released.
///
/// After a crash it is found again by its name and ``identity``; see ``reopen(_:in:expecting:)``.
package final class PartFile: Sendable {
    package let directory: DirectoryHandle
    package let name: String
    package let identity: FileIdentity
    /// The mount that it was opened through; see ``FileFacts/mount``.
    package let mount: UInt64
    private let owner: Descriptor
    /// The directory entry has not been synced yet.
    private let nameIsNew: Atomic<Bool>

    /// Writable; valid as long as this object lives.
    package var descriptor: Int32 { owner.number }
    package var path: String { directory.path(of: name) }
    /// `nil` = it is the disk of `/`, or unknown.
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
    /// Sets the file's modification time, where its file system has such times.
    package func setModified(_ time: Timestamp) {
        let modified = timespec(tv_sec: Int(time.milliseconds / 1000), tv_nsec: 0)
        // UTIME_OMIT, a macro with a cast: the time of access stays.
        _ = futimens(descriptor, [timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2), modified])
    }

    /// The offset of the file's first hole: bytes that were never written, or were cut off by
    /// another program and lie before later writes (then up to one block after the cut). `nil` = no
    /// hole before its end, or unknown. Valid only after a sync: some file systems report unwritten
    /// dirty pages as holes.
    package var firstHole: Int64? {
        let answer = lh_first_hole(descriptor)
        return answer < 0 ? nil : answer
    }

    /// The file system's block size: a hole never covers part of a block.
    package func blockSize() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_blksize)
    }

    /// Bytes from the start to the end of the file, holes included.
    package func size() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_size)
    }

    /// Reserves `total` bytes without changing the size, so that a full disk is noticed before the
    /// first byte. Without room for all of them, none is reserved. Does nothing where the file
    /// system cannot reserve.
    package func preallocate(_ total: Int64) throws(SystemFailure) {
        guard total > 0 else { return }
        let answer = lh_preallocate(descriptor, total)
        if answer == -EOPNOTSUPP || answer == -ENOSYS { return }
        try check(answer, "fallocate", path)
    }

    /// Bytes of disk space that the file occupies, with space reserved for it.
    package func allocated() throws(SystemFailure) -> Int64 {
        Int64(try stat.of(descriptor: descriptor, path: path).st_blocks) * 512
    }

    /// Frees the space reserved beyond the end of the file. No thread may write to the file
    /// meanwhile.
    package func giveBack() throws(SystemFailure) {
        try check(lh_give_back(descriptor), "ftruncate", path)
    }

    /// Drops the bytes at and after `size`, and reserved space.
    package func truncate(to size: Int64) throws(SystemFailure) {
        if uninterrupted({ ftruncate(descriptor, off_t(size)) }) < 0 {
            throw .last("ftruncate", path)
        }
    }

    /// All bytes written before the call are durable when it returns, and so is the name of a new
    /// file.
    ///
    /// After a failure the bytes written since the last successful sync are unknown: the kernel may
    /// have dropped those pages, and would report success at the next sync. Never retry; continue
    /// from the last checkpoint.
    package func sync() throws(SystemFailure) {
        try syncContent()
        if nameIsNew.load(ordering: .relaxed) {
            try directory.sync()
            nameIsNew.store(false, ordering: .relaxed)
        }
    }

    /// ``sync()`` for a file that is about to be renamed: its present name need not be durable.
    func syncContent() throws(SystemFailure) {
        if uninterrupted({ fdatasync(descriptor) }) == 0 { return }
        let failure = SystemFailure.last("fdatasync", path)
        if !failure.isUnsyncable { throw failure }
    }

    /// Drops the file's clean pages from the page cache: they will not be read soon, and the memory
    /// is needed elsewhere. Only a hint; no byte is lost.
    package func dropCached() {
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// Up to `count` bytes at `offset`; fewer only at the end of the file.
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

    /// The place of an open part file now, after changes by other programs.
    package enum Place: Hashable, Sendable {
        case inPlace
        /// The path leads to nothing or to another file: the file, or a directory above it, was
        /// moved.
        case elsewhere
        /// The file has no name any more: its bytes are lost when this object is released.
        case gone
    }

    package var place: Place {
        var facts = stat()
        if lstat(path, &facts) == 0, FileIdentity(facts) == identity { return .inPlace }
        return fstat(descriptor, &facts) == 0 && facts.st_nlink == 0 ? .gone : .elsewhere
    }

    /// Removes the name, if it still is this file's, and so frees the bytes. The object stays
    /// usable until it is released.
    package func remove() throws(SystemFailure) {
        if try directory.holds(identity, at: name) { try directory.remove(name) }
    }
}

extension DirectoryHandle {
    /// True if `name` leads to the file with this identity.
    func holds(_ identity: FileIdentity, at name: String) throws(SystemFailure) -> Bool {
        do {
            let facts = try stat.of(name: name, in: descriptor, path: path(of: name))
            return FileIdentity(facts) == identity
        } catch  where error.errno == ENOENT {
            return false
        }
    }
}
