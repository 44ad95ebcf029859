internal import CLonghaul
internal import Glibc
package import LonghaulModel
private import Synchronization

/// The file `progress` in the state directory, mapped: one cell per running segment and fetch, into
/// which the transport writes its progress. A write costs no system call. The board survives
/// `kill -9`, but not a reboot.
///
/// Only the holder of the engine lock uses it, in this order: ``open(in:)``, commit the
/// ``leftovers``, ``reset()``, then take cells. After a crash before the reset the next engine
/// finds the same leftovers.
///
/// The lock guards the list of free cells. The words of a taken cell belong to the transport's
/// thread until the cell is freed.
package final class ProgressBoard: Sendable {
    package static let fileName = "progress"

    /// The cells of the engine before this one, if it ran in this boot.
    package let leftovers: [Leftover]
    /// Why the board is in plain memory; `nil` = it is the file. In plain memory the bytes that a
    /// killed engine wrote since its last checkpoint are fetched again.
    package let degraded: SystemFailure?

    private let base: UInt
    private let boot: BootID?
    private let free: Mutex<[UInt]?>

    private init(base: UInt, boot: BootID?, leftovers: [Leftover], degraded: SystemFailure?) {
        self.base = base
        self.boot = boot
        self.leftovers = leftovers
        self.degraded = degraded
        self.free = Mutex(nil)
    }

    deinit {
        munmap(UnsafeMutableRawPointer(bitPattern: base), BoardLayout.bytes)
    }

    // MARK: - Opening

    /// Maps the board of this state directory. Never fails: if the file cannot be used, the board
    /// is in memory, and ``degraded`` has the reason.
    package static func open(in directory: String, boot: BootID? = .current) -> ProgressBoard {
        do {
            let base = try map(file: PathParts.join(directory, fileName), in: directory)
            // Without a boot id it is unknown whether the page cache still has the written bytes.
            let leftovers = boot.map { readLeftovers(base, of: $0) } ?? []
            return ProgressBoard(base: base, boot: boot, leftovers: leftovers, degraded: nil)
        } catch {
            return ProgressBoard(base: anonymous(), boot: nil, leftovers: [], degraded: error)
        }
    }

    private static func map(file path: String, in directory: String) throws(SystemFailure) -> UInt {
        let home = try DirectoryHandle(opening: directory)
        let owner = try openOwn(fileName, in: home)
        let facts = try stat.of(descriptor: owner.number, path: path)
        guard facts.isRegular, facts.st_uid == geteuid() else {
            throw SystemFailure(operation: "open", path: path, errno: EPERM)
        }
        // Every page has its block before it is mapped, and keeps it: touching a page without a
        // block on a full disk raises SIGBUS. posix_fallocate(3) returns the error number itself.
        try keepInPlace(owner, path, size: Int64(facts.st_size))
        var refusal: Int32
        repeat {
            refusal = posix_fallocate(owner.number, 0, off_t(BoardLayout.bytes))
        } while refusal == EINTR
        if refusal != 0 {
            throw SystemFailure(operation: "fallocate", path: path, errno: refusal)
        }
        let address = mmap(
            nil, BoardLayout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, owner.number, 0)
        guard let address, address != MAP_FAILED else { throw .last("mmap", path) }
        return UInt(bitPattern: address)
    }

    /// A copy-on-write file system takes another block for each write of a page, which a full disk
    /// cannot give. A file made with copy-on-write is emptied first, which loses the leftovers of a
    /// killed engine.
    private static func keepInPlace(
        _ owner: Descriptor, _ path: String, size: Int64
    ) throws(SystemFailure) {
        func isInPlace() throws(SystemFailure) -> Bool {
            try check(lh_keep_in_place(owner.number), "ioctl", path) == 1
        }
        if try isInPlace() { return }
        if size > 0, ftruncate(owner.number, 0) < 0 { throw .last("ftruncate", path) }
        guard try isInPlace() else {
            throw SystemFailure(operation: "ioctl", path: path, errno: EOPNOTSUPP)
        }
    }

    private static func anonymous() -> UInt {
        let address = mmap(
            nil, BoardLayout.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address, address != MAP_FAILED else {
            preconditionFailure("no memory for the progress board")
        }
        return UInt(bitPattern: address)
    }

    private static func readLeftovers(_ base: UInt, of boot: BootID) -> [Leftover] {
        func header(_ index: Int) -> UInt64 { lh_word_load(BoardLayout.word(index, of: base)) }
        guard header(BoardLayout.magicWord) == BoardLayout.magic,
            header(BoardLayout.bootWords.0) == boot.high,
            header(BoardLayout.bootWords.1) == boot.low
        else { return [] }
        return (0..<BoardLayout.cellCount).compactMap {
            leftover(at: BoardLayout.cell($0, of: base))
        }
    }

    /// `nil` for a free cell, and for values that no engine writes: the file's content is not
    /// trusted.
    private static func leftover(at cell: UInt) -> Leftover? {
        func word(_ index: Int) -> Int64 {
            Int64(bitPattern: lh_word_load(BoardLayout.word(index, of: cell)))
        }
        let kind: Leftover.Kind
        switch UInt64(bitPattern: word(ProgressCell.kind)) {
        case BoardLayout.segment: kind = .segment
        case BoardLayout.fetch: kind = .fetch
        default: return nil
        }
        var found = Leftover(
            fetch: FetchID(rawValue: word(ProgressCell.fetch)), generation: 0,
            start: word(ProgressCell.start), written: word(ProgressCell.written),
            received: word(ProgressCell.received), kind: kind)
        switch kind {
        case .segment: found.generation = word(ProgressCell.generation)
        case .fetch: found.mount = UInt64(bitPattern: word(ProgressCell.mount))
        }
        guard found.fetch.rawValue > 0, found.start >= 0, found.written >= found.start,
            found.received >= 0
        else { return nil }
        return found
    }

    // MARK: - Cells

    /// Clears the leftovers and prepares the board for this engine. Call it once, when the
    /// leftovers are committed.
    package func reset() {
        // The board is invalid while the cells are cleared, in case the process is killed
        // meanwhile.
        lh_word_store(BoardLayout.word(BoardLayout.magicWord, of: base), 0)
        for index in 0..<BoardLayout.cellCount {
            for word in 0..<(ProgressCell.size / 8) {
                store(0, BoardLayout.cell(index, of: base), word)
            }
        }
        if let boot {
            lh_word_store(BoardLayout.word(BoardLayout.bootWords.0, of: base), boot.high)
            lh_word_store(BoardLayout.word(BoardLayout.bootWords.1, of: base), boot.low)
            lh_word_store(BoardLayout.word(BoardLayout.magicWord, of: base), BoardLayout.magic)
        }
        free.withLock { free in
            free = (0..<BoardLayout.cellCount).reversed().map { BoardLayout.cell($0, of: base) }
        }
    }

    /// A cell for a segment that begins to write at `start`. 0 if none is free: the segment then
    /// runs without, and a kill loses the bytes written since the last checkpoint.
    ///
    /// - Parameter fetchCell: the fetch's own cell, from ``takeFetch(_:received:mount:)``; 0 =
    ///   none.
    package func claim(_ fetch: FetchID, generation: Int64, start: Int64, fetchCell: UInt) -> UInt {
        claim(fetch, kind: BoardLayout.segment) { cell in
            store(generation, cell, ProgressCell.generation)
            store(start, cell, ProgressCell.start)
            store(start, cell, ProgressCell.written)
            store(0, cell, ProgressCell.received)
            store(Int64(fetchCell), cell, ProgressCell.fetchCell)
            store(0, cell, ProgressCell.yielding)
        }
    }

    /// A cell for the fetch itself, which counts all bytes ever received for it, `received` so far.
    /// 0 if none is free.
    ///
    /// - Parameter mount: The mount that its part file was opened through, see ``FileFacts/mount``.
    package func takeFetch(_ fetch: FetchID, received: Int64, mount: UInt64 = 0) -> UInt {
        claim(fetch, kind: BoardLayout.fetch) { cell in
            store(Int64(bitPattern: mount), cell, ProgressCell.mount)
            store(0, cell, ProgressCell.start)
            store(0, cell, ProgressCell.written)
            store(received, cell, ProgressCell.received)
            store(received, cell, ProgressCell.counted)
            store(0, cell, ProgressCell.rate)
        }
    }

    /// Frees a cell once no thread writes to it any more. 0 is ignored.
    package func free(_ address: UInt) {
        guard address != 0 else { return }
        precondition(
            address > base && address < base + UInt(BoardLayout.bytes)
                && (address - base) % UInt(ProgressCell.size) == 0, "not a cell of this board")
        store(0, address, ProgressCell.fetch)
        free.withLock { $0?.append(address) }
    }

    /// Continues the segment at `start`, under another generation; the previous content of the cell
    /// becomes void. Only while its request is held.
    package func retag(_ address: UInt, generation: Int64, start: Int64) {
        let fetch = load(address, ProgressCell.fetch)
        store(0, address, ProgressCell.fetch)
        store(generation, address, ProgressCell.generation)
        store(start, address, ProgressCell.start)
        store(start, address, ProgressCell.written)
        store(fetch, address, ProgressCell.fetch)
    }

    /// Invalidates the cells of a fetch whose written bytes are unknown: the next engine must not
    /// use them, even if this process is killed before it has recorded the reason. The cells
    /// continue counting. It may be called before ``reset()``, for a previous engine's cells.
    package func distrust(_ fetch: FetchID) {
        for index in 0..<BoardLayout.cellCount {
            let cell = BoardLayout.cell(index, of: base)
            guard load(cell, ProgressCell.fetch) == fetch.rawValue,
                load(cell, ProgressCell.kind) == Int64(bitPattern: BoardLayout.segment)
            else { continue }
            store(0, cell, ProgressCell.generation)
        }
    }

    /// Shows a fetch's rate to readers. `address` must be the fetch's own cell.
    package func publish(rate: Double, at address: UInt) {
        store(Int64(max(0, min(rate, 1e18))), address, ProgressCell.rate)
    }

    /// Shows readers how many body bytes have come; as ``publish(rate:at:)``.
    package func publish(counted: Int64, at address: UInt) {
        store(counted, address, ProgressCell.counted)
    }

    /// Shows readers how much of an upload's source is compared; 0 = it is not being read.
    /// `address` must be the fetch's own cell.
    package func publish(checked: Int64, at address: UInt) {
        store(checked, address, ProgressCell.checked)
    }

    /// File offset after the last byte that the segment of this cell wrote.
    package func written(at address: UInt) -> Int64 { load(address, ProgressCell.written) }

    /// Body bytes received, as counted in this cell.
    package func received(at address: UInt) -> Int64 { load(address, ProgressCell.received) }

    // MARK: -

    private func claim(_ fetch: FetchID, kind: UInt64, _ fill: (UInt) -> Void) -> UInt {
        precondition(fetch.rawValue > 0, "a fetch has a positive id")
        let cell = free.withLock { free -> UInt? in
            precondition(free != nil, "the leftovers are committed and the board is reset first")
            return free?.popLast()
        }
        guard let cell else { return 0 }
        // The fetch is cleared first and set last: if killed, the cell is either free or complete.
        store(0, cell, ProgressCell.fetch)
        fill(cell)
        store(Int64(bitPattern: kind), cell, ProgressCell.kind)
        store(fetch.rawValue, cell, ProgressCell.fetch)
        return cell
    }

    private func store(_ value: Int64, _ cell: UInt, _ word: Int) {
        lh_word_store(BoardLayout.word(word, of: cell), UInt64(bitPattern: value))
    }

    private func load(_ cell: UInt, _ word: Int) -> Int64 {
        Int64(bitPattern: lh_word_load(BoardLayout.word(word, of: cell)))
    }
}
