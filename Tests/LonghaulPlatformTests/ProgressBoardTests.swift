import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite struct ProgressBoardTests {
    private let scratch: Scratch
    private let boot = BootID(high: 1, low: 2)
    private let fetch = FetchID(rawValue: 42)

    init() throws {
        scratch = try Scratch()
    }

    /// What the transport does: plain stores into the cells.
    private func store(_ value: UInt64, _ word: Int, of cell: UInt) {
        UnsafeMutablePointer<UInt64>(bitPattern: cell)![word] = value
    }

    private func ready() -> ProgressBoard {
        let board = ProgressBoard.open(in: scratch.path, boot: boot)
        #expect(board.degraded == nil)
        board.reset()
        return board
    }

    /// A cell that was given to another request between two words of a read says nothing.
    @Test func readersOfBytesSeeNoMixedCell() {
        func board(fetch: Int64, start: Int64, written: Int64) -> [UInt64] {
            var words = [UInt64](repeating: 0, count: BoardLayout.bytes / 8)
            let cell = ProgressCell.size / 8
            words[cell + ProgressCell.kind] = BoardLayout.segment
            words[cell + ProgressCell.fetch] = UInt64(fetch)
            words[cell + ProgressCell.generation] = 1
            words[cell + ProgressCell.start] = UInt64(start)
            words[cell + ProgressCell.written] = UInt64(written)
            return words
        }
        func seen(_ before: [UInt64], _ after: [UInt64]) -> [Range<Int64>] {
            BoardReader.written(of: fetch, before, after).map(\.range)
        }
        let own = board(fetch: 42, start: 10, written: 20)
        #expect(seen(own, own) == [10..<20])
        #expect(seen(own, board(fetch: 42, start: 10, written: 30)) == [10..<20])
        #expect(seen(board(fetch: 42, start: 10, written: 300), own) == [10..<20], "torn")
        let mixed = board(fetch: 42, start: 500, written: 900)
        #expect(seen(own, mixed).isEmpty && seen(mixed, own).isEmpty)
        #expect(seen(mixed, board(fetch: 7, start: 500, written: 900)).isEmpty)
    }

    @Test func whatIsNoBoardHoldsNobodyUp() throws {
        try #require(mkfifo(scratch.path + "/" + ProgressBoard.fileName, 0o600) == 0)
        #expect(BoardReader.live(in: scratch.path).isEmpty)
    }

    @Test func cellsSayWhatTheTransportWrites() throws {
        let board = ready()
        let whole = board.takeFetch(fetch, received: 500)
        let cell = board.claim(fetch, generation: 3, start: 1_000, fetchCell: whole)
        try #require(cell != 0 && whole != 0 && cell != whole)
        #expect(board.written(at: cell) == 1_000)
        #expect(board.received(at: cell) == 0)
        #expect(board.received(at: whole) == 500)
        let words = UnsafePointer<UInt64>(bitPattern: cell)!
        #expect(words[ProgressCell.fetch] == 42)
        #expect(words[ProgressCell.generation] == 3)
        #expect(words[ProgressCell.start] == 1_000)
        #expect(words[ProgressCell.fetchCell] == UInt64(whole))
        #expect(words[ProgressCell.kind] == 1)
        store(1_700, ProgressCell.written, of: cell)
        store(700, ProgressCell.received, of: cell)
        #expect(board.written(at: cell) == 1_700)
        #expect(board.received(at: cell) == 700)
    }

    @Test func readersSeeWhatAnUploadHasSent() throws {
        let board = ProgressBoard.open(in: scratch.path)
        try #require(board.degraded == nil && BootID.current != nil)
        board.reset()
        let whole = board.takeFetch(fetch, received: 0)
        let cells = [100, 900].map {
            board.claim(fetch, generation: 3, start: $0, fetchCell: whole)
        }
        store(50, ProgressCell.received, of: cells[0])
        let live = try #require(BoardReader.live(in: scratch.path)[fetch])
        #expect(live.sent.map(\.range) == [100..<150] && live.sent.map(\.generation) == [3])
        #expect(live.written.isEmpty)
        store(UInt64(Int64.max), ProgressCell.received, of: cells[1])
        let wild = BoardReader.live(in: scratch.path)[fetch]
        #expect(wild?.sent.map(\.range) == [100..<150, 900..<Int64.max])
    }

    /// A cell that is used again says nothing of the fetch that had it before.
    @Test func readersSeeTheRateOfTheFetchThatHasTheCell() throws {
        let board = ProgressBoard.open(in: scratch.path)
        try #require(board.degraded == nil && BootID.current != nil)
        board.reset()
        let cell = board.takeFetch(fetch, received: 500)
        board.publish(rate: 1_000, at: cell)
        #expect(BoardReader.live(in: scratch.path)[fetch]?.bytesPerSecond == 1_000)
        board.free(cell)
        let next = FetchID(rawValue: 43)
        #expect(board.takeFetch(next, received: 0) == cell)
        #expect(BoardReader.live(in: scratch.path)[next]?.bytesPerSecond == 0)
        #expect(BoardReader.live(in: scratch.path)[fetch] == nil)
    }

    /// What readers see is what the engine has counted: its number of a transfer that leaves the
    /// fetch is then never less, whatever the wire receives meanwhile.
    @Test func readersSeeWhatIsCounted() throws {
        let board = ProgressBoard.open(in: scratch.path)
        try #require(board.degraded == nil && BootID.current != nil)
        board.reset()
        let cell = board.takeFetch(fetch, received: 500)
        #expect(BoardReader.live(in: scratch.path)[fetch]?.received == 500)
        store(17_000, ProgressCell.received, of: cell)
        #expect(BoardReader.live(in: scratch.path)[fetch]?.received == 500)
        board.publish(counted: board.received(at: cell), at: cell)
        #expect(BoardReader.live(in: scratch.path)[fetch]?.received == 17_000)
    }

    /// After a restart of the bytes, what a kill leaves is of the new generation only.
    @Test func aCellMovesToAnotherGeneration() throws {
        do {
            let board = ready()
            let cell = board.claim(fetch, generation: 1, start: 100, fetchCell: 0)
            store(900, ProgressCell.written, of: cell)
            board.retag(cell, generation: 2, start: 0)
            store(50, ProgressCell.written, of: cell)
        }
        let board = ProgressBoard.open(in: scratch.path, boot: boot)
        let left = try #require(board.leftovers.first)
        #expect(board.leftovers.count == 1)
        #expect(left.generation == 2 && left.start == 0 && left.written == 50)
    }

    /// A sync has failed: what its segments say they wrote goes by no generation any more.
    @Test func aDistrustedFetchLeavesNothingToGoBy() throws {
        let other = FetchID(rawValue: 43)
        do {
            let board = ready()
            let whole = board.takeFetch(fetch, received: 500)
            let cell = board.claim(fetch, generation: 3, start: 0, fetchCell: whole)
            _ = board.claim(other, generation: 3, start: 0, fetchCell: 0)
            store(900, ProgressCell.written, of: cell)
            board.distrust(fetch)
            #expect(board.written(at: cell) == 900)
        }
        let left = ProgressBoard.open(in: scratch.path, boot: boot).leftovers
        #expect(left.first { $0.fetch == fetch && $0.kind == .segment }?.generation == 0)
        #expect(left.first { $0.fetch == fetch && $0.kind == .fetch }?.received == 500)
        #expect(left.first { $0.fetch == other }?.generation == 3)
    }

    @Test func cellsAreApartAndAligned() throws {
        let board = ready()
        let cells = (1...50).map {
            board.claim(.init(rawValue: $0), generation: 1, start: 0, fetchCell: 0)
        }
        #expect(Set(cells).count == 50)
        #expect(cells.allSatisfy { $0 % UInt(ProgressCell.size) == 0 })
    }

    @Test func theNextEngineOfTheBootFindsWhatWasLeft() throws {
        do {
            let board = ready()
            let whole = board.takeFetch(fetch, received: 500, mount: 77)
            let cell = board.claim(fetch, generation: 3, start: 1_000, fetchCell: whole)
            store(9_000, ProgressCell.written, of: cell)
            store(8_000, ProgressCell.received, of: cell)
            store(8_500, ProgressCell.received, of: whole)
            board.free(board.claim(fetch, generation: 4, start: 0, fetchCell: 0))
        }
        let expected: Set = [
            Leftover(
                fetch: fetch, generation: 3, start: 1_000, written: 9_000, received: 8_000,
                kind: .segment),
            Leftover(
                fetch: fetch, generation: 0, start: 0, written: 0, received: 8_500, kind: .fetch,
                mount: 77),
        ]
        // As often as an engine dies before it has committed them.
        for _ in 1...2 {
            let board = ProgressBoard.open(in: scratch.path, boot: boot)
            #expect(Set(board.leftovers) == expected)
            #expect(board.leftovers.count == 2)
        }
        ready().reset()
        #expect(ProgressBoard.open(in: scratch.path, boot: boot).leftovers.isEmpty)
    }

    @Test(arguments: [BootID(high: 1, low: 3), BootID(high: 0, low: 2), nil])
    func nothingIsLeftByAnotherBoot(later: BootID?) throws {
        _ = ready().claim(fetch, generation: 1, start: 0, fetchCell: 0)
        #expect(ProgressBoard.open(in: scratch.path, boot: later).leftovers.isEmpty)
    }

    @Test func survivesKill() throws {
        let child = try ChildProcess(
            role: "BoardWriterProcess", environment: [BoardWriterProcess.variable: scratch.path])
        eventually("the writer has written") { scratch.exists("written") }
        child.kill()
        child.reap()
        let board = ProgressBoard.open(in: scratch.path)
        #expect(
            board.leftovers == [
                Leftover(
                    fetch: .init(rawValue: 7), generation: 2, start: 10, written: 4_242,
                    received: 0, kind: .segment)
            ])
    }

    /// Words of one cell: fetch, generation, start, written, received, fetch's cell, kind.
    @Test(
        arguments: [
            [0, 1, 0, 9, 9, 0, 1], [42, 1, 9, 8, 0, 0, 1], [42, 1, 0, 9, 9, 0, 3],
            [42, 1, 0, 9, 9, 0, 0],
            [.max, 1, 0, 9, 9, 0, 1], [42, 1, .max, 9, 9, 0, 1], [42, 1, 0, .max, 9, 0, 1],
            [42, 1, 0, 9, .max, 0, 1],
        ] as [[UInt64]])
    func nonsenseInTheFileIsNoProgress(words: [UInt64]) throws {
        _ = ready().claim(fetch, generation: 1, start: 0, fetchCell: 0)
        #expect(ProgressBoard.open(in: scratch.path, boot: boot).leftovers.count == 1)
        let file = open(scratch.path(ProgressBoard.fileName), O_RDWR | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        var bytes = words
        try #require(pwrite(file, &bytes, words.count * 8, 64) == words.count * 8)
        #expect(ProgressBoard.open(in: scratch.path, boot: boot).leftovers.isEmpty)
    }

    @Test func aFileOfAnotherLayoutIsNotRead() throws {
        _ = ready().claim(fetch, generation: 1, start: 0, fetchCell: 0)
        let file = open(scratch.path(ProgressBoard.fileName), O_RDWR | O_CLOEXEC)
        defer { close(file) }
        var magic = BoardLayout.magic + 1
        try #require(pwrite(file, &magic, 8, 0) == 8)
        #expect(ProgressBoard.open(in: scratch.path, boot: boot).leftovers.isEmpty)
    }

    @Test func aCutFileIsMadeWhole() throws {
        try scratch.write("short", to: ProgressBoard.fileName)
        let board = ready()
        #expect(board.claim(fetch, generation: 1, start: 0, fetchCell: 0) != 0)
        var facts = stat()
        try #require(stat(scratch.path(ProgressBoard.fileName), &facts) == 0)
        #expect(Int(facts.st_size) == BoardLayout.bytes)
        #expect(try scratch.mode(ProgressBoard.fileName) & 0o077 == 0o044)
    }

    @Test func runsOutOfCellsWithoutHarm() throws {
        let board = ready()
        let cells = (1...BoardLayout.cellCount).map {
            board.claim(.init(rawValue: Int64($0)), generation: 1, start: 0, fetchCell: 0)
        }
        #expect(!cells.contains(0))
        #expect(board.claim(fetch, generation: 1, start: 0, fetchCell: 0) == 0)
        #expect(board.takeFetch(fetch, received: 0) == 0)
        board.free(0)
        board.free(cells[5])
        #expect(board.claim(fetch, generation: 1, start: 0, fetchCell: 0) == cells[5])
    }

    @Test func worksInMemoryWhenThereIsNoFile() throws {
        let board = ProgressBoard.open(in: scratch.path("nowhere"), boot: boot)
        #expect(board.degraded?.errno == ENOENT)
        #expect(board.leftovers.isEmpty)
        board.reset()
        let cell = board.claim(fetch, generation: 1, start: 5, fetchCell: 0)
        #expect(board.written(at: cell) == 5)
    }

    @Test func doesNotFollowALink() throws {
        try scratch.write("precious", to: "victim")
        try #require(symlink("victim", scratch.path(ProgressBoard.fileName)) == 0)
        let board = ProgressBoard.open(in: scratch.path, boot: boot)
        #expect(board.degraded?.errno == ELOOP)
        board.reset()
        #expect(try scratch.read("victim") == "precious")
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
    func aFullDiskDoesNotKill() throws {
        let disk = try SmallDisk(bytes: 65_536)
        let board = ProgressBoard.open(in: disk.path, boot: boot)
        #expect(board.degraded?.errno == ENOSPC)
        board.reset()
        #expect(board.claim(fetch, generation: 1, start: 0, fetchCell: 0) != 0)
    }
}

/// What the process does that is killed in the middle of a transfer.
@Suite struct BoardWriterProcess {
    static let variable = "LONGHAUL_TEST_BOARD"

    @Test(.enabled(if: Environment.value(variable) != nil, "runs in a process of its own"))
    func writesProgress() throws {
        let directory = try #require(Environment.value(Self.variable))
        let board = ProgressBoard.open(in: directory)
        board.reset()
        let cell = board.claim(.init(rawValue: 7), generation: 2, start: 10, fetchCell: 0)
        UnsafeMutablePointer<UInt64>(bitPattern: cell)![ProgressCell.written] = 4_242
        _ = try DirectoryHandle.creating(directory + "/written")
        sleep(60)
        withExtendedLifetime(board) {}
    }
}
