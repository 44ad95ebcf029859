internal import LonghaulCore
internal import LonghaulPlatform

/// A part file is opened, or made.
extension OpenParts {
    func prepare(_ fetch: FetchID, _ order: PartOrder, fetched: Int64) {
        var order = order
        if let expected = order.expected, BadFile.isName(order.path) {
            // The file that failed its digest the last time was kept for the user's inspection.
            PartFile.discard(OrphanedPart(path: order.path, identity: expected))
            order.expected = nil
        }
        do throws(SystemFailure) {
            let (directory, name) = try place(of: order)
            if order.expected == nil, let absence = absence(of: order) {
                return report(fetch, .prepareFailed(absence))
            }
            // A missing directory is not made where bytes should be: its disk may be away.
            let handle = try directories.handle(for: directory, creating: order.expected == nil)
            if let expected = order.expected {
                if isThere(expected, order.publication) {
                    // The sync of the directory is what failed, or never came; or a link was made
                    // where names cannot be claimed, and the part's was not removed.
                    PartFile.discard(OrphanedPart(path: handle.path(of: name), identity: expected))
                    try handle.sync()
                    return report(fetch, .foundPublished(path: order.publication))
                }
                if !isThere(expected, handle.path(of: name)), let absence = absence(of: order) {
                    return report(fetch, .prepareFailed(absence))
                }
            }
            let shortage = try shortage(for: order, in: handle, name)
            if let shortage, order.isRoomBelieved {
                return report(fetch, .prepareFailed(shortage))
            }
            let (file, created, isReplacing) = try openPart(name, in: handle, order)
            if let shortage, isFull(file, for: order) {
                if created {
                    PartFile.discard(OrphanedPart(path: file.path, identity: file.identity))
                }
                return report(fetch, .prepareFailed(shortage))
            }
            opened(file, of: fetch, isBackground: order.isBackground, fetched: fetched)
            let size = created ? nil : try file.size()
            report(
                fetch,
                .prepared(
                    file.identity, path: file.path, created: created, size: size,
                    mountPoint: handle.mountPoint, isReplacing: isReplacing))
        } catch {
            report(fetch, .prepareFailed(absence(of: order) ?? LocalFault(error)))
        }
    }

    /// The part file is missing because its disk is not mounted: nothing is begun in its place, on
    /// the disk below.
    private func absence(of order: PartOrder) -> LocalFault? {
        guard let disk = order.disk else { return nil }
        if order.expected == nil {
            let directory = FileNaming.directory(of: order.destination)
            // An open directory keeps its disk mounted.
            guard directories.device(of: directory) != disk.device, disk.isAway(from: directory)
            else { return nil }
            return LocalFault(unmounted: disk.mountPoint, isBegun: false)
        }
        guard let (directory, _) = PathParts.split(order.path),
            FileInspection.entry(at: order.path) == .missing, disk.isAway(from: directory)
        else { return nil }
        return LocalFault(unmounted: disk.mountPoint)
    }

    /// The part file lies beside the destination. If it was made for another transfer, which has
    /// left since, it stays in its directory as long as it exists.
    private func place(of order: PartOrder) throws(SystemFailure) -> (String, name: String) {
        guard let (directory, finalName) = PathParts.split(order.destination) else {
            throw SystemFailure(operation: "open", path: order.destination, errno: 2)
        }
        if let expected = order.expected, let known = PathParts.split(order.path),
            case .present(expected, _) = FileInspection.entry(at: order.path)
        {
            return known
        }
        return (directory, names(finalName, order.transfer, order.partSuffix)[0].text)
    }

    private func isThere(_ identity: FileIdentity, _ path: String) -> Bool {
        guard case .present(identity, _) = FileInspection.entry(at: path) else { return false }
        return true
    }

    private func openPart(
        _ name: String, in directory: DirectoryHandle, _ order: PartOrder
    ) throws(SystemFailure) -> (PartFile, created: Bool, isReplacing: Bool) {
        var isReplacing = false
        if let expected = order.expected {
            let opened = try PartFile.reopen(
                name, in: directory, expecting: expected, orRenumberedFrom: order.heldEnd)
            switch opened {
            case .opened(let file): return (file, false, false)
            case .vanished: break
            // The file may be another program's: ours gets another name.
            case .replaced: isReplacing = true
            }
        }
        let finalName = PathParts.split(order.destination)?.name ?? name
        let names = names(finalName, order.transfer, order.partSuffix)
        let file = try directory.making(finalName) { () throws(SystemFailure) in
            try PartFile.create(
                names, in: directory, leftSince: order.leftSince, sparing: isInUse)
        }
        return (file, true, isReplacing)
    }

    /// Some file systems tell the room of another disk (sshfs, rclone): one that lacks room by its
    /// own words is asked to set it aside. One that cannot do that is written to, and says then
    /// whether it is full.
    private func isFull(_ file: PartFile, for order: PartOrder) -> Bool {
        do throws(SystemFailure) {
            try file.preallocate(order.held + (order.needs ?? 0))
            return false
        } catch {
            return error.code == .noSpace
        }
    }

    private func shortage(
        for order: PartOrder, in directory: DirectoryHandle, _ name: String
    ) throws(SystemFailure) -> LocalFault? {
        guard let needs = order.needs, needs > 0 else { return nil }
        let available = try DiskSpace.available(at: directory.path)
        if available >= needs { return nil }
        if let expected = order.expected,
            case .opened(let part)? = try? PartFile.reopen(name, in: directory, expecting: expected)
        {
            // Room that is already set aside for the file need not be free.
            let reserved = try part.allocated() - order.held
            if available + max(0, reserved) >= needs { return nil }
            // A transfer that waits for room keeps none from others.
            try part.giveBack()
        }
        return LocalFault(
            needed: needs, available: available, for: order.destination,
            isExpected: order.isNeedExpected)
    }
}
