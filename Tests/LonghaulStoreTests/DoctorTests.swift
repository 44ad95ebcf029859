import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct DoctorTests {
    @Test func nothingIsWrongWithASoundStore() throws {
        let directory = try Damage.filled(10)
        defer { Scratch.remove(directory) }
        #expect(Damage.failing(directory).isEmpty)
        let report = try #require(try Damage.repair(directory))
        #expect(report == RepairReport())
    }

    @Test func thereIsNothingToRepairWithoutAStore() throws {
        let directory = try Scratch.directory()
        defer { Scratch.remove(directory) }
        #expect(Damage.failing(directory).isEmpty)
        #expect(try Damage.repair(directory) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }

    @Test func modesAreCorrected() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        chmod(directory, 0o777)
        chmod(directory + "/queue.sqlite", 0o666)
        #expect(Damage.failing(directory) == ["directory", "store"])
        let report = try #require(try Damage.repair(directory))
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
        #expect(try store.transfers.counts().values.reduce(0, +) == 100)
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
        _ = try Damage.repair(directory)
        #expect(Damage.failing(directory).isEmpty)
        let again = try Store.open(directory: directory)
        #expect(try again.transfers.find(TransferID(rawValue: 1), now: .start)?.state == .waiting)
    }

    @Test func anEarlierDamagedFileIsNotOverwritten() throws {
        let directory = try Damage.filled(5)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        try Damage.copy(directory)
        for number in 1...2 {
            try Damage.destroy(path, pages: [1], bytes: 100)
            let report = try #require(try Damage.repair(directory))
            #expect(report.movedTo == "\(path).damaged-\(number)")
            #expect(report.restored?.transfers == 5)
        }
        let leftovers = StoreDoctor.check(directory: directory).filter { $0.check == "leftovers" }
        #expect(leftovers.count == 2)
    }

    @Test func withoutACopyTheStoreIsEmptyAndThatIsSaid() throws {
        let directory = try Scratch.directory()
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        try Data(repeating: 0x41, count: 50_000).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        let report = try #require(try Damage.repair(directory))
        #expect(report.movedTo == path + ".damaged-1")
        #expect(report.isTotalLoss)
        let store = try Store.open(directory: directory)
        #expect(try store.transfers.counts().isEmpty)
        // How many the damaged file had given nobody knows.
        let outcome = try store.wants.enqueue([.sample("/d/1")], now: .start)
        let next = TransferID(rawValue: Limits.restoredNumbersSkipped + 1)
        #expect(outcome == [.recorded(next, destination: "/d/1")])
    }

    @Test func anothersFileIsNotRepaired() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        let store = try Store.open(directory: directory)
        try store.access { try $0.run("PRAGMA user_version=99") }
        try store.close()
        let error = try refusal { _ = try Damage.repair(directory) }
        #expect(error.message.contains("newer version"))
        #expect(FileStatus.of(directory + "/queue.sqlite.damaged-1") == nil)
    }
}
