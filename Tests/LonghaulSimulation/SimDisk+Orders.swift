import LonghaulCore
import LonghaulEngine

extension SimDisk {
    /// Each fetch's orders are carried out in turn; those of different fetches, and the eligibility
    /// in which files are finished, overtake each other.
    private func eligibility(_ order: FileOrder) -> FetchID? {
        switch order {
        case .prepare(let fetch, _, _), .reserve(let fetch, _), .truncate(let fetch, _),
            .sync(let fetch, _, _, _), .verify(let fetch, _, _, _), .close(let fetch, _),
            .fill(let fetch, _), .openSource(let fetch, _, _), .digest(let fetch, _, _),
            .lookAtSource(let fetch):
            fetch
        case .secure, .publish, .copy, .delete: nil
        }
    }

    /// Carries out one order. A batch of renames stops in the middle when the crash comes.
    func step() {
        var eligibilities: Set<FetchID?> = []
        let heads = orders.indices.filter { eligibilities.insert(eligibility(orders[$0])).inserted }
        guard let index = heads.randomElement(using: &random) else { return }
        let order = orders.remove(at: index)
        say("disk: \(order)")
        switch order {
        case .prepare(let fetch, let part, let fetched):
            outcomes.append((fetch, prepare(fetch, part, fetched)))
        case .openSource(let fetch, let path, let sent): openSource(fetch, path, sent: sent)
        case .lookAtSource(let fetch): lookAtSource(fetch)
        case .reserve(let fetch, let bytes): reserve(fetch, bytes)
        case .truncate(let fetch, let generation): truncate(fetch, generation)
        case .sync(let fetch, let token, _, _): sync(fetch, token)
        case .verify(let fetch, let wanted, let length, let destination):
            verify(fetch, wanted, length, destination)
        // The simulated servers of tus offer no checksums.
        case .digest(let fetch, _, let algorithm):
            let digest = Checksum(algorithm: algorithm, hex: "00")
            outcomes.append((fetch, .digested(digest)))
        case .secure(let batch):
            for (fetch, length) in batch { secure(fetch, length) }
        case .publish(let batch): publish(batch)
        case .copy(let fetch, let orders, _): copy(fetch, orders)
        case .fill(let fetch, let kept): fill(fetch, kept)
        case .close(let fetch, let deleting):
            if closeSource(fetch, deleting: deleting) { return }
            guard let entry = open.removeValue(forKey: fetch) else { return }
            cells = cells.filter { $0.value.fetch != fetch }
            if deleting, let path = path(of: entry.inode) {
                delete(OrphanedPart(path: path, identity: identity(of: entry.inode)))
            }
        case .delete(let part): delete(part)
        }
    }

    private func delete(_ part: OrphanedPart) {
        if holds(part.identity, at: part.path) {
            if isReadOnly {
                refused[part.path] = part.identity.inode
                return
            }
            rename(part.path, to: nil, part.identity.inode)
            deleted[part.path] = part.identity.inode
        }
        gone.append(part)
    }

    /// A failure of this chance, or of a disk that only reads.
    private func fault(_ chance: Double, _ what: String) -> LocalFault? {
        if isReadOnly { return LocalFault(code: .permission, message: "\(what): read-only") }
        guard random.happens(chance) else { return nil }
        faults += 1
        return LocalFault(code: .io, message: "\(what): simulated EIO")
    }

    private static let noSpace = LocalFault(code: .noSpace, message: "simulated ENOSPC")

    private func prepare(
        _ fetch: FetchID, _ given: PartOrder, _ fetched: Int64
    ) -> FetchEvent {
        var order = given
        if let expected = order.expected, BadFile.isName(order.path) {
            if holds(expected, at: order.path), !isReadOnly {
                rename(order.path, to: nil, expected.inode)
            }
            order.expected = nil
        }
        var path = freePartPath(order.destination, order.transfer, order.partSuffix)
        // One that was made for another, which has left since.
        if let expected = order.expected, holds(expected, at: order.path) { path = order.path }
        if let fault = fault(trouble.open, "open") { return .prepareFailed(fault) }
        if let room, let needs = order.needs, needs > room { return .prepareFailed(Self.noSpace) }
        if let expected = order.expected, !holds(expected, at: path),
            holds(expected, at: order.publication)
        {
            if let fault = fault(trouble.directory, "sync of the directory") {
                return .prepareFailed(fault)
            }
            syncNames()
            return .foundPublished(path: order.publication)
        }
        let found = names[path]
        let isCreated = order.expected.map { !holds($0, at: path) } ?? true
        var inode = found ?? 0
        if isCreated {
            if let found { rename(path, to: nil, found) }
            inode = newInode()
            make(inode)
            rename(nil, to: path, inode)
        } else {
            keep(path)
        }
        nextCell += 64
        cells[nextCell] = Cell(
            fetch: fetch, generation: nil, start: 0, written: 0, received: fetched, mount: mount)
        open[fetch] = Open(inode: inode, cell: nextCell, isNameNew: true)
        return .prepared(
            identity(of: inode), path: path, created: isCreated,
            size: isCreated ? nil : files[inode].map { Int64($0.data.count) })
    }

    private func reserve(_ fetch: FetchID, _ bytes: Int64) {
        guard let inode = open[fetch]?.inode else { return }
        let grows = max(0, bytes - (files[inode]?.data.count ?? 0))
        if let room, grows > room {
            outcomes.append((fetch, .reserveFailed(Self.noSpace)))
        } else if let fault = fault(trouble.open, "reserve") {
            outcomes.append((fetch, .reserveFailed(fault)))
        } else {
            outcomes.append((fetch, .reserved))
        }
    }

    private func truncate(_ fetch: FetchID, _ generation: Int64) {
        guard let inode = open[fetch]?.inode else { return }
        if let fault = fault(trouble.open, "truncate") {
            return outcomes.append((fetch, .truncateFailed(fault)))
        }
        files[inode]?.data = SimBytes()
        files[inode]?.dirty = ByteRanges()
        for cell in cells.keys where cells[cell]?.fetch == fetch && cells[cell]?.generation != nil {
            cells[cell]?.generation = generation
            cells[cell]?.start = 0
            cells[cell]?.written = 0
        }
        outcomes.append((fetch, .truncated))
    }

    /// Forgets what could not be written, and says so once.
    private func syncFault(_ fetch: FetchID, _ inode: UInt64) -> LocalFault? {
        let dirty = files[inode]?.dirty ?? ByteRanges()
        if dirty.isEmpty && !isReadOnly { return nil }
        var fault = fault(trouble.sync, "sync")
        // Space that is found missing only now: a quota, blocks that were not reserved.
        if fault != nil, !isReadOnly, Bool.random(using: &random) { fault = Self.noSpace }
        if fault != nil {
            willDistrust(fetch)
            files[inode]?.dirty = ByteRanges()
            distrust(fetch)
        }
        return fault
    }

    private func sync(_ fetch: FetchID, _ token: Int64) {
        guard let entry = open[fetch] else { return }
        if let fault = syncFault(fetch, entry.inode) {
            return outcomes.append((fetch, .syncFailed(token: token, fault)))
        }
        flush(entry.inode)
        if entry.isNameNew {
            if let fault = fault(trouble.directory, "sync of the directory") {
                willDistrust(fetch)
                distrust(fetch)
                return outcomes.append((fetch, .syncFailed(token: token, fault)))
            }
            syncNames()
            open[fetch]?.isNameNew = false
        }
        outcomes.append((fetch, .synced(token: token)))
    }

    /// A digest names the label of the version that it is of.
    private func verify(
        _ fetch: FetchID, _ wanted: [Checksum], _ length: Int64, _ destination: String
    ) {
        guard let inode = open[fetch]?.inode else { return }
        if let fault = fault(trouble.open, "verify") {
            return outcomes.append((fetch, .verifyFailed(fault)))
        }
        files[inode]?.data.truncate(to: length)
        let data = files[inode]?.data ?? SimBytes()
        for checksum in wanted where checksum != SimDisk.checksum(of: data) {
            if let path = path(of: inode) { rename(path, to: destination + BadFile.suffix, inode) }
            didSetAside(fetch)
            let actual = SimDisk.checksum(of: data).hex
            return outcomes.append(
                (fetch, .mismatched(checksum, actual: actual, keptAt: destination + BadFile.suffix))
            )
        }
        outcomes.append((fetch, .verified))
    }

    static func checksum(of bytes: SimBytes) -> Checksum {
        let text = bytes.runs.map { "\($0)" }.joined() + "\(bytes.count)"
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return Checksum(
            algorithm: .sha256, hex: String(repeating: "0", count: 64 - digits.count) + digits)
    }

    private func secure(_ fetch: FetchID, _ length: Int64) {
        guard let inode = open[fetch]?.inode, let file = files[inode] else { return }
        if file.data.count != length { files[inode]?.data.truncate(to: length) }
        if let fault = syncFault(fetch, inode) {
            return outcomes.append((fetch, .secureFailed(fault)))
        }
        flush(inode)
        outcomes.append((fetch, .secured))
    }

    private func publish(_ batch: [(FetchID, PublicationOrder)]) {
        var events: [(FetchID, FetchEvent)] = []
        for (fetch, order) in batch {
            guard mayAct() else { return }
            if let event = publish(fetch, order) { events.append((fetch, event)) }
            // Sometimes the journal gets there before the sync of the directory does.
            if Bool.random(using: &random) { syncNames() }
        }
        guard mayAct() else { return }
        // One sync for all of them, and one failure.
        if let fault = fault(trouble.directory, "sync of the directory") {
            events = events.map { (fetch, event) in
                if case .published = event { return (fetch, .publishFailed(fault)) }
                return (fetch, event)
            }
        } else {
            syncNames()
        }
        outcomes += events
    }

    private func publish(_ fetch: FetchID, _ order: PublicationOrder) -> FetchEvent? {
        guard let inode = open[fetch]?.inode else { return nil }
        guard let part = path(of: inode), part.hasSuffix(".part") else {
            return .publishFailed(LocalFault(code: .io, message: "the part file is lost"))
        }
        if let fault = fault(trouble.rename, "rename") { return .publishFailed(fault) }
        let isTaken = names[order.destination] != nil
        if isTaken, order.policy != .overwrite {
            var next: String?
            if order.policy == .rename {
                next = (1...99).map { order.wanted + " (\($0))" }.first { names[$0] == nil }
            }
            return .occupied(
                next: next, LocalFault(code: .destinationExists, message: "taken"))
        }
        if isTaken { willReplace(order.destination) }
        rename(part, to: order.destination, inode)
        return .published(path: order.destination)
    }
}
