internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// After this many tries, files that keep appearing under the name are reported as an error.
private let createTries = 3

extension PartFile {
    /// The result of opening a part file that the store has recorded.
    package enum Reopening: Sendable {
        case opened(PartFile)
        /// No file has this name: the bytes are lost.
        case vanished
        /// The name leads to something else: another file, a link, or a file that may belong to
        /// another program. It is left unchanged.
        case replaced
    }

    /// Creates the file under the first name that is free or can be freed. A file under a name is
    /// removed only if no data can be lost by it.
    ///
    /// - Parameters:
    ///   - leftSince: Files made since then are leftovers of this store.
    ///   - isInUse: Whether the file under one of the names must stay.
    /// - Throws: `EEXIST` where every name is taken.
    package static func create(
        _ names: some Collection<PartName>, in directory: DirectoryHandle,
        leftSince: Timestamp? = nil, sparing isInUse: (FileIdentity) -> Bool = { _ in false }
    ) throws(SystemFailure) -> PartFile {
        var taken = SystemFailure(operation: "open", path: directory.path, errno: EEXIST)
        for name in names {
            do throws(SystemFailure) {
                return try create(name, in: directory, leftSince, sparing: isInUse)
            } catch {
                guard error.isNameInUse else { throw error }
                taken = error
            }
        }
        throw taken
    }

    /// Frees the names, as far as that is safe; see ``create(_:in:leftSince:sparing:)``.
    package static func clear(
        _ names: some Collection<PartName>, in directory: DirectoryHandle, leftSince: Timestamp,
        sparing isInUse: (FileIdentity) -> Bool
    ) {
        for name in names { try? clear(name, in: directory, leftSince, sparing: isInUse) }
    }

    private static func create(
        _ name: PartName, in directory: DirectoryHandle, _ leftSince: Timestamp?,
        sparing isInUse: (FileIdentity) -> Bool
    ) throws(SystemFailure) -> PartFile {
        let path = directory.path(of: name.text)
        for _ in 1...createTries {
            do throws(SystemFailure) {
                let owner = try openName(
                    name.text, in: directory.descriptor, flags: O_CREAT | O_EXCL | O_RDWR,
                    mode: 0o600, path: path)
                // Under such a umask this process could not open the file again.
                if Umask.takesFromOwner { _ = fchmod(owner.number, 0o600) }
                // Between the two calls another store may have locked it as a leftover.
                if lh_ofd_try_lock(owner.number) == -EAGAIN { continue }
                let look = try FileLook(at: owner.number, path: path)
                if look.links == 0, try !directory.holds(look.identity, at: name.text) { continue }
                return PartFile(
                    owner, look, name: name.text, directory: directory, isNew: true)
            } catch {
                // The directory exists, so the name is invalid for the file system, such as FAT.
                if [ENOENT, EINVAL, ENAMETOOLONG].contains(error.errno), directory.isCurrent {
                    throw SystemFailure(operation: "name", path: path, errno: error.errno)
                }
                guard error.isNameInUse else { throw error }
            }
            try clear(name, in: directory, leftSince, sparing: isInUse)
        }
        throw SystemFailure(operation: "open", path: path, errno: EEXIST)
    }

    /// Removes a file that a crash has left under the name before it was recorded: an empty file in
    /// any case, another one if the name belongs to one store, or if it was made since the crash. A
    /// file that a process has open is locked and stays.
    private static func clear(
        _ name: PartName, in directory: DirectoryHandle, _ leftSince: Timestamp?,
        sparing isInUse: (FileIdentity) -> Bool
    ) throws(SystemFailure) {
        let path = directory.path(of: name.text)
        let taken = SystemFailure(operation: "open", path: path, errno: EEXIST)
        let found: Descriptor
        do {
            found = try openName(
                name.text, in: directory.descriptor, flags: O_RDWR | O_NONBLOCK, path: path)
        } catch {
            switch error.errno {
            case ENOENT: return
            case ELOOP, EISDIR, ENXIO, ENODEV, EACCES, EPERM: throw taken
            default: throw error
            }
        }
        let locking = lh_ofd_try_lock(found.number)
        let look = try FileLook(at: found.number, path: path)
        // A file's timestamps may be some milliseconds behind the clock.
        let isLeft =
            leftSince.map { look.identity.birth / 1_000_000 >= $0.milliseconds - 100 } ?? false
        let isOurs = name.isOneStores || look.size == 0 || isLeft
        guard look.isRegular, isOurs, locking != -EAGAIN,
            // On file systems without locks only the name shows which store owns the file.
            name.isOneStores || locking == 0, !isInUse(look.identity)
        else { throw taken }
        if try directory.holds(look.identity, at: name.text) { try directory.remove(name.text) }
    }

    /// Opens the file that the store knows by its identity. Another file under its name is left
    /// unchanged.
    ///
    /// - Parameters:
    ///   - isForSync: The file is only to be synced, which needs no permission to write it.
    ///   - least: Where inode numbers may change with each mount, a file of this name with at least
    ///     this number of bytes is accepted too. The caller then compares its bytes before it
    ///     continues.
    package static func reopen(
        _ name: String, in directory: DirectoryHandle, expecting identity: FileIdentity,
        isForSync: Bool = false, orRenumberedFrom least: Int64? = nil
    ) throws(SystemFailure) -> Reopening {
        let owner: Descriptor
        do {
            // O_NONBLOCK: opening a FIFO put there must not block. Regular files ignore it.
            owner = try openName(
                name, in: directory.descriptor,
                flags: (isForSync ? O_RDONLY : O_RDWR) | O_NONBLOCK,
                path: directory.path(of: name))
        } catch {
            switch error.errno {
            case ENOENT: return .vanished
            case ELOOP, EISDIR, ENXIO, ENODEV: return .replaced
            default: throw error
            }
        }
        let look = try FileLook(at: owner.number, path: directory.path(of: name))
        let isKnown = look.identity == identity
        let mayBeOurs = isKnown || mayBeRenumbered(look, identity, owner.number, least)
        guard look.isRegular, mayBeOurs, try isSurelyOurs(look, identity, in: directory)
        else { return .replaced }
        // The lock keeps other processes off from now on. A file with the recorded identity is the
        // store's own even if another process holds the lock.
        if lh_ofd_try_lock(owner.number) == -EAGAIN, !isKnown { return .replaced }
        // `isNew`: the process that created it may have ended before its first sync.
        return .opened(
            PartFile(owner, look, name: name, directory: directory, isNew: true))
    }

    private static func mayBeRenumbered(
        _ look: FileLook, _ identity: FileIdentity, _ number: Int32, _ least: Int64?
    ) -> Bool {
        guard let least, least > 0, look.size >= least, lh_renumbers(number) == 1 else {
            return false
        }
        return look.identity.birth == identity.birth
    }

    /// If both times of creation are known, the identity is unique: another hard link to the file
    /// (from a backup) and the owner that the mount reports do not matter. Otherwise the inode
    /// number may have been reused, and the number of links and the owner must fit.
    private static func isSurelyOurs(
        _ look: FileLook, _ identity: FileIdentity, in directory: DirectoryHandle
    ) throws(SystemFailure) -> Bool {
        if identity.birth != 0, look.identity.birth != 0 { return true }
        guard look.links <= 1 else { return false }
        if look.owner == geteuid() { return true }
        return try look.owner == directory.ownerOfNewFiles()
    }
}

extension DirectoryHandle {
    /// Some mounts report one fixed owner for every file.
    fileprivate func ownerOfNewFiles() throws(SystemFailure) -> UInt32 {
        let name = ".\(UInt64.random(in: 0 ... .max)).longhaul-probe"
        let probe = try openName(
            name, in: descriptor, flags: O_CREAT | O_EXCL | O_RDWR, mode: 0o600,
            path: path(of: name))
        let look = try FileLook(at: probe.number, path: path(of: name))
        try remove(name)
        return look.owner
    }
}

extension PartFile {
    /// Deletes a part file that no transfer uses any more, if it still is that file. Returns
    /// whether it is certainly gone; a file that was gone before counts.
    @discardableResult
    package static func discard(_ part: OrphanedPart) -> Bool {
        guard let (directory, _) = PathParts.split(part.path),
            let handle = try? DirectoryHandle(opening: directory)
        else { return false }
        return discard(part, in: handle)
    }

    /// ``discard(_:)`` in the open directory of its path.
    @discardableResult
    package static func discard(_ part: OrphanedPart, in directory: DirectoryHandle) -> Bool {
        guard let (_, name) = PathParts.split(part.path) else { return false }
        switch FileInspection.entry(at: directory.path(of: name)) {
        // Compared by the whole identity, not by the inode number alone.
        case .present(part.identity, _):
            do throws(SystemFailure) {
                try directory.remove(name)
                return true
            } catch {
                return false
            }
        // If its disk is not mounted, a missing name proves nothing.
        case .present, .missing: return directory.identity.device == part.identity.device
        case .unusable: return false
        }
    }
}
