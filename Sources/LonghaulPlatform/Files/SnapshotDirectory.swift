internal import Glibc
internal import LonghaulCore

/// The snapshots of files that uploads send: one directory in which nothing else is.
///
/// A file in it is locked from its making until it is recorded which transfer sends it. What is
/// neither locked nor recorded is the leftover of a process that was killed.
package struct SnapshotDirectory: Sendable {
    package let path: String

    package init(in stateDirectory: String) {
        path = PathParts.join(stateDirectory, "snapshots")
    }

    /// A durable copy of the file as it is, locked until the last reference is released. If this
    /// throws, no file is left behind: `ENOSPC` before a byte is copied if the disk has no room,
    /// `ESTALE` if the source was changed meanwhile.
    ///
    /// - Parameter willCopy: Called if the two cannot share their blocks, before the bytes are
    ///   copied.
    package func add(
        _ source: SourceFile, willCopy: () -> Void
    ) throws(SystemFailure) -> PartFile {
        // The directory is private like the state directory: other users may not read the files in
        // it.
        let directory = try DirectoryHandle.creating(path, isPrivate: true)
        var random = SystemRandom()
        let name = [random.next(), random.next()].map { String($0, radix: 36) }.joined()
        let names = [PartName(name, isOneStores: true)]
        let clone = try clone(of: source, names, in: directory)
        let file: PartFile
        if let clone {
            file = clone
        } else {
            if try DiskSpace.available(at: path) < source.version.size {
                throw SystemFailure(operation: "write", path: path, errno: ENOSPC)
            }
            willCopy()
            file = try copy(of: source, names, in: directory)
        }
        do throws(SystemFailure) {
            try file.sync()
            file.dropCached()
            return file
        } catch {
            try? file.remove()
            throw error
        }
    }

    /// Deletes leftovers. Safe beside any process.
    ///
    /// - Parameters:
    ///   - names: Only these; `nil` = all.
    ///   - isInUse: Whether a transfer is recorded that sends the file of this path.
    package func sweep(_ names: [String]? = nil, sparing isInUse: (String) -> Bool) {
        guard let names = names ?? directoryNames(path), !names.isEmpty,
            let directory = try? DirectoryHandle(opening: path)
        else { return }
        for name in names {
            // Asked once the file is locked: its maker has recorded it by then, or is gone.
            PartFile.clear(
                [PartName(name, isOneStores: true)], in: directory, leftSince: .distantFuture
            ) { _ in isInUse(directory.path(of: name)) }
        }
    }

    /// `nil` = the file systems of the two cannot share blocks. A clone is the file at one moment:
    /// writers wait meanwhile.
    private func clone(
        of source: SourceFile, _ names: [PartName], in directory: DirectoryHandle
    ) throws(SystemFailure) -> PartFile? {
        do throws(SystemFailure) {
            return try PartFile.create(
                names, in: directory, copying: source.descriptor, length: source.version.size,
                methods: [.reflink]
            ).file
        } catch {
            if error.errno == EOPNOTSUPP { return nil }
            throw error
        }
    }

    private func copy(
        of source: SourceFile, _ names: [PartName], in directory: DirectoryHandle
    ) throws(SystemFailure) -> PartFile {
        let changed = SystemFailure(operation: "copy", path: source.path, errno: ESTALE)
        let file: PartFile
        do throws(SystemFailure) {
            file = try PartFile.create(
                names, in: directory, copying: source.descriptor, length: source.version.size,
                methods: [.kernel, .readAndWrite]
            ).file
        } catch {
            // A file that was cut short meanwhile is no fault of the disk.
            throw source.isUnchanged ? error : changed
        }
        if source.isUnchanged { return file }
        try? file.remove()
        throw changed
    }
}
