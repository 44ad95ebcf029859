import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

/// The daily copies, and what a repair makes of them.
@Suite struct CopyTests {
    private static let day: Double = 24 * 3600
    private static let skipped = Limits.restoredNumbersSkipped

    private func times(_ directory: String) -> [Timestamp?] {
        let location = StoreLocation(directory: directory)
        return (1...2).map { FileStatus.of(location.copy($0))?.modified }
    }

    private func count(_ directory: String) throws -> Int {
        let store = try Store.open(directory: directory)
        defer { try? store.close() }
        return try store.transfers.counts().values.reduce(0, +)
    }

    // MARK: - Making

    @Test func twoAreKept() throws {
        let scratch = try ScratchStore()
        let days = (0..<3).map { Timestamp.start + Double($0) * Self.day }
        for (number, now) in days.enumerated() {
            #expect(try StoreCopy.isDue(of: scratch.store, now: now))
            try scratch.add("/d/\(number)")
            try Damage.copy(scratch.directory, at: now)
            #expect(try !StoreCopy.isDue(of: scratch.store, now: now + 60))
        }
        #expect(times(scratch.directory) == [days[2], days[1]])
        for generation in 1...2 {
            let status = try #require(FileStatus.of(scratch.location.copy(generation)))
            #expect(status.permissions == 0o600)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.directory)
        let copies = names.filter { $0.hasPrefix("copy") }
        #expect(copies.sorted() == ["copy-1.sqlite", "copy-2.sqlite"])
    }

    /// The store deletes those of an upload with its end; a copy would keep them.
    @Test func credentialsOfUploadsAreInNoCopy() throws {
        let scratch = try ScratchStore()
        for number in 1...1200 {
            _ = try scratch.add("/d/\(number)") {
                $0.options.upload = UploadOptions()
                $0.options.user = "someone:top-secret-1"
                $0.options.headers["Authorization"] = "Bearer top-secret-2"
                $0.options.headers["Accept"] = "text/plain"
            }
        }
        _ = try scratch.add("/d/download") { $0.options.user = "someone:of-a-download" }
        try Damage.copy(scratch.directory, at: .start)
        let copy = scratch.location.copy(1)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
        #expect(bytes.range(of: Data("top-secret".utf8)) == nil)
        #expect(bytes.range(of: Data("of-a-download".utf8)) != nil)
        let kept: [String] = try Connection(path: copy, readOnly: true).values(
            "SELECT options FROM transfer WHERE instr(options, 'text/plain') > 0")
        #expect(kept.count == 1200)
        // The store itself still has them.
        let own: [Int64] = try scratch.store.access {
            try $0.values("SELECT 1 FROM transfer WHERE instr(options, 'top-secret-2') > 0")
        }
        #expect(own.count == 1200)
    }

    @Test func aClockThatWasSetBackKeepsNoCopyAway() throws {
        let scratch = try ScratchStore()
        try Damage.copy(scratch.directory, at: .start + 9 * Self.day)
        #expect(try StoreCopy.isDue(of: scratch.store, now: .start))
    }

    @Test func aCopyOfAnotherStoreIsNone() throws {
        let (former, scratch) = (try ScratchStore(), try ScratchStore())
        try Damage.copy(former.directory)
        try FileManager.default.copyItem(
            atPath: former.location.copy(1), toPath: scratch.location.copy(1))
        #expect(try StoreCopy.isDue(of: scratch.store, now: .start))
    }

    /// A backup begins again at each commit of another connection, unless it reads one snapshot.
    @Test func oneIsMadeWhileOthersWrite() throws {
        let directory = try Damage.filled(20_000)
        defer { Scratch.remove(directory) }
        let writer = try Store.open(directory: directory)
        nonisolated(unsafe) var steps = 0
        try StoreCopy.make(directory: directory, now: .start) {
            steps += 1
            let outcome = try? writer.wants.enqueue([.sample("/d/more-\(steps)")], now: .start)
            return outcome != nil
        }
        try writer.close()
        let megabytes = Int(StoreCopy.size(directory: directory) >> 20)
        #expect((5...(megabytes * 2 + 100)).contains(steps), "\(steps) steps, \(megabytes) MiB")
        #expect(try count(directory) == 20_000 + steps)
        truncate(directory + "/queue.sqlite", 0)
        #expect(try Damage.repair(directory)?.restored?.transfers == 20_000)
    }

    @Test func oneThatIsNotFinishedLeavesTheFormer() throws {
        let scratch = try ScratchStore()
        try Damage.copy(scratch.directory)
        for number in 0..<3_000 { try scratch.add("/d/\(number)") }
        try StoreCopy.make(directory: scratch.directory, now: .start + Self.day) { false }
        #expect(times(scratch.directory) == [.start, nil])
        #expect(FileStatus.of(scratch.location.unfinishedCopy) == nil)
    }

    @Test func whatIsDamagedTakesNoCopysPlace() throws {
        let directory = try Damage.filled(500)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        try Damage.destroy(directory + "/queue.sqlite", pages: Array(20...40))
        try? Damage.copy(directory, at: .start + Self.day)
        #expect(times(directory) == [.start, nil])
    }

    // MARK: - Restoring

    /// As `: > queue.sqlite` leaves it, or a disk that lost what it had not written.
    @Test func anEmptiedStoreIsDamage() throws {
        let directory = try Damage.filled(7)
        defer { Scratch.remove(directory) }
        truncate(directory + "/queue.sqlite", 0)
        for mode in [OpenMode.create, .existing, .probe] {
            let error = try refusal { _ = try Store.open(directory: directory, mode: mode) }
            #expect(StoreFailure.isDamage(error), "\(mode): \(error)")
        }
        #expect(Damage.failing(directory) == ["store"])
        let report = try #require(try Damage.repair(directory))
        #expect(report.isTotalLoss)
        #expect(Damage.failing(directory).isEmpty)
    }

    /// Pages destroyed, an end cut off, another beginning.
    @Test(arguments: [[1], [5], [7, 30], Array(10...30)])
    func aDamagedStoreIsReplacedByItsCopy(pages: [Int]) throws {
        let directory = try Damage.filled(500)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        var store = try Store.open(directory: directory)
        _ = try store.wants.enqueue([.sample("/d/late")], now: .start)
        try store.close()
        let path = directory + "/queue.sqlite"
        try Damage.destroy(path, pages: pages)
        let damaged = try Data(contentsOf: URL(fileURLWithPath: path))
        let report = try #require(try Damage.repair(directory))
        #expect(report.restored?.at == .start && report.restored?.last.transfer == 500)
        #expect(report.movedTo == path + ".damaged-1")
        // What was found stays as it was found.
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged-1")) == damaged)
        #expect(Damage.failing(directory).isEmpty)
        #expect(FileStatus.of(path)?.permissions == 0o600)
        #expect(FileStatus.of(directory + "/salvage") == nil)
        // It can be used again.
        #expect(times(directory) == [.start, nil])

        store = try Store.open(directory: directory)
        let mode: String? = try store.access { try $0.value("PRAGMA journal_mode") }
        #expect(mode == "wal")
        #expect(try store.transfers.counts() == [.waiting: 498, .running: 1, .cancelled: 1])
        #expect(try store.lease.info().epoch.rawValue == 1 + Self.skipped)
        let next = TransferID(rawValue: Self.skipped + 501)
        let outcome = try store.wants.enqueue([.sample("/d/new")], now: .start)
        #expect(outcome == [.recorded(next, destination: "/d/new")])
        #expect(report.nextTransfer == next.rawValue)
    }

    @Test func numbersOfEventsAreNotUsedAgain() throws {
        let directory = try Damage.filled(5)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        truncate(directory + "/queue.sqlite", 0)
        try Damage.repair(directory)
        let store = try Store.open(directory: directory)
        let epoch = try store.lease.raiseEpoch(
            EngineHolder(pid: 1, pidStart: 1, bootID: "b", mode: "run"), now: .start)
        try store.withEngineTransaction(epoch, .durable) { tx in
            try tx.transfers.cancel(
                TransferID(rawValue: 3), numbers: TransferTotals(), now: .start)
        }
        let events = try store.events.list(limit: 9).map(\.seq)
        #expect(events.first == 1 && events.last ?? 0 > Self.skipped, "\(events)")
    }

    @Test func theOlderOneServesWhereTheNewerIsDamaged() throws {
        let scratch = try ScratchStore()
        try scratch.add("/d/1")
        try Damage.copy(scratch.directory)
        try scratch.add("/d/2")
        try Damage.copy(scratch.directory, at: .start + Self.day)
        try Damage.destroy(scratch.location.copy(1), pages: [1, 3, 4])
        truncate(scratch.location.database, 0)
        let restored = try #require(try Damage.repair(scratch.directory)?.restored)
        #expect(restored.at == .start && restored.transfers == 1)
    }

    @Test func aStoreThatIsGoneIsPutBackOnlyByARepair() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        unlink(directory + "/queue.sqlite")
        let finding = StoreDoctor.check(directory: directory).first { $0.check == "store" }
        #expect(finding?.ok == true && finding?.fix?.contains("--repair") == true)
        #expect(try Damage.repair(directory)?.restored?.transfers == 3)
        #expect(try count(directory) == 3)
    }

    /// Another version may have come into the part file since, or the whole file have been renamed.
    @Test func downloadsOfTheCopyStartFromZero() throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        let id = try scratch.add("/d/a")
        let identity = FileIdentity(device: 1, inode: 2, birth: 3)
        var begun = try #require(
            try scratch.turn(epoch) { try $0.transfers.claim(id, now: .start) }
        ).fetch
        begun.partPath = "/d/.a.1.longhaul-part"
        begun.partIdentity = identity
        begun.durable.insert(0..<100)
        begun.bytesTotal = 100
        begun.validator = Validator(etag: "\"a\"", length: 100)
        begun.publication = "/d/a"
        let state = begun
        try scratch.turn(epoch) { try $0.fetches.save(state) }
        try Damage.copy(scratch.directory)
        truncate(scratch.location.database, 0)
        try Damage.repair(scratch.directory)
        let store = try Store.open(directory: scratch.directory)
        let found = try store.access { try FetchRecord.find(state.id, $0) }
        let fetch = try #require(found)
        #expect(fetch.durable.isEmpty && fetch.validator == nil && fetch.bytesTotal == nil)
        #expect(fetch.generation > state.generation && fetch.publication == nil)
        #expect(fetch.partIdentity == identity)
        let present = FileFacts.Entry.present(identity, size: 100)
        for facts in [
            FileFacts(part: present, destination: .missing),
            FileFacts(part: .missing, destination: present),
        ] {
            let action = reconcile(fetch: fetch, facts: facts, written: ByteRanges())
            #expect(action == .requeueFresh)
        }
    }
}
