internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// The most numbers to try if a name is taken.
private let takenNameNumbers = 9_999

/// A file that was sent, and is to be deleted or moved away. Nothing is done to another file of its
/// name: device, inode, size and times decide.
package struct SpentFile {
    package enum Outcome: Hashable, Sendable {
        /// The file is not there any more.
        case done
        /// A program has it open for writing.
        case isOpen
        /// Another file has the name, or its bytes were changed.
        case isAnother
    }

    private let path: String
    private let version: SourceVersion

    /// - Parameter version: Of the file as it was sent.
    package init(_ path: String, _ version: SourceVersion) {
        self.path = path
        self.version = version
    }

    package func delete() throws(SystemFailure) -> Outcome {
        let outcome = standing()
        guard outcome == .done else { return outcome }
        if unlink(path) < 0, errno != ENOENT { throw .last("unlink", path) }
        return .done
    }

    /// Renames the file into a directory on the same file system. A name that is taken there is
    /// numbered, and nothing is replaced.
    ///
    /// - Parameter directory: Created if missing.
    package func move(to directory: String) throws(SystemFailure) -> Outcome {
        let outcome = standing()
        guard outcome == .done, let (parent, name) = PathParts.split(path),
            SourceFile.present(at: path) != nil
        else { return outcome }
        let target = try DirectoryHandle.creating(directory)
        for number in 0...takenNameNumbers {
            let next = number == 0 ? name : FileNaming.numbered(name, number)
            guard try rename(to: next, in: target) else {
                // After a power cut during its move it may have both names (Btrfs), and after a
                // kill between link(2) and unlink(2). In one directory they would be the same name.
                guard isFile(target.path(of: next)),
                    try DirectoryHandle(opening: parent).identity != target.identity
                else { continue }
                return try delete()
            }
            if isFile(target.path(of: next)) { return .done }
            // Another file has taken the name meanwhile.
            _ = lh_rename_noreplace(target.descriptor, next, AT_FDCWD, path)
            return .isAnother
        }
        throw SystemFailure(operation: "rename", path: path, errno: EEXIST)
    }

    private func isFile(_ path: String) -> Bool {
        let found = SourceFile.present(at: path)
        return found?.inode == version.inode && found?.device == version.device
    }

    /// `done` = it is the file, or is gone.
    private func standing() -> Outcome {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return errno == ENOENT ? .done : .isAnother }
        if FileInspection.hasWriter(path) { return .isOpen }
        guard let found = SourceFile.present(at: path), found.isSame(as: version),
            found.inode == version.inode, found.device == version.device
        else { return .isAnother }
        return .done
    }

    /// `false` = the name is taken.
    private func rename(
        to name: String, in target: DirectoryHandle
    ) throws(SystemFailure) -> Bool {
        let answer = lh_rename_noreplace(AT_FDCWD, path, target.descriptor, name)
        switch answer {
        case -EEXIST: return false
        // File systems without RENAME_NOREPLACE. link(2) replaces nothing anywhere.
        case -EINVAL, -ENOSYS:
            if linkat(AT_FDCWD, path, target.descriptor, name, 0) < 0 {
                if errno == EEXIST { return false }
                throw .last("link", target.path(of: name))
            }
            if unlink(path) < 0 { throw .last("unlink", path) }
            return true
        default:
            try check(answer, "rename", target.path(of: name))
            return true
        }
    }
}
