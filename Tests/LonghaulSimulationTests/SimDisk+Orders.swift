import LonghaulCore
import LonghaulEngine

extension SimDisk {
    static let fault = LocalFault(code: .io, message: "simulated")

    /// Carries out the oldest order. A batch of renames stops in the middle when the crash comes.
    func step(_ random: inout SeededGenerator) {
        guard !orders.isEmpty else { return }
        switch orders.removeFirst() {
        case .prepare(let fetch, let part, let fetched): prepare(fetch, part, fetched)
        case .reserve(let fetch, _): outcomes.append((fetch, .reserved))
        case .truncate(let fetch, let generation): truncate(fetch, generation)
        case .sync(let fetch, let token, _, _):
            guard let inode = open[fetch]?.inode else { return }
            if syncsFail, Int.random(in: 0..<10, using: &random) == 0 {
                files[inode]?.dirty = ByteRanges()
                outcomes.append((fetch, .syncFailed(token: token, Self.fault)))
            } else {
                flush(inode, path(of: inode))
                outcomes.append((fetch, .synced(token: token)))
            }
        case .verify(let fetch, _, _, _): outcomes.append((fetch, .verified))
        case .secure(let batch):
            for (fetch, length) in batch {
                guard let inode = open[fetch]?.inode, var file = files[inode] else { continue }
                if file.data.count > length { file.data = Array(file.data[..<Int(length)]) }
                files[inode] = file
                flush(inode, path(of: inode))
                outcomes.append((fetch, .secured))
            }
        case .publish(let batch): publish(batch, &random)
        case .close(let fetch, let deleting):
            guard let entry = open.removeValue(forKey: fetch) else { return }
            cells = cells.filter { $0.value.fetch != fetch }
            if deleting { names[path(of: entry.inode)] = nil }
        case .delete(let path, let identity):
            if let identity, names[path] == identity.inode { names[path] = nil }
        }
    }

    private func path(of inode: UInt64) -> String {
        names.keys.sorted().first { names[$0] == inode } ?? ""
    }

    private func prepare(_ fetch: FetchID, _ order: PartOrder, _ fetched: Int64) {
        let path = order.destination + ".\(order.transfer).part"
        if let expected = order.expected, names[path] == nil,
            names[order.publication] == expected.inode
        {
            outcomes.append((fetch, .foundPublished(path: order.publication)))
            return
        }
        let found = names[path]
        let created = found == nil || found != order.expected?.inode
        let inode: UInt64
        if created {
            inode = nextInode
            nextInode += 1
            names[path] = inode
            files[inode] = File()
        } else {
            inode = found ?? 0
        }
        nextCell += 64
        cells[nextCell] = Cell(
            fetch: fetch, generation: nil, start: 0, written: 0, received: fetched)
        open[fetch] = (inode, nextCell)
        outcomes.append(
            (
                fetch,
                .prepared(FileIdentity(device: 1, inode: inode), path: path, created: created)
            ))
    }

    private func truncate(_ fetch: FetchID, _ generation: Int64) {
        guard let inode = open[fetch]?.inode else { return }
        files[inode]?.data = []
        files[inode]?.dirty = ByteRanges()
        for cell in cells.keys where cells[cell]?.fetch == fetch && cells[cell]?.generation != nil {
            cells[cell]?.generation = generation
            cells[cell]?.start = 0
            cells[cell]?.written = 0
        }
        outcomes.append((fetch, .truncated))
    }

    private func publish(
        _ batch: [(FetchID, PublicationOrder)], _ random: inout SeededGenerator
    ) {
        for (fetch, order) in batch {
            guard mayAct(), let inode = open[fetch]?.inode else { continue }
            let part = path(of: inode)
            names[part] = nil
            names[order.destination] = inode
            // Sometimes the journal gets there before the sync of the directory does.
            if Bool.random(using: &random) { durableNames = names }
        }
        guard mayAct() else { return }
        durableNames = names
        for (fetch, order) in batch where open[fetch] != nil {
            outcomes.append((fetch, .published(path: order.destination)))
        }
    }
}
