internal import CLonghaul
internal import Glibc
package import LonghaulCore

extension PartFile {
    /// What became of a part file that the store knows.
    package enum Reopening: Sendable {
        case opened(PartFile)
        /// Nothing has this name: the bytes are gone.
        case vanished
        /// Something else has its name: another file, a link, or what may be somebody else's. Left
        /// as it is.
        case replaced
    }

    /// Somebody who keeps putting files in our way is told so after this many tries.
    private static let createTriesMax = 3

    /// Creates the file anew, under the first of the names that is free or can be made so: what is
    /// under a name goes only where nobody can lose anything by it.
    ///
    /// - Parameters:
    ///   - leftSince: What was made since then is a leftover of this store's.
    ///   - isInUse: Says of a file by one of the names that it must stay.
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

    /// Makes the names free, as far as that can be done, see
    /// ``create(_:in:leftSince:sparing:)``.
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
        for _ in 1...createTriesMax {
            do throws(SystemFailure) {
                let owner = try openName(
                    name.text, in: directory.descriptor, flags: O_CREAT | O_EXCL | O_RDWR,
                    mode: 0o600, path: path)
                // What we could not open again ourselves, under such a umask.
                if Umask.takesFromOwner { _ = fchmod(owner.number, 0o600) }
                // Between the two calls another store may have taken it for a leftover.
                if lh_ofd_try_lock(owner.number) == -EAGAIN { continue }
                let look = try FileLook(at: owner.number, path: path)
                if look.links == 0, try !directory.holds(look.identity, at: name.text) { continue }
                return PartFile(
                    owner, look, name: name.text, directory: directory, isNew: true)
            } catch {
                // What FAT cannot write, say: the directory is there.
                if [ENOENT, EINVAL].contains(error.errno), directory.isCurrent {
                    throw SystemFailure(operation: "name", path: path, errno: error.errno)
                }
                guard error.isNameInUse else { throw error }
            }
            try clear(name, in: directory, leftSince, sparing: isInUse)
        }
        throw SystemFailure(operation: "open", path: path, errno: EEXIST)
    }

    /// Removes what a crash has left under the name, before it was recorded: what is empty, and
    /// whatever it is where the name is that of one store, or the moment that of the crash. What a
    /// process has open is locked.
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
        // Files are dated by a clock that may be some milliseconds behind.
        let isLeft =
            leftSince.map { look.identity.birth / 1_000_000 >= $0.milliseconds - 100 } ?? false
        let isOurs = name.isOneStores || look.size == 0 || isLeft
        guard look.isRegular, isOurs, locking != -EAGAIN,
            // Where there are no locks, only the name tells whose it is.
            name.isOneStores || locking == 0, !isInUse(look.identity)
        else { throw taken }
        if try directory.holds(look.identity, at: name.text) { try directory.remove(name.text) }
    }

    /// Opens the file that the store knows by its identity. Anything else under its name is not
    /// touched.
    ///
    /// - Parameters:
    ///   - isForSync: It is only to be made durable, which takes no right to write it.
    ///   - least: Where a mount may give files other numbers, ours is also known by its name if it
    ///     has so many bytes. Whoever goes on with it compares them first.
    package static func reopen(
        _ name: String, in directory: DirectoryHandle, expecting identity: FileIdentity,
        isForSync: Bool = false, orRenumberedFrom least: Int64? = nil
    ) throws(SystemFailure) -> Reopening {
        let owner: Descriptor
        do {
            // O_NONBLOCK: a FIFO put there must not hold us up. It means nothing for regular files.
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
        // Others keep off it from now on. It is the store's own, whoever had it locked last.
        if lh_ofd_try_lock(owner.number) == -EAGAIN, !isKnown { return .replaced }
        // Whoever created it may have been killed, or may have left, before the first sync.
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

    /// Where the moment of its creation is known, no other file has it: a second name was given to
    /// ours (a backup that links what it keeps), and who it is said to belong to is the mount's
    /// affair. Else its number may be that of another file by now, and it must look like ours.
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
    /// Some mounts say of every file that it belongs to one user, whoever made it.
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
    /// Deletes a part file that belongs to nobody any more, if it still is that file. Returns
    /// whether it is gone for sure; that it was gone already is fine.
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
        // By all that tells it from others, and not by its number alone.
        case .present(part.identity, _):
            do throws(SystemFailure) {
                try directory.remove(name)
                return true
            } catch {
                return false
            }
        // Where its disk is not mounted, this says nothing.
        case .present, .missing: return directory.identity.device == part.identity.device
        case .unusable: return false
        }
    }
}
