import LonghaulCore
import LonghaulEngine

/// A disk that forgets what was not synced when the power goes, and a progress board that a kill
/// leaves and a power cut does not. Used by one thread; the ports ask for `Sendable`.
final class SimDisk: FilePort, @unchecked Sendable {
    struct File {
        var data: [UInt8] = []
        var durable: [UInt8] = []
        /// What the next sync would write; a failed one forgets it, as the kernel may.
        var dirty = ByteRanges()
    }

    struct Cell {
        var fetch: FetchID
        var generation: Int64?
        var start: Int64
        var written: Int64
        var received: Int64
    }

    var files: [UInt64: File] = [:]
    var names: [String: UInt64] = [:]
    var durableNames: [String: UInt64] = [:]
    var nextInode: UInt64 = 1
    var cells: [UInt: Cell] = [:]
    var nextCell: UInt = 64
    /// Of the engine that lives: gone with it.
    var open: [FetchID: (inode: UInt64, cell: UInt)] = [:]
    var orders: [FileOrder] = []
    var old: [BoardLeftover] = []
    var syncsFail = false
    /// Set by the world: counts effects down to the crash.
    var mayAct: () -> Bool = { true }
    var outcomes: [(FetchID, FetchEvent)] = []

    func submit(_ orders: [FileOrder]) {
        for order in orders where mayAct() { self.orders.append(order) }
    }

    // MARK: - Crashes

    func kill() {
        old = cells.keys.sorted().compactMap { cells[$0] }.map {
            BoardLeftover(
                fetch: $0.fetch, generation: $0.generation, written: $0.start..<$0.written,
                received: $0.received)
        }
        open = [:]
        orders = []
        outcomes = []
    }

    func losePower() {
        kill()
        old = []
        cells = [:]
        names = durableNames
        files = files.mapValues { File(data: $0.durable, durable: $0.durable) }
    }

    // MARK: - Board

    func target(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget? {
        guard let entry = open[fetch] else { return nil }
        nextCell += 64
        cells[nextCell] = Cell(
            fetch: fetch, generation: generation, start: start, written: start, received: 0)
        return SegmentTarget(descriptor: Int32(entry.inode), cell: nextCell)
    }

    func release(_ target: SegmentTarget, of fetch: FetchID) { cells[target.cell] = nil }
    func written(_ target: SegmentTarget) -> Int64 { cells[target.cell]?.written ?? 0 }
    func received(_ target: SegmentTarget) -> Int64 { cells[target.cell]?.received ?? 0 }
    func fetched(_ fetch: FetchID) -> Int64 {
        open[fetch].flatMap { cells[$0.cell]?.received } ?? 0
    }
    func publish(rate: Double, of fetch: FetchID) {}
    func leftovers() -> [BoardLeftover] { old }

    func resetBoard() {
        old = []
        cells = [:]
    }

    // MARK: - Recovery

    func facts(part: String, destination: String) -> FileFacts {
        FileFacts(part: entry(part), destination: entry(destination))
    }

    private func entry(_ path: String) -> FileFacts.Entry {
        guard let inode = names[path], let file = files[inode] else { return .missing }
        return .present(
            FileIdentity(device: 1, inode: inode), size: Int64(file.data.count))
    }

    func sync(part: String, of fetch: FetchID, expecting identity: FileIdentity) -> LocalFault? {
        if let inode = names[part], inode == identity.inode { flush(inode, part) }
        return nil
    }

    func syncDirectory(of path: String) -> LocalFault? {
        durableNames = names
        return nil
    }

    func flush(_ inode: UInt64, _ path: String) {
        guard var file = files[inode] else { return }
        let count = file.data.count
        if file.durable.count != count {
            file.durable =
                file.durable.count > count
                ? Array(file.durable[..<count])
                : file.durable + [UInt8](repeating: 0, count: count - file.durable.count)
        }
        for range in file.dirty.ranges {
            let bounds = Int(range.lowerBound)..<min(Int(range.upperBound), count)
            if !bounds.isEmpty { file.durable.replaceSubrange(bounds, with: file.data[bounds]) }
        }
        file.dirty = ByteRanges()
        files[inode] = file
        durableNames[path] = inode
    }

    func write(_ inode: UInt64, at offset: Int, _ bytes: [UInt8]) {
        var file = files[inode] ?? File()
        let end = offset + bytes.count
        if file.data.count < end {
            file.data += [UInt8](repeating: 0, count: end - file.data.count)
        }
        file.data.replaceSubrange(offset..<end, with: bytes)
        file.dirty.insert(Int64(offset)..<Int64(end))
        files[inode] = file
    }
}
