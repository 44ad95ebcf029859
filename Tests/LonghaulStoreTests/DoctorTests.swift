import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct DoctorTests {
    @Test func nothingIsWrongWithASoundStore() throws {
        let directory = try Damage.filled(10)
        defer { Scratch.remove(directory) }
        #expect(Damage.failing(directory).isEmpty)
        let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
        #expect(report == RepairReport())
    }

    @Test func thereIsNothingToRepairWithoutAStore() throws {
        let directory = try Scratch.directory()
        defer { Scratch.remove(directory) }
        #expect(Damage.failing(directory).isEmpty)
        #expect(try StoreDoctor.repair(directory: directory, now: .start) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }

    @Test func modesAreCorrected() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        chmod(directory, 0o777)
        chmod(directory + "/queue.sqlite", 0o666)
        #expect(Damage.failing(directory) == ["directory", "store"])
        let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
        #expect(report.mended.count == 2)
        #expect(Damage.failing(directory).isEmpty)
    }

    @Test func whatIsNoLongerNeededIsGivenBack() throws {
        let directory = try Damage.filled(20_000)
        defer { Scratch.remove(directory) }
        func size() throws -> Int {
            try Data(contentsOf: URL(fileURLWithPath: directory + "/queue.sqlite")).count
        }
        do {
            let store = try Store.open(directory: directory)
            #expect(try StoreDoctor.shrink(store) == 0)
            try store.access { connection in
                try connection.run("DELETE FROM transfer WHERE id > 100")
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            }
            try store.close()
        }
        let before = try size()
        var store = try Store.open(directory: directory)
        let given = try StoreDoctor.shrink(store)
        try store.close()
        let after = try size()
        #expect(given > 4 << 20 && after + Int(given) <= before + 1 << 16, "\(before), \(after)")
        #expect(Damage.failing(directory).isEmpty)
        store = try Store.open(directory: directory)
        #expect(try store.counts().values.reduce(0, +) == 100)
        #expect(try StoreDoctor.shrink(store) == 0, "once")
        try store.close()
    }

    @Test func strayRowsAreFoundAndRemoved() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        let store = try Store.open(directory: directory)
        try store.access { connection in
            try connection.run(
                """
                INSERT INTO attempt (transferID, serial, startedAt, endedAt, url, bytes, outcome) \
                VALUES (99, 1, 0, 0, 'http://h/', 0, 'completed')
                """)
            try connection.run("UPDATE transfer SET fetchID = 77 WHERE id = 1")
            try connection.run("UPDATE tally SET n = n + 1 WHERE phase = 0")
        }
        try store.close()
        let finding = StoreDoctor.check(directory: directory).first { $0.check == "rows" }
        #expect(finding?.ok == false)
        #expect(finding?.detail.contains("1 attempts without a transfer") == true)
        #expect(finding?.detail.contains("1 transfers whose fetch is missing") == true)
        #expect(finding?.detail.contains("the counts are wrong") == true)
        _ = try StoreDoctor.repair(directory: directory, now: .start)
        #expect(Damage.failing(directory).isEmpty)
        let again = try Store.open(directory: directory)
        #expect(try again.transfer(TransferID(rawValue: 1), now: .start)?.state == .waiting)
    }

    @Test(arguments: [100, 4096, 16])
    func aStoreWithoutItsBeginningIsSavedWhole(bytes: Int) throws {
        let directory = try Damage.filled(500)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        try Damage.destroy(path, pages: [1], bytes: bytes)
        let damaged = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(
            try refusal { _ = try Store.open(directory: directory) }.message.contains("--repair"))
        let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
        #expect(report.movedTo == path + ".damaged-1")
        #expect(report.recovered["transfer"] == 500)
        #expect(report.lost == 0)
        #expect(report.transfersBefore == 500)
        // What was found stays as it was found.
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged-1")) == damaged)

        let store = try Store.open(directory: directory)
        #expect(try store.counts() == [.waiting: 498, .running: 1, .cancelled: 1])
        let begun = try #require(try store.transfer(TransferID(rawValue: 1), now: .start))
        #expect(begun.bytesDone == 99)
        #expect(try store.events(limit: 9).map(\.seq) == [1])
        #expect(try store.engineInfo().epoch.rawValue == 2)
        let outcome = try store.enqueue([.sample("/d/new")], now: .start)
        #expect(outcome == [.recorded(TransferID(rawValue: 501), destination: "/d/new")])
        #expect(Damage.failing(directory).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: directory + "/salvage"))
        #expect(FileStatus.of(path)?.permissions == 0o600)
    }

    @Test func whatTheLogHoldsIsSavedToo() throws {
        let directory = try Damage.filled(10)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        // Open, so that the log is not copied into the file.
        let open = try Store.open(directory: directory)
        _ = try open.enqueue([.sample("/d/late")], now: .start)
        try Damage.destroy(path, pages: [1], bytes: 100)
        let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
        #expect(report.recovered["transfer"] == 11)
        #expect(FileStatus.of(path + ".damaged-1-wal") != nil)
        #expect(open.hasBeenSuperseded())
        let store = try Store.open(directory: directory)
        #expect(try store.counts()[.waiting] == 9)
    }

    /// Whichever pages are destroyed, a repair leaves a sound store with no row that was not there
    /// and all those that the damage did not touch.
    @Test(arguments: [
        [5], [30], [31, 32], [60, 90, 120], Array(40...80), [2], [3, 4], [7], [7, 50],
    ])
    func destroyedPagesCostOnlyWhatIsOnThem(pages: [Int]) throws {
        let directory = try Damage.filled(2000)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        #expect(try Damage.pageCount(path) > 200)
        try Damage.destroy(path, pages: pages)
        let before = Damage.failing(directory)
        let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
        #expect(Damage.failing(directory).isEmpty)
        #expect(before.isEmpty == (report.movedTo == nil))
        let store = try Store.open(directory: directory)
        let count = try store.counts().values.reduce(0, +)
        // Ten transfers of this size share a page.
        #expect(count <= 2000)
        #expect(count >= 2000 - pages.count * 12, "pages \(pages): \(count) of 2000, \(report)")
        for transfer in try store.list(TransferFilter(limit: 2000), now: .start) {
            #expect(transfer.destination == "/d/\(transfer.id)")
        }
    }

    @Test func anEarlierDamagedFileIsNotOverwritten() throws {
        let directory = try Damage.filled(5)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        for number in 1...2 {
            try Damage.destroy(path, pages: [1], bytes: 100)
            let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
            #expect(report.movedTo == "\(path).damaged-\(number)")
            #expect(report.recovered["transfer"] == 5)
        }
        let leftovers = StoreDoctor.check(directory: directory).filter { $0.check == "leftovers" }
        #expect(leftovers.count == 2)
    }

    @Test func fullGarbageGivesAnEmptyStore() throws {
        let directory = try Scratch.directory()
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        try Data(repeating: 0x41, count: 50_000).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        let report = try #require(try StoreDoctor.repair(directory: directory, now: .start))
        #expect(report.movedTo == path + ".damaged-1")
        #expect(try Store.open(directory: directory).counts().isEmpty)
    }

    @Test func anothersFileIsNotRepaired() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        let store = try Store.open(directory: directory)
        try store.access { try $0.run("PRAGMA user_version=99") }
        try store.close()
        let error = try refusal { _ = try StoreDoctor.repair(directory: directory, now: .start) }
        #expect(error.message.contains("newer version"))
        #expect(FileStatus.of(directory + "/queue.sqlite.damaged-1") == nil)
    }

    @Test func aFileThatEndsEarlyIsSavedUpToThere() throws {
        let directory = try Damage.filled(2000)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        let pages = try Damage.pageCount(path)
        truncate(path, off_t(pages / 2 * 4096))
        _ = try StoreDoctor.repair(directory: directory, now: .start)
        #expect(Damage.failing(directory).isEmpty)
        let count = try Store.open(directory: directory).counts().values.reduce(0, +)
        #expect(count >= 800, "\(count) of 2000")
    }
}
