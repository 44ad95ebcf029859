import LonghaulCore
import LonghaulStore

/// The promises, checked while the world goes on and when it has come to rest.
extension SimWorld {
    /// What the store says is held is on the disk, and would be after a power cut; what was
    /// received is never forgotten.
    func checkProgress() throws {
        for id in expected.keys.sorted() {
            guard let transfer = try store.transfer(id, now: now.wall) else {
                throw SimComplaint("an acknowledged enqueue is lost: \(id)", self)
            }
            if transfer.state == .completed { try checkPublished(id) }
            let before = expected[id]?.bytesFetched ?? 0
            if transfer.bytesFetched < before, powerCuts == 0 {
                throw SimComplaint("\(id): bytesFetched went down from \(before)", self)
            }
            expected[id]?.bytesFetched = transfer.bytesFetched
            guard let held = transfer.held, !transfer.state.hasEnded,
                let inode = disk.names["/d/f\(id.rawValue - 1).\(id).part"],
                let file = disk.files[inode]
            else { continue }
            if let last = held.durable.ranges.last, last.upperBound > file.durable.count {
                throw SimComplaint(
                    "\(id): \(held.durable) is claimed, \(file.durable.count) durable", self)
            }
        }
    }

    /// Whole, of one version, and still so after a power cut.
    func checkPublished(_ id: TransferID) throws {
        guard let transfer = expected[id], let content = wire.contents[transfer.url] else { return }
        guard let inode = disk.durableNames[transfer.destination], let file = disk.files[inode]
        else { throw SimComplaint("\(id) is completed and its name is not durable", self) }
        // A published file is written by nobody: looking at it once is enough.
        if verified[inode] == file.durable.count { return }
        verified[inode] = file.durable.count
        guard content.version(of: file.durable) != nil else {
            throw SimComplaint(
                "\(id): \(file.durable.count) durable bytes are no version of \(content.sizes)",
                self)
        }
    }

    /// At rest: exactly one terminal event for each end.
    func checkEvents() throws {
        for id in expected.keys.sorted() {
            try checkPublished(id)
            let types = try store.events(of: id).map(\.type)
            guard types.filter({ $0 == .transferCompleted }).count == 1,
                types.last == .transferCompleted
            else { throw SimComplaint("\(id): events \(types.map(\.rawValue))", self) }
        }
        let parts = disk.names.keys.filter { $0.hasSuffix(".part") }
        guard parts.isEmpty else { throw SimComplaint("left behind: \(parts.sorted())", self) }
    }
}
