internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// The disk as the work on bundles sees it. The simulation replaces it with a disk that loses
/// unsynced bytes.
package protocol PlacedFilePort: Sendable {
    /// The version of the regular file of this name; links are not followed. `nil` = there is none.
    func version(at path: String) -> SourceVersion?

    /// Something has this name.
    func exists(_ path: String) -> Bool

    /// The disk of a directory, which may be missing, does not tell upper from lower case.
    func foldsCase(in directory: String) -> Bool

    /// Bytes that can be written there; `nil` = unknown.
    func available(at directory: String) -> Int64?

    /// All bytes of a file and their SHA-256, in hexadecimal.
    ///
    /// - Throws: EFBIG for a file that is larger.
    func read(
        _ path: String, atMost most: Int64
    ) throws(SystemFailure) -> (bytes: [UInt8], sha256: String)

    /// The file has these bytes, and was not changed while it was read.
    func has(_ checksum: Checksum, at path: String) throws(SystemFailure) -> Bool

    /// Makes a durable copy of a file, which shares its blocks where the file system can.
    ///
    /// - Parameter replaces: A file in the place is replaced.
    /// - Returns: `false` if the source is another version, its bytes have another digest, or the
    ///   place is taken.
    func copy(
        _ source: String, _ stamp: String, to path: String, expecting checksum: Checksum,
        replaces: Bool
    ) throws(SystemFailure) -> Bool

    /// Writes a small file durably; an equal one stays.
    func write(_ bytes: [UInt8], to path: String) throws(SystemFailure)

    /// Makes a symbolic link, in place of another link of that name, in one step.
    ///
    /// - Throws: EEXIST when something else has the name.
    func link(_ path: String, to target: String) throws(SystemFailure)

    /// Deletes a file that was not changed, and directories above it that are empty then, up to the
    /// one that stays.
    ///
    /// - Parameter stamp: ``SourceVersion/text`` of the file as it was made.
    func remove(_ path: String, _ stamp: String?, upTo top: String)

    /// Removes a symbolic link.
    func removeLink(_ path: String, upTo top: String)

    /// Deletes a file that only this store uses; a missing file is no error.
    func removeSpooled(_ path: String)

    /// Deletes a part file that no transfer uses any more, if it still is that file. Returns
    /// whether it is certainly gone.
    func discard(_ part: OrphanedPart) -> Bool
}

/// Files and links that a bundle puts in place beside its transfers. Each appears under its name
/// whole and durable, or not at all.
package struct PlacedFile: PlacedFilePort {
    package init() {}

    package func version(at path: String) -> SourceVersion? {
        guard FileInspection.kind(at: path) == .file else { return nil }
        return try? SourceFile.version(at: path)
    }

    package func exists(_ path: String) -> Bool { FileInspection.kind(at: path) != nil }

    package func available(at directory: String) -> Int64? {
        try? DiskSpace.available(at: directory)
    }

    package func removeSpooled(_ path: String) { SpooledFile.remove(path) }

    package func discard(_ part: OrphanedPart) -> Bool { PartFile.discard(part) }

    package func foldsCase(in directory: String) -> Bool {
        guard let existing = try? DiskSpace.existing(directory) else { return false }
        var random = SystemRandom()
        let name = ".longhaul-case-\(String(random.next(), radix: 36))"
        let path = existing.path(of: name)
        guard mkdirat(existing.descriptor, name, 0o700) == 0 else { return false }
        defer { rmdir(path) }
        return FileInspection.kind(at: existing.path(of: name.uppercased())) != nil
    }

    package func read(
        _ path: String, atMost most: Int64
    ) throws(SystemFailure) -> (bytes: [UInt8], sha256: String) {
        let file = try SourceFile(path)
        let size = file.version.size
        if size > most { throw SystemFailure(operation: "read", path: path, errno: EFBIG) }
        let digest = FileDigest(.sha256)
        try digest.update(from: file.descriptor, upTo: size, path: path)
        let bytes = try TextFile.readInput(path) ?? []
        return (bytes, digest.hex())
    }

    package func has(
        _ checksum: Checksum, at path: String
    ) throws(SystemFailure) -> Bool {
        let file = try SourceFile(path)
        let digest = FileDigest(checksum.algorithm)
        try digest.update(
            from: file.descriptor, upTo: file.version.size, path: path, isWhole: true)
        return digest.hex() == checksum.hex && file.isUnchanged
    }

    package func copy(
        _ source: String, _ stamp: String, to path: String, expecting checksum: Checksum,
        replaces: Bool
    ) throws(SystemFailure) -> Bool {
        guard version(at: source)?.text == stamp, let (parent, name) = PathParts.split(path) else {
            return false
        }
        let file = try SourceFile(source)
        let directory = try DirectoryHandle.creating(parent)
        let part = try PartFile.create(
            [PartName(temporaryName, isOneStores: true)], in: directory, copying: file.descriptor,
            length: file.version.size
        ).file
        do throws(SystemFailure) {
            let digest = FileDigest(checksum.algorithm)
            try digest.update(
                from: part.descriptor, upTo: file.version.size, path: part.path, isWhole: true)
            guard digest.hex() == checksum.hex else {
                try part.remove()
                return false
            }
            try part.sync()
            switch Publication.publish(part, as: name, policy: replaces ? .overwrite : .fail) {
            case .published:
                try directory.sync()
                return true
            case .failed(let failure): throw failure
            case .occupied, .partLost:
                try? part.remove()
                return false
            }
        } catch {
            try? part.remove()
            throw error
        }
    }

    package func write(_ bytes: [UInt8], to path: String) throws(SystemFailure) {
        if (try? TextFile.readInput(path)) == bytes { return }
        guard let (parent, name) = PathParts.split(path) else {
            throw SystemFailure(operation: "open", path: path, errno: EINVAL)
        }
        let directory = try DirectoryHandle.creating(parent)
        let temporary = temporaryName
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let temporaryPath = directory.path(of: temporary)
        let file = Descriptor(
            owning: try check(
                lh_openat(directory.descriptor, temporary, flags, 0o666), "open", temporaryPath))
        do throws(SystemFailure) {
            try TextFile.write(bytes, file, temporaryPath)
            if renameat(directory.descriptor, temporary, directory.descriptor, name) < 0 {
                throw .last("rename", path)
            }
            try directory.sync()
        } catch {
            try? directory.remove(temporary)
            throw error
        }
    }

    package func link(_ path: String, to target: String) throws(SystemFailure) {
        guard let (parent, name) = PathParts.split(path) else {
            throw SystemFailure(operation: "link", path: path, errno: EINVAL)
        }
        if linkTarget(path) == target { return }
        if let kind = FileInspection.kind(at: path), kind != .link {
            throw SystemFailure(operation: "link", path: path, errno: EEXIST)
        }
        let directory = try DirectoryHandle.creating(parent)
        let temporary = temporaryName
        if symlinkat(target, directory.descriptor, temporary) < 0 {
            throw .last("link", path)
        }
        if renameat(directory.descriptor, temporary, directory.descriptor, name) < 0 {
            let failure = SystemFailure.last("rename", path)
            try? directory.remove(temporary)
            throw failure
        }
        try directory.sync()
    }

    private func linkTarget(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(path, &target, target.count - 1)
        guard count >= 0 else { return nil }
        return String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package func remove(_ path: String, _ stamp: String?, upTo top: String) {
        if let found = version(at: path) {
            guard found.text == stamp, unlink(path) == 0 else { return }
        } else if FileInspection.kind(at: path) != nil {
            return
        }
        removeEmptyDirectories(above: path, upTo: top)
    }

    package func removeLink(_ path: String, upTo top: String) {
        guard FileInspection.kind(at: path) == .link else { return }
        _ = unlink(path)
        removeEmptyDirectories(above: path, upTo: top)
    }

    private func removeEmptyDirectories(above path: String, upTo top: String) {
        var directory = PathParts.split(path)?.directory
        while let name = directory, name.utf8.count > top.utf8.count, name.hasPrefix(top + "/") {
            if rmdir(name) < 0 { return }
            directory = PathParts.split(name)?.directory
        }
    }

    private var temporaryName: String {
        var random = SystemRandom()
        return ".\(String(random.next(), radix: 36)).longhaul-new"
    }
}
