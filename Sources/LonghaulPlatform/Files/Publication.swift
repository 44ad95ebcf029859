internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// The most numbers to try if a name is taken.
private let takenNameNumbers = 9_999

/// A complete and verified part file, and the name under which it is to appear in its directory.
package struct FinishItem: Sendable {
    package var part: PartFile
    package var name: String
    package var policy: ExistingFilePolicy

    package init(part: PartFile, name: String, policy: ExistingFilePolicy) {
        self.part = part
        self.name = name
        self.policy = policy
    }
}

/// Outcome of publishing one part file.
package enum FinishOutcome: Hashable, Sendable {
    /// The file has this name durably (under the policy `rename` not the one asked for).
    case published(name: String)
    /// The name is taken and must not be replaced; a device or pipe is never replaced. The part
    /// file is unchanged.
    case occupied
    /// The part file's path leads to nothing, or to another file. Nothing was published: in a
    /// directory that was moved away the file would not be at its destination.
    case partLost
    /// The rename failed, or a sync of the directory after it: ``FileInspection`` tells whether the
    /// file was renamed.
    case failed(SystemFailure)
}

/// Gives complete part files their final names, by an atomic rename that replaces a file only if
/// asked to.
///
/// The caller has made the content durable (``GroupCommit/makeDurable(_:)`` or
/// ``PartFile/sync()``): a name is never given to bytes that a power loss could take. After a
/// crash, exactly one of both names leads to the file; only on file systems without
/// `RENAME_NOREPLACE` both may.
package enum Publication {
    /// Renames, without making the new name durable: ``DirectoryHandle/sync()`` does that, once for
    /// a whole batch.
    package static func publish(
        _ part: PartFile, as name: String, policy: ExistingFilePolicy
    ) -> FinishOutcome {
        do throws(SystemFailure) {
            guard part.place == .inPlace else { return .partLost }
            // Before the rename, so that the finished file is never seen with the part file's mode.
            try makeReadable(part)
            return try rename(part, to: name, policy: policy)
        } catch {
            return .failed(error)
        }
    }

    private static func makeReadable(_ part: PartFile) throws(SystemFailure) {
        if fchmod(part.descriptor, part.directory.fileMode) == 0 { return }
        let failure = SystemFailure.last("fchmod", part.path)
        switch failure.errno {
        // The mount fixes the modes or the owner of its files; some servers behind it answer with
        // another error. A complete file is worth more than its mode.
        case EPERM, EACCES, EINVAL, EOPNOTSUPP, ENOSYS: return
        default: throw failure
        }
    }

    /// Renames the file to `NAME.longhaul-bad`, if its bytes do not have the required digest. A
    /// file of that name is replaced: one is enough to examine. If the name is not a file's, the
    /// next one is `NAME.longhaul-bad.2`.
    ///
    /// - Returns: the path it now has.
    package static func keepBad(_ part: PartFile, as name: String) throws(SystemFailure) -> String {
        for number in 1...takenNameNumbers {
            let bad = badName(name, number)
            if FileInspection.kind(at: part.directory.path(of: bad)) == .file {
                try part.directory.remove(bad)
            }
            if try claim(part, bad) { return part.directory.path(of: bad) }
        }
        throw SystemFailure(operation: "rename", path: part.path, errno: EEXIST)
    }

    /// Restores the name of a part file that ``keepBad(_:as:)`` has moved aside, if the process
    /// ended before the move was recorded.
    package static func takeBack(
        _ part: OrphanedPart, movedAsideAs name: String, in directory: DirectoryHandle
    ) {
        guard let (_, partName) = PathParts.split(part.path) else { return }
        for number in 1...takenNameNumbers {
            let bad = badName(name, number)
            switch FileInspection.entry(at: directory.path(of: bad)) {
            case .missing: return
            case .present(part.identity, _):
                _ = lh_rename_noreplace(
                    directory.descriptor, bad, directory.descriptor, partName)
                return
            case .present, .unusable: continue
            }
        }
    }

    private static func badName(_ name: String, _ number: Int) -> String {
        let suffix = BadFile.suffix + (number > 1 ? ".\(number)" : "")
        return PathParts.fitted(name, suffix: suffix)
    }

    /// The first of `NAME (1).EXT`, `NAME (2).EXT`, … that is free now. `nil` if
    /// `takenNameNumbers` are taken, or the directory cannot be read.
    package static func freeName(like name: String, in directory: DirectoryHandle) -> String? {
        for number in 1...takenNameNumbers {
            let next = FileNaming.numbered(name, number)
            do {
                _ = try stat.of(
                    name: next, in: directory.descriptor, path: directory.path(of: next))
            } catch {
                return error.errno == ENOENT ? next : nil
            }
        }
        return nil
    }

    // MARK: -

    private static func rename(_ part: PartFile, to name: String, policy: ExistingFilePolicy)
        throws(SystemFailure) -> FinishOutcome
    {
        guard isFileName(name) else {
            throw SystemFailure(
                operation: "rename", path: part.directory.path(of: name), errno: EINVAL)
        }
        switch policy {
        case .overwrite:
            // A device or a pipe that programs use would be lost.
            if try isSpecial(name, in: part.directory) { return .occupied }
            try replace(part, name)
            return .published(name: name)
        // Under `rename` the caller records another name first, and calls again with it.
        case .fail, .skip, .rename:
            return try claim(part, name) ? .published(name: name) : .occupied
        }
    }

    private static func isSpecial(
        _ name: String, in directory: DirectoryHandle
    ) throws(SystemFailure) -> Bool {
        do {
            let look = try FileLook(at: name, in: directory)
            return FileInspection.kind(of: look, name: name, in: directory.descriptor) == .special
        } catch  where error.errno == ENOENT {
            return false
        }
    }

    private static func replace(_ part: PartFile, _ name: String) throws(SystemFailure) {
        let directory = part.directory
        if renameat(directory.descriptor, part.name, directory.descriptor, name) < 0 {
            throw .last("rename", directory.path(of: name))
        }
    }

    /// Takes the name if it is free.
    private static func claim(_ part: PartFile, _ name: String) throws(SystemFailure) -> Bool {
        let directory = part.directory
        let answer = lh_rename_noreplace(
            directory.descriptor, part.name, directory.descriptor, name)
        switch answer {
        case -EEXIST: return false
        // EINVAL: the file system does not know RENAME_NOREPLACE; ENOSYS: the kernel does not know
        // renameat2.
        case -EINVAL, -ENOSYS: return try claimByLink(part, name)
        default:
            try check(answer, "rename", directory.path(of: name))
            return true
        }
    }

    /// link(2) replaces nothing anywhere. A crash before the unlink leaves both names on one file,
    /// which recovery sees by the identity.
    static func claimByLink(_ part: PartFile, _ name: String) throws(SystemFailure) -> Bool {
        let directory = part.directory
        if linkat(directory.descriptor, part.name, directory.descriptor, name, 0) == 0 {
            try directory.remove(part.name)
            return true
        }
        switch Glibc.errno {
        case EEXIST: return false
        // exFAT and some FUSE file systems support neither. Between the look-up and the rename
        // another program's file could be replaced; no system call closes this gap.
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: return try claimByLooking(part, name)
        default: throw .last("link", directory.path(of: name))
        }
    }

    static func claimByLooking(_ part: PartFile, _ name: String) throws(SystemFailure) -> Bool {
        let directory = part.directory
        do {
            _ = try stat.of(
                name: name, in: directory.descriptor, path: directory.path(of: name))
            return false
        } catch  where error.errno == ENOENT {
            try replace(part, name)
            return true
        }
    }
}
