import Foundation
import LonghaulCore
import LonghaulTestValues
import Testing

@testable import LonghaulStore

/// Stores of earlier versions are migrated; a version that only these tests know is the next one.
@Suite struct MigrationTests {
    static let next = Migration(
        versions: Migration.released.versions + [
            [
                "ALTER TABLE transfer ADD COLUMN mark INTEGER NOT NULL DEFAULT 7",
                "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
                "INSERT INTO note SELECT id, coalesce(destination, source) FROM transfer",
            ]
        ])
    private static var newest: Int { next.latest }

    private func open(
        _ directory: String, _ mode: OpenMode = .existing, _ schema: Migration = next
    ) throws -> Store {
        try Store.open(directory: directory, mode: mode, schema: schema)
    }

    /// A store of this version with some transfers, closed.
    private func made(_ count: Int = 3) throws -> ScratchStore {
        let scratch = try ScratchStore()
        for number in 1...count { try scratch.add("/d/\(number)") }
        try scratch.store.close()
        return scratch
    }

    private func notes(_ store: Store) throws -> [String] {
        try store.access { try $0.values("SELECT text FROM note ORDER BY id") }
    }

    /// The destinations in a file, read without this project's openers.
    private func destinations(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, readOnly: true)
        let found: [String] = try connection.values("SELECT destination FROM transfer ORDER BY id")
        try connection.close()
        return found
    }

    private func header(_ location: StoreLocation) throws -> Int? {
        guard case .sqlite(let header) = try FileHeader.read(location.database) else { return nil }
        return header.userVersion
    }

    // MARK: - Forward

    @Test func aStoreIsMigratedAndTheCopyIsOfTheVersionBefore() throws {
        let scratch = try made()
        let store = try open(scratch.directory)
        #expect(try store.version() == Self.newest)
        #expect(try notes(store) == ["/d/1", "/d/2", "/d/3"])
        try store.close()
        #expect(try header(scratch.location) == Self.newest)
        let copy = try Connection(path: scratch.location.copy(1), readOnly: true)
        #expect(try copy.userVersion() == Migration.released.latest)
        try copy.close()
        #expect(try destinations(scratch.location.copy(1)) == ["/d/1", "/d/2", "/d/3"])
    }

    @Test func aStatementThatFailsLeavesTheStoreAsItWas() throws {
        let scratch = try made()
        var broken = Self.next
        broken.versions[Migration.released.latest].append("INSERT INTO nothing VALUES (1)")
        #expect(throws: LonghaulError.self) { try open(scratch.directory, .existing, broken) }
        let store = try Store.open(directory: scratch.directory)
        defer { try? store.close() }
        #expect(try store.version() == Migration.released.latest)
        #expect(try store.transfers.counts().values.reduce(0, +) == 3)
    }

    /// A process is killed at each step of a migration of the released store: a later one finds the
    /// old store or the new one, whole.
    @Test(arguments: MigrationStep.allCases)
    func aKilledProcessLeavesTheOldStoreOrTheNewOne(at step: MigrationStep) throws {
        let directory = try released()
        defer { Scratch.remove(directory) }
        let counts = try countsOfAll(directory)
        let process = Process()
        process.executableURL = try URL(
            fileURLWithPath: FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/exe"))
        process.arguments = [
            "--testing-library", "swift-testing", "--filter", "MigratingProcess",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([
            MigratingProcess.directory: directory, MigratingProcess.step: step.rawValue,
        ]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal)
        #expect(process.terminationStatus == SIGKILL)
        let probe = try Connection(path: directory + "/queue.sqlite")
        let version = try probe.userVersion()
        try probe.close()
        #expect(version == (step.isNew ? Self.newest : 1))
        let store = try open(directory)
        #expect(try store.version() == Self.newest)
        #expect(try notes(store).count == counts.values.reduce(0, +))
        #expect(try store.transfers.counts() == counts)
        #expect(try store.faults(limit: 1).isEmpty)
        #expect(try store.stray().isEmpty)
        try store.close()
        #expect(try header(StoreLocation(directory: directory)) == Self.newest)
    }

    /// In the store of the release, which is not migrated by it.
    private func countsOfAll(_ directory: String) throws -> [TransferState: Int] {
        let first = Migration(versions: [Version1.statements])
        let store = try open(directory, .existing, first)
        defer { try? store.close() }
        return try store.transfers.counts()
    }

    @Test func manyOpenersMigrateOnce() async throws {
        let scratch = try made()
        let directory = scratch.directory
        defer { withExtendedLifetime(scratch) {} }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let store = try Store.open(
                        directory: directory, mode: .existing, schema: Self.next)
                    return try store.version()
                }
            }
            for try await version in group { #expect(version == Self.newest) }
        }
    }

    // MARK: - An older program beside it

    /// An engine and a client of the version before have the store open.
    @Test func anOlderProgramWritesNothingAnyMore() throws {
        let scratch = try ScratchStore()
        let id = try scratch.add("/d/1")
        let epoch = try scratch.lead()
        let store = try open(scratch.directory)
        defer { try? store.close() }
        #expect(scratch.store.newerVersion() == Self.newest)
        let ofEngine = try refusal { try scratch.turn(epoch) { try $0.setNextWake(.start) } }
        #expect(StoreFailure.isNewer(ofEngine), "\(ofEngine)")
        let ofClient = try refusal { try scratch.add("/d/2") }
        #expect(StoreFailure.isNewer(ofClient), "\(ofClient)")
        // Reads go on.
        #expect(try scratch.state(id) == .waiting)
        #expect(try destinations(scratch.location.database) == ["/d/1"])
    }

    // MARK: - A newer store

    @Test func aNewerStoreIsReadAndNotWritten() throws {
        let scratch = try made()
        try open(scratch.directory).close()
        let path = scratch.location.database
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = try refusal { _ = try Store.open(directory: scratch.directory) }
        for part in ["version is \(Self.newest)", LonghaulVersion.current, "use the newer"] {
            #expect(error.message.contains(part), "\(error.message)")
        }
        let store = try Store.openToShow(directory: scratch.directory)
        #expect(store.newerVersion() == Self.newest)
        #expect(try store.transfers.counts().values.reduce(0, +) == 3)
        let first = TransferID(rawValue: 1)
        #expect(throws: LonghaulError.self) { try store.wants.change(.ids([first]), to: .pause) }
        try store.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func aColumnThatANewerVersionTookAwayIsSaid() throws {
        let scratch = try made()
        var schema = Self.next
        schema.versions[Migration.released.latest].append(
            "ALTER TABLE transfer RENAME COLUMN destination TO target")
        try open(scratch.directory, .existing, schema).close()
        let store = try Store.openToShow(directory: scratch.directory)
        defer { try? store.close() }
        let first = TransferID(rawValue: 1)
        let error = try refusal { _ = try store.transfers.find(first, now: .start) }
        #expect(StoreFailure.isNewer(error), "\(error)")
    }

    @Test func aStoreThatIsNotNewerIsOpenedAsEver() throws {
        let scratch = try made()
        let store = try Store.openToShow(directory: scratch.directory)
        defer { try? store.close() }
        #expect(store.newerVersion() == nil && store.mode == .create)
    }

    // MARK: - The released store

    private func released() throws -> String {
        let directory = try Scratch.directory()
        try FileManager.default.copyItem(
            atPath: Fixture.path("stores/0.2.0.sqlite"), toPath: directory + "/queue.sqlite")
        chmod(directory + "/queue.sqlite", 0o600)
        return directory
    }

    private func schema(_ directory: String) throws -> [String] {
        let connection = try Connection(path: directory + "/queue.sqlite", readOnly: true)
        defer { try? connection.close() }
        return try connection.values(
            "SELECT coalesce(sql, name) FROM sqlite_master ORDER BY type, name")
    }

    /// Version 1 is frozen: a store that is made today has the tables of the release.
    @Test func theFirstVersionIsWhatWasReleased() throws {
        let directory = try released()
        let fresh = try Scratch.directory()
        defer { [directory, fresh].forEach { Scratch.remove($0) } }
        let first = Migration(versions: [Version1.statements])
        try Store.open(directory: fresh, mode: .create, schema: first).close()
        #expect(try schema(directory) == schema(fresh))
    }

    @Test(arguments: [Migration.released, next].map(\.latest))
    func theReleasedStoreIsOpened(version: Int) throws {
        let directory = try released()
        defer { Scratch.remove(directory) }
        let schema = version == Self.newest ? Self.next : .released
        let store = try open(directory, .existing, schema)
        defer { try? store.close() }
        #expect(try store.version() == version)
        #expect(try store.faults(limit: 1).isEmpty)
        #expect(try store.stray().isEmpty)
        let counts = try store.transfers.counts()
        for state in [TransferState.waiting, .paused, .completed, .failed, .cancelled] {
            #expect(counts[state, default: 0] > 0, "\(state)")
        }
        for table in ["event", "attempt", "host", "task", "taskRun", "fetch", "session"] {
            let count: Int? = try store.access {
                try $0.value("SELECT count(*) FROM \(table)")
            }
            #expect(count ?? 0 > 0, "\(table)")
        }
    }
}

/// The steps of the migration to the version that only these tests know.
enum MigrationStep: String, CaseIterable {
    case copy, statement, version, commit, checkpoint

    /// The new version is there when it has been taken.
    var isNew: Bool { self == .commit || self == .checkpoint }
}

/// What the process does that is started to be killed while it migrates.
@Suite struct MigratingProcess {
    static let directory = "LONGHAUL_TEST_MIGRATE"
    static let step = "LONGHAUL_TEST_MIGRATE_STEP"
    private static let environment = ProcessInfo.processInfo.environment

    @Test(.enabled(if: environment[directory] != nil, "runs in a process of its own"))
    func isKilled() throws {
        let directory = try #require(Self.environment[Self.directory])
        let last = Self.environment[Self.step]
        var schema = MigrationTests.next
        schema.afterStep = { step in
            if step == last { kill(getpid(), SIGKILL) }
        }
        _ = try Store.open(directory: directory, mode: .existing, schema: schema)
    }
}
