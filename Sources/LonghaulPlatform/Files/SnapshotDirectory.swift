internal import Glibc
internal import LonghaulModel

/// Room that standard input leaves on the disk of the state directory, for the store.
private let spoolSpareBytes: Int64 = 32 << 20

/// The snapshots of files that uploads send: one directory with nothing else in it.
///
/// A file in it is locked from its creation until its transfer is recorded. A file neither locked
/// nor recorded is the leftover of a killed process.
package struct SnapshotDirectory: Sendable {
    package let path: String

    package init(in stateDirectory: String) {
        path = PathParts.join(stateDirectory, "snapshots")
    }

    /// A durable copy of the present file, locked until the last reference is released. If this
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
        let names = [SnapshotDirectory.newName()]
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

    private static func newName() -> PartName {
        var random = SystemRandom()
        let name = [random.next(), random.next()].map { String($0, radix: 36) }.joined()
        return PartName(name, isOneStores: true)
    }

    /// An empty file, locked until the last reference is released.
    package func create() throws(SystemFailure) -> PartFile {
        let directory = try DirectoryHandle.creating(path, isPrivate: true)
        return try PartFile.create([SnapshotDirectory.newName()], in: directory)
    }

    /// Fills an empty file durably with what comes on standard input until its end. Throws `ENOSPC`
    /// when the disk has no more than `spoolSpareBytes` left; the caller removes the file.
    package func fillFromStandardInput(_ file: PartFile) throws(SystemFailure) {
        var buffer = [UInt8](repeating: 0, count: Limits.copyBufferBytes)
        var room = 0
        while true {
            let count = uninterrupted { Glibc.read(STDIN_FILENO, &buffer, buffer.count) }
            if count < 0 { throw .last("read", "standard input") }
            if count == 0 { break }
            if room < count {
                let free = try DiskSpace.available(at: path) - spoolSpareBytes
                room = Int(min(free, Limits.copyPieceBytes))
                if room < count {
                    throw SystemFailure(operation: "write", path: path, errno: ENOSPC)
                }
            }
            room -= count
            var written = 0
            while written < count {
                let more = buffer.withUnsafeBytes { bytes in
                    uninterrupted {
                        Glibc.write(
                            file.descriptor, bytes.baseAddress! + written, count - written)
                    }
                }
                if more < 0 { throw .last("write", file.path) }
                written += more
            }
        }
        try file.sync()
        file.dropCached()
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
