import CSQLite
import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

/// A repair beside others, one that is broken off, and what it takes for damage.
@Suite struct RepairTests {
    private func repair(_ directory: String) throws -> RepairReport {
        try #require(try Damage.repair(directory))
    }

    private func add(_ directory: String, _ destination: String = "/d/new") throws -> Int64 {
        let store = try Store.open(directory: directory)
        guard
            case .recorded(let id, _) = try store.wants.enqueue(
                [.sample(destination)], now: .start)[0]
        else { throw LonghaulError(.internal, "not recorded") }
        try store.close()
        return id.rawValue
    }

    private func count(_ directory: String) throws -> Int {
        try Store.open(directory: directory).transfers.counts().values.reduce(0, +)
    }

    // MARK: - Others

    @Test func whoHasTheOldFileOpenIsTold() throws {
        let directory = try Damage.filled(500)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        let open = try Store.open(directory: directory)
        // A page of an index: SQLite opens the file, and writes to it.
        let index: Int? = try open.access {
            try $0.value("SELECT rootpage FROM sqlite_master WHERE name = 'transferDeadline'")
        }
        try Damage.patch(directory + "/queue.sqlite", at: (try #require(index) - 1) * 4096, [0xA5])
        let report = try repair(directory)
        #expect(report.restored?.transfers == 500 && report.before?.transfer == 500)
        let attempts: [() throws -> Void] = [
            { _ = try open.wants.enqueue([.sample("/d/lost")], now: .start) },
            { _ = try open.dataVersion() },
            { _ = try open.transfers.counts() },
        ]
        for attempt in attempts {
            let error = try refusal(attempt)
            #expect(error.code == .storeUnavailable && error.retryable, "\(error)")
            #expect(error.message.contains("was repaired"))
        }
        #expect(try add(directory) == Limits.restoredNumbersSkipped + 501)
    }

    /// The report names the last transfer that the damaged file has got.
    @Test func nothingIsWrittenToAFileThatIsBeingReplaced() async throws {
        let directory = try Damage.filled(500)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        let open = try Store.open(directory: directory)
        let index: Int? = try open.access {
            try $0.value("SELECT rootpage FROM sqlite_master WHERE name = 'transferDeadline'")
        }
        try Damage.patch(directory + "/queue.sqlite", at: (try #require(index) - 1) * 4096, [0xA5])
        async let last = Task.detached {
            var last: Int64 = 500
            while case .recorded(let id, _)? = try? open.wants.enqueue(
                [.sample("/d/\(last)-more")], now: .start)[0]
            {
                last = id.rawValue
            }
            return last
        }.value
        let report = try repair(directory)
        #expect(await last == report.before?.transfer)
    }

    // MARK: - Broken off

    /// Where a kill may come: after so many of the steps.
    @Test(arguments: 0...4) func anotherRepairEndsWhatOneHasBegun(steps: Int) throws {
        let directory = try Damage.logged(30)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        try Damage.copy(directory)
        try Damage.patch(path, at: 0, [0, 0, 0, 0])
        let aside = path + ".damaged-1"
        let done: [() -> Void] = [
            { mkdir(directory + "/salvage", 0o700) },
            { rename(path, aside) },
            { rename(path + "-wal", aside + "-wal") },
            { rename(path + "-shm", aside + "-shm") },
        ]
        for step in done.prefix(steps) { step() }
        for mode in [OpenMode.create, .existing, .probe] {
            let error = try refusal { _ = try Store.open(directory: directory, mode: mode) }
            #expect(StoreFailure.isDamage(error), "\(mode): \(error)")
        }
        #expect(Damage.failing(directory) == ["store"])
        let report = try repair(directory)
        #expect(report.movedTo == aside)
        #expect(report.restored?.transfers == 30)
        #expect(FileStatus.of(aside + "-wal") != nil)
        #expect(FileStatus.of(directory + "/salvage") == nil)
        #expect(FileStatus.of(path + ".damaged-2") == nil)
        #expect(try add(directory) == Limits.restoredNumbersSkipped + 31)
    }

    @Test func aRepairThatFailsLeavesAllAsItWas() throws {
        let directory = try Damage.logged(5)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        try Damage.patch(path, at: 0, [0, 0, 0, 0])
        let fresh = directory + "/nowhere/queue.sqlite"
        #expect(throws: LonghaulError.self) {
            try FileSwap.swap(
                StoreLocation(directory: directory), fresh: fresh, aside: path + ".damaged-1")
        }
        #expect(FileStatus.of(path) != nil && FileStatus.of(path + "-wal") != nil)
        #expect(StoreLocation(directory: directory).firstFreeNumber == 1)
        #expect(try repair(directory).movedTo == path + ".damaged-1")
    }

    // MARK: - Headers

    /// Where the header says nonsense: version -1, a format of the schema that is none, no version.
    @Test(
        arguments: [
            (60, [0xFF, 0xFF, 0xFF, 0xFF]), (47, [5]), (60, [0, 0, 0, 0]),
        ] as [(Int, [UInt8])])
    func aHeaderThatMakesNoSenseIsDamage(at offset: Int, bytes: [UInt8]) throws {
        let directory = try Damage.filled(20)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        try Damage.patch(directory + "/queue.sqlite", at: offset, bytes)
        for mode in [OpenMode.create, .existing, .probe] {
            let error = try refusal { _ = try Store.open(directory: directory, mode: mode) }
            #expect(StoreFailure.isDamage(error), "\(mode): \(error)")
        }
        #expect(try repair(directory).restored?.transfers == 20)
        #expect(try add(directory) == Limits.restoredNumbersSkipped + 21)
    }

    @Test func aVersionThatMakesNoSenseInTheLogIsDamage() throws {
        let scratch = try ScratchStore()
        try scratch.add("/d/1")
        try Damage.copy(scratch.directory)
        try scratch.store.access { try $0.run("PRAGMA user_version=-1") }
        let error = try refusal { _ = try Store.open(directory: scratch.directory) }
        #expect(StoreFailure.isDamage(error), "\(error)")
        #expect(try repair(scratch.directory).restored?.transfers == 1)
    }

    // MARK: - A log alone

    @Test(arguments: [true, false]) func aLogWithoutItsFileIsDamage(isThere: Bool) throws {
        let directory = try Damage.logged(40)
        defer { Scratch.remove(directory) }
        try Damage.copy(directory)
        let path = directory + "/queue.sqlite"
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        if isThere { truncate(path, 0) } else { unlink(path) }
        for mode in [OpenMode.create, .existing, .probe] {
            let error = try refusal { _ = try Store.open(directory: directory, mode: mode) }
            #expect(StoreFailure.isDamage(error), "\(mode): \(error)")
        }
        #expect(Damage.failing(directory) == ["store"])
        #expect(try repair(directory).restored?.transfers == 40)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged-1-wal")) == log)
        #expect(Damage.failing(directory).isEmpty)
    }

    @Test func theClockOfTheNewestRecordIsKnown() throws {
        let scratch = try ScratchStore()
        #expect(StoreDoctor.newest(directory: scratch.directory) == nil)
        try scratch.add("/d/1")
        #expect(StoreDoctor.newest(directory: scratch.directory) == .start)
    }

    // MARK: - Modes and links

    @Test func whatItsOwnerMayNotWriteIsNamedAndCorrected() throws {
        let directory = try Damage.logged(3)
        defer { Scratch.remove(directory) }
        for name in ["queue.sqlite", "queue.sqlite-wal", "engine.lock", "open.lock"] {
            let path = "\(directory)/\(name)"
            if FileStatus.of(path) == nil { try StoreDirectory.createFile(path) }
            chmod(path, 0o400)
            let error = try #require(StoreDirectory.closedToOwner(path))
            #expect(error.message.contains("\(name) ") && error.message.contains("--repair"))
        }
        #expect(try repair(directory).mended.count == 4)
        #expect(
            StoreLocation(directory: directory).files.allSatisfy {
                FileStatus.of($0).map { $0.permissions == 0o600 } ?? true
            })
    }

    @Test func aFileOfTheWrongKindIsNamed() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        mkdir(directory + "/queue.sqlite-shm", 0o700)
        let finding = StoreDoctor.check(directory: directory).first { $0.check == "store" }
        #expect(finding?.ok == false)
        #expect(finding?.detail.contains("queue.sqlite-shm is not a regular file") == true)
        let error = try refusal { _ = try add(directory) }
        #expect(error.message.contains("queue.sqlite-shm is not a regular file"))
    }

    @Test func whatALinkPointsAtIsLeftAlone() throws {
        let directory = try Damage.filled(3)
        defer { Scratch.remove(directory) }
        let path = directory + "/queue.sqlite"
        rename(path, directory + "/victim")
        chmod(directory + "/victim", 0o666)
        symlink(directory + "/victim", path)
        #expect(throws: LonghaulError.self) { try repair(directory) }
        #expect(FileStatus.of(directory + "/victim")?.permissions == 0o666)
    }
}
