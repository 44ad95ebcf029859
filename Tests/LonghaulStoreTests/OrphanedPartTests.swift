import LonghaulCore
import LonghaulStore
import Testing

/// Part files that nobody wants are remembered until somebody has seen that they are gone.
@Suite struct OrphanedPartTests {
    private let scratch: ScratchStore
    private let epoch: Epoch
    private let part = OrphanedPart(
        path: "/d/.a.part", identity: FileIdentity(device: 1, inode: 2, birth: 3))

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func left(_ now: Timestamp = .start) throws -> [OrphanedPart] {
        var parts: [OrphanedPart] = []
        try scratch.turn(epoch) { tx in parts = try tx.fetches.orphanedParts(now: now) }
        return parts
    }

    /// A transfer with this part file, and then what ends it.
    private func end(
        _ part: OrphanedPart,
        _ body: (borrowing EngineTransaction, TransferID, FetchState) throws -> Void
    ) throws {
        let id = try scratch.add("/d/a")
        try scratch.turn(epoch) { tx in
            var (_, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            fetch.partPath = part.path
            fetch.partIdentity = part.identity
            try tx.fetches.save(fetch)
            try body(tx, id, fetch)
        }
    }

    private func cancel(_ part: OrphanedPart) throws {
        try end(part) { tx, id, fetch in
            try tx.transfers.cancel(id, numbers: TransferTotals(fetch), now: .start)
            verify(try tx.fetches.drop(of: id, now: .start) == [part])
        }
    }

    @Test func ofACancelledTransfer() throws {
        try cancel(part)
        #expect(try left() == [part])
        try scratch.turn(epoch) { tx in try tx.fetches.forget(part) }
        #expect(try left().isEmpty)
    }

    @Test func ofAFetchThatServesNobody() throws {
        try end(part) { tx, id, fetch in try tx.sharing.discard(fetch.id, now: .start) }
        #expect(try left() == [part])
    }

    /// Another file has its name, and is kept.
    @Test func ofASkippedTransfer() throws {
        try end(part) { tx, id, fetch in
            try tx.transfers.complete(
                id, finalPath: "/d/a", numbers: TransferTotals(fetch),
                skipped: LonghaulError(.destinationExists, "there"), now: .start)
        }
        #expect(try left() == [part])
    }

    /// It is the file by now.
    @Test func notOfACompletedTransfer() throws {
        try end(part) { tx, id, fetch in
            try tx.transfers.complete(
                id, finalPath: "/d/a", numbers: TransferTotals(fetch), now: .start)
        }
        #expect(try left().isEmpty)
    }

    @Test func ofATransferThatIsForgotten() throws {
        try end(part) { tx, id, fetch in
            try tx.transfers.fail(
                id, error: LonghaulError(.network, "down"), numbers: TransferTotals(fetch),
                now: .start)
        }
        let count = try scratch.store.wants.clean(endedBefore: .start + 1, now: .start) { parts in
            #expect(parts == [part])
            return []
        }
        #expect(count == 1)
        #expect(try left() == [part])
        try scratch.store.wants.forget([part])
        #expect(try left().isEmpty)
    }

    /// The number of a deleted file is soon another's.
    @Test func notWhereTheFileMayBeMistaken() throws {
        try cancel(
            OrphanedPart(path: "/d/.a.part", identity: FileIdentity(device: 1, inode: 2, birth: 0)))
        #expect(try left().isEmpty)
    }

    @Test func notForEver() throws {
        try cancel(part)
        #expect(try left(.start + Limits.leftPartsKeptSeconds) == [part])
        #expect(try left(.start + Limits.leftPartsKeptSeconds + 1).isEmpty)
    }
}
