import LonghaulCore
import LonghaulEngine

/// A disk that forgets what was not synced when the power goes, that fails as it is told to, and a
/// progress board that a kill leaves and a power cut does not. Used by one thread; the ports ask
/// for `Sendable`.
final class SimDisk: FilePort, @unchecked Sendable {
    struct File {
        var data = SimBytes()
        var durable = SimBytes()
        /// What the next sync would write; a failed one forgets it, as the kernel may.
        var dirty = ByteRanges()
        /// Somebody else's.
        var isForeign = false
        var birth: Int64
        /// Of a symbolic link.
        var target: String?
    }

    struct Cell {
        var fetch: FetchID
        var generation: Int64?
        var start: Int64
        var written: Int64
        var received: Int64
        /// Of a fetch's own.
        var mount: UInt64 = 0
    }

    /// A change of names that has not reached the disk yet. They reach it in order.
    struct NameChange {
        var removed: String?
        var added: String?
        var inode: UInt64
    }

    struct Open {
        var inode: UInt64
        var cell: UInt
        /// Not known to be on disk, by whoever opened it.
        var isNameNew: Bool
    }

    var files: [UInt64: File] = [:]
    var names: [String: UInt64] = [:]
    var durableNames: [String: UInt64] = [:]
    var journal: [NameChange] = []
    var cells: [UInt: Cell] = [:]
    var nextCell: UInt = 64
    /// Of the engine that lives: gone with it.
    var open: [FetchID: Open] = [:]
    /// What uploads send.
    var sources = SimSources()
    /// Part files of fetches, as the engine last named them.
    var orders: [FileOrder] = []
    var old: [BoardLeftover] = []
    var outcomes: [(FetchID, FetchEvent)] = []
    /// What was to be deleted and is, as the engine is yet to hear.
    var gone: [OrphanedPart] = []
    /// Set by the world: counts effects down to the crash.
    var mayAct: () -> Bool = { true }
    /// Set by the world: told what is done.
    var say: (@autoclosure () -> String) -> Void = { _ in }
    /// Set by the world: a file of somebody's is replaced.
    var willReplace: (String) -> Void = { _ in }
    /// Set by the world: a whole file is not what was expected and moved aside.
    var didSetAside: (FetchID) -> Void = { _ in }
    /// Set by the world: a sync fails now, what was written since the last is void.
    var willDistrust: (FetchID) -> Void = { _ in }

    /// The bytes of lists of files, by label.
    var texts: [Int: [UInt8]] = [:]

    // MARK: Faults

    var trouble = SimTrouble.none
    var random = SeededGenerator(seed: 1)
    /// Bytes that can still be written; `nil` = any number.
    var room: Int64?
    var isReadOnly = false
    /// What was deleted, and a power cut brought back; for people to find.
    var undeleted: [String: UInt64] = [:]
    /// Files that a read-only disk has kept from being deleted.
    var refused: [String: UInt64] = [:]
    /// What was deleted; a power cut may bring it back.
    var deleted: [String: UInt64] = [:]
    var births: Int64 = 0
    /// By the first directory of the path: its disk takes no copies.
    var copiesFail: [String: LocalFault] = [:]
    var faults = 0
    var mount: UInt64 = 1

    func submit(_ orders: [FileOrder]) {
        for order in orders {
            if mayAct() { self.orders.append(order) }
        }
    }

    // MARK: - Names

    /// The lowest free number, as file systems give them: the next file may be mistaken for the one
    /// before.
    func newInode() -> UInt64 {
        let used = Set(names.values).union(durableNames.values).union(open.values.map(\.inode))
        var inode: UInt64 = 1
        while used.contains(inode) { inode += 1 }
        return inode
    }

    /// A file of that number, created now.
    func make(_ inode: UInt64, data: SimBytes = SimBytes(), isForeign: Bool = false) {
        births += 1
        files[inode] = File(
            data: data, dirty: ByteRanges(0..<data.count), isForeign: isForeign, birth: births)
    }

    func identity(of inode: UInt64) -> FileIdentity {
        FileIdentity(device: 1, inode: inode, birth: files[inode]?.birth ?? 0)
    }

    /// Whether this very file has the name.
    func holds(_ identity: FileIdentity, at path: String) -> Bool {
        names[path].map { self.identity(of: $0) } == identity
    }

    func rename(_ removed: String?, to added: String?, _ inode: UInt64) {
        if let removed { names[removed] = nil }
        if let added {
            names[added] = inode
            // Another file by now, even if it has the number of the one that was left.
            keep(added)
        }
        journal.append(NameChange(removed: removed, added: added, inode: inode))
    }

    /// What has this name is in use, whatever was deleted there before.
    func keep(_ path: String) {
        undeleted[path] = nil
        refused[path] = nil
        deleted[path] = nil
    }

    private func settle(_ change: NameChange) {
        if let removed = change.removed { durableNames[removed] = nil }
        if let added = change.added { durableNames[added] = change.inode }
    }

    func syncNames() {
        for change in journal { settle(change) }
        journal = []
    }

    func path(of inode: UInt64) -> String? {
        names.keys.sorted().first { names[$0] == inode }
    }

    // MARK: - Crashes

    func kill() {
        old = cells.keys.sorted().compactMap { cells[$0] }.map {
            BoardLeftover(
                fetch: $0.fetch, generation: $0.generation, written: $0.start..<$0.written,
                received: $0.received, mount: $0.mount)
        }
        open = [:]
        sources.open = [:]
        orders = []
        outcomes = []
        gone = []
    }

    /// What was synced stays; of the rest any part may have got to the disk, names in their order.
    ///
    /// - Parameter isPulled: The disk alone has lost its power. The board is on another.
    func losePower(_ random: inout SeededGenerator, isPulled: Bool = false) {
        kill()
        mount += 1
        if !isPulled {
            old = []
            cells = [:]
        }
        for change in journal.prefix(Int.random(in: 0...journal.count, using: &random)) {
            settle(change)
        }
        journal = []
        names = durableNames
        for (path, inode) in deleted where names[path] == inode { undeleted[path] = inode }
        for inode in files.keys.sorted() {
            guard var file = files[inode] else { continue }
            for range in file.dirty.ranges where Bool.random(using: &random) {
                let end = Int64.random(in: range.lowerBound...range.upperBound, using: &random)
                let part = (range.lowerBound..<end).clamped(to: 0..<file.data.count)
                file.durable.replace(part, with: file.data.pieces(in: part))
            }
            files[inode] = File(
                data: file.durable, durable: file.durable, isForeign: file.isForeign,
                birth: file.birth, target: file.target)
        }
    }

    // MARK: - Board

    func target(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget? {
        guard let inode = open[fetch]?.inode ?? sources.open[fetch]?.inode else { return nil }
        nextCell += 64
        cells[nextCell] = Cell(
            fetch: fetch, generation: generation, start: start, written: start, received: 0)
        return SegmentTarget(descriptor: Int32(inode), cell: nextCell)
    }

    func release(_ target: SegmentTarget, of fetch: FetchID) { cells[target.cell] = nil }
    func written(_ target: SegmentTarget) -> Int64 { cells[target.cell]?.written ?? 0 }
    func received(_ target: SegmentTarget) -> Int64 { cells[target.cell]?.received ?? 0 }
    func publish(rate: Double, fetched: Int64, of fetch: FetchID) {}
    func rest() {}
    func leftovers() -> [BoardLeftover] { old }

    func resetBoard() {
        old = []
        cells = [:]
    }

    // MARK: - Content

    /// Writes as much as there is room for. Returns an errno, 0 if all went well, and how much was
    /// written.
    func write(
        _ inode: UInt64, _ range: Range<Int64>, _ pieces: [SimBytes.Run]
    ) -> (errno: Int32, count: Int64) {
        guard var file = files[inode] else { return (0, Int64(range.count)) }
        if isReadOnly { return (30, 0) }
        if random.happens(trouble.write) {
            faults += 1
            return (5, 0)
        }
        var part = range
        let grows = max(0, range.upperBound - max(file.data.count, range.lowerBound))
        if let room, grows > room {
            part = range.lowerBound..<max(range.lowerBound, range.upperBound - (grows - room))
        }
        file.data.replace(part, with: pieces.compactMap { $0.clipped(to: part) })
        if !part.isEmpty { file.dirty.insert(part) }
        files[inode] = file
        if let room { self.room = max(0, room - grows) }
        return (part == range ? 0 : 28, Int64(part.count))
    }

    func flush(_ inode: UInt64) {
        guard var file = files[inode] else { return }
        file.durable.truncate(to: file.data.count)
        for range in file.dirty.ranges {
            let part = range.clamped(to: 0..<file.data.count)
            file.durable.replace(part, with: file.data.pieces(in: part))
        }
        file.dirty = ByteRanges()
        files[inode] = file
    }
}
