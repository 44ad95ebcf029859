internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// Files and links that a bundle puts in place beside its transfers. Each appears under its name
/// whole and durable, or not at all.
package enum PlacedFile {
    /// The version of the regular file of this name; links are not followed. `nil` = there is none.
    package static func version(at path: String) -> SourceVersion? {
        guard FileInspection.kind(at: path) == .file else { return nil }
        return try? SourceFile.version(at: path)
    }

    /// The disk of a directory, which may be missing, does not tell upper from lower case.
    package static func foldsCase(in directory: String) -> Bool {
        guard let existing = try? DiskSpace.existing(directory) else { return false }
        var random = SystemRandom()
        let name = ".longhaul-case-\(String(random.next(), radix: 36))"
        let path = existing.path(of: name)
        guard mkdirat(existing.descriptor, name, 0o700) == 0 else { return false }
        defer { rmdir(path) }
        return FileInspection.kind(at: existing.path(of: name.uppercased())) != nil
    }

    /// All bytes of a file and their SHA-256, in hexadecimal.
    ///
    /// - Throws: EFBIG for a file that is larger.
    package static func read(
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

    /// The file has these bytes, and was not changed while it was read.
    package static func has(
        _ checksum: Checksum, at path: String
    ) throws(SystemFailure) -> Bool {
        let file = try SourceFile(path)
        let digest = FileDigest(checksum.algorithm)
        try digest.update(
            from: file.descriptor, upTo: file.version.size, path: path, isWhole: true)
        return digest.hex() == checksum.hex && file.isUnchanged
    }

    /// Makes a durable copy of a file, which shares its blocks where the file system can.
    ///
    /// - Returns: `false` if the source is another version, or its bytes have not the digest.
    package static func copy(
        _ source: String, _ stamp: String, to path: String, expecting checksum: Checksum
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
            switch Publication.publish(part, as: name, policy: .overwrite) {
            case .published: try directory.sync()
            case .failed(let failure): throw failure
            case .occupied, .partLost:
                throw SystemFailure(operation: "rename", path: path, errno: EEXIST)
            }
            return true
        } catch {
            try? part.remove()
            throw error
        }
    }

    /// Writes a small file durably; an equal one stays.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemFailure) {
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

    /// Makes a symbolic link, in place of another link of that name, in one step.
    ///
    /// - Throws: EEXIST when something else has the name.
    package static func link(_ path: String, to target: String) throws(SystemFailure) {
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

    private static func linkTarget(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(path, &target, target.count - 1)
        guard count >= 0 else { return nil }
        return String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Deletes a file that was not changed, and directories above it that are empty then, up to the
    /// one that stays.
    ///
    /// - Parameter stamp: ``SourceVersion/text`` of the file as it was made.
    package static func remove(_ path: String, _ stamp: String?, upTo top: String) {
        if let found = version(at: path) {
            guard found.text == stamp, unlink(path) == 0 else { return }
        } else if FileInspection.kind(at: path) != nil {
            return
        }
        removeEmptyDirectories(above: path, upTo: top)
    }

    /// Removes a symbolic link.
    package static func removeLink(_ path: String, upTo top: String) {
        guard FileInspection.kind(at: path) == .link else { return }
        _ = unlink(path)
        removeEmptyDirectories(above: path, upTo: top)
    }

    private static func removeEmptyDirectories(above path: String, upTo top: String) {
        var directory = PathParts.split(path)?.directory
        while let name = directory, name.utf8.count > top.utf8.count, name.hasPrefix(top + "/") {
            if rmdir(name) < 0 { return }
            directory = PathParts.split(name)?.directory
        }
    }

    private static var temporaryName: String {
        var random = SystemRandom()
        return ".\(String(random.next(), radix: 36)).longhaul-new"
    }
}
