internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// The life of one part file: open, set aside, sync, verify, close. Each step runs on a disk
/// thread, in order per fetch.
extension DiskFiles {
    func prepare(_ fetch: FetchID, _ order: PartOrder, fetched: Int64) {
        var order = order
        if let expected = order.expected, BadFile.isName(order.path) {
            // The file that failed its digest the last time was kept for the user's inspection.
            PartFile.discard(OrphanedPart(path: order.path, identity: expected))
            order.expected = nil
        }
        do throws(SystemFailure) {
            let (directory, name) = try place(of: order)
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
            if let shortage = try shortage(for: order, in: handle, name) {
                return report(fetch, .prepareFailed(shortage))
            }
            let (file, created, isReplacing) = try openPart(name, in: handle, order)
            let cell = board.takeFetch(fetch, received: fetched, mount: file.mount)
            open.withLock {
                $0[fetch] = Open(
                    part: file, fetchCell: cell, isBackground: order.isBackground)
            }
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
        guard order.expected != nil, let disk = order.disk,
            let (directory, _) = PathParts.split(order.path),
            FileInspection.entry(at: order.path) == .missing, disk.isAway(from: directory)
        else { return nil }
        return LocalFault(unmounted: disk.mountPoint)
    }

    /// Beside the destination; one that was made for another transfer, which has left since, stays
    /// where it is as long as it is there.
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

    func names(_ name: String, _ transfer: TransferID, _ partSuffix: Int) -> PartNames {
        PartNames(for: name, id: transfer.rawValue, number: partSuffix, store: store)
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

    func reserve(_ fetch: FetchID, _ bytes: Int64) {
        guard let part = part(fetch) else { return }
        do throws(SystemFailure) {
            try part.preallocate(bytes)
            report(fetch, .reserved)
        } catch {
            report(fetch, .reserveFailed(LocalFault(error)))
        }
    }

    func truncate(_ fetch: FetchID, _ generation: Int64) {
        guard let part = part(fetch) else { return }
        do throws(SystemFailure) {
            try part.truncate(to: 0)
            open.withLock { open in
                open[fetch]?.digests = []
                for cell in open[fetch]?.segmentCells ?? [] where cell != 0 {
                    board.retag(cell, generation: generation, start: 0)
                }
            }
            report(fetch, .truncated)
        } catch {
            report(fetch, .truncateFailed(LocalFault(error)))
        }
    }

    func sync(
        _ fetch: FetchID, _ token: Int64, _ digests: [Checksum.Algorithm], through: Int64
    ) {
        guard let part = part(fetch) else { return }
        let isBackground = open.withLock { $0[fetch]?.isBackground ?? false }
        if isBackground { DiskPriority.setIdle(true) }
        defer {
            if isBackground {
                part.dropCached()
                DiskPriority.setIdle(false)
            }
        }
        do throws(SystemFailure) {
            try part.sync()
            let displaced = PartChecks.displacement(of: part)
            if displaced?.losesBytes != true { report(fetch, .synced(token: token)) }
            if let displaced { return report(fetch, displaced) }
            // Behind the wire, from the page cache; a failure shows again, and counts, when the
            // file is verified.
            if !digests.isEmpty { _ = try? digest(fetch, part, digests, through: through) }
        } catch {
            // The next sync would answer 0: what was written since the last one is not reliable.
            board.distrust(fetch)
            report(fetch, .syncFailed(token: token, LocalFault(error)))
        }
    }

    private func digest(
        _ fetch: FetchID, _ part: PartFile, _ algorithms: [Checksum.Algorithm], through: Int64
    ) throws(SystemFailure) -> [FileDigest] {
        var digests = open.withLock { $0[fetch]?.digests ?? [] }
        if digests.map(\.algorithm) != algorithms
            || digests.contains(where: { $0.position > through })
        {
            digests = algorithms.map { FileDigest($0) }
        }
        for index in digests.indices {
            try digests[index].update(
                from: part.descriptor, upTo: through, path: part.path)
        }
        let done = digests
        open.withLock { $0[fetch]?.digests = done }
        return done
    }

    func verify(_ fetch: FetchID, _ wanted: [Checksum], length: Int64, destination: String) {
        if let event = sources.verify(fetch, wanted) { return report(fetch, event) }
        guard let part = part(fetch) else { return }
        do throws(SystemFailure) {
            if let fault = try PartChecks.fit(part, to: length) {
                return report(fetch, .verifyFailed(fault))
            }
            let digests = try digest(fetch, part, wanted.map(\.algorithm), through: length)
            for (checksum, digest) in zip(wanted, digests) {
                let actual = digest.hex()
                if actual == checksum.hex { continue }
                try part.sync()
                if let fault = try PartChecks.gap(in: part, before: length) {
                    return report(fetch, .verifyFailed(fault))
                }
                let name = PathParts.split(destination)?.name ?? destination
                let kept = try Publication.keepBad(part, as: name)
                report(fetch, .mismatched(checksum, actual: actual, keptAt: kept))
                return
            }
            report(fetch, .verified)
        } catch {
            report(fetch, .verifyFailed(LocalFault(error)))
        }
    }

    func close(_ fetch: FetchID, deletingPart: Bool) {
        if sources.close(fetch) { return }
        guard let entry = open.withLock({ $0.removeValue(forKey: fetch) }) else { return }
        board.free(entry.fetchCell)
        for cell in entry.segmentCells { board.free(cell) }
        if deletingPart {
            delete(OrphanedPart(path: entry.part.path, identity: entry.part.identity))
        }
    }

    func delete(_ part: OrphanedPart) {
        guard let (directory, _) = PathParts.split(part.path),
            let handle = try? directories.handle(for: directory)
        else { return }
        if PartFile.discard(part, in: handle) { reportGone(part) }
    }
}

extension DiskFiles {
    func fill(_ fetch: FetchID, _ kept: KeptFile) {
        guard let part = part(fetch) else { return }
        do throws(SystemFailure) {
            // A crash may have left some of another copy.
            try part.truncate(to: 0)
            try part.fill(
                from: kept.path, kept.identity, length: kept.length,
                unchangedSince: kept.finishedAt)
            try part.sync()
            report(fetch, .filled)
        } catch {
            try? part.truncate(to: 0)
            report(fetch, .fillFailed(LocalFault(error)))
        }
    }
}
