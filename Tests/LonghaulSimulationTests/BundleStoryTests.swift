import Longhaul
import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

@testable import LonghaulSimulation

/// Stories of bundles that the simulation's lives have told: one small file and a large one, on a
/// good server.
@Suite(.timeLimit(.minutes(60))) struct BundleStoryTests {
    @Test func aFileThatIsDeletedMeanwhileComesAgain() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let bundles = try begun(.plain, in: world)
        let small = "\(bundles.all[0].directory)/\(bundles.all[0].files[0].path)"
        world.disk.names[small] = nil
        world.disk.durableNames[small] = nil
        try world.settleBundles("deleted") { $0.phase == .idle }
        #expect(bundles.all[0].ready != nil)
        #expect(world.disk.durableNames[small] != nil)
    }

    @Test func aNewerVersionInTheMiddleUsesWhatIsThere() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let bundles = try begun(.versions, in: world)
        let old = try #require(bundles.all[0].versions.keys.first)
        var asked: [String] = []
        world.wire.onQueue = { asked.append($0.url) }
        let large = bundles.all[0].files[1].url
        world.wire.contents[large]?.change(label: 77, size: 3_000, grows: false)
        bundles.all[0].files[1].digest = SimDisk.checksum(of: SimBytes(label: 77, count: 3_000))
        world.publish(&bundles.all[0])
        try bundles.client.check("b0")
        try world.settleBundles("newer") { $0.phase == .idle }
        let ready = try #require(bundles.all[0].ready?.name)
        #expect(ready != old && world.wrongFiles(of: bundles.all[0], ready).isEmpty)
        #expect(!asked.contains(bundles.all[0].files[0].url))
        #expect(!world.disk.names.keys.contains { $0.contains(old) })
    }

    @Test func aRemovalWaitsForTheTransfers() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let bundles = try begun(.plain, in: world)
        try bundles.client.cancel("b0")
        #expect(try !bundles.client.removeIfEnded("b0", keepingFiles: false))
        bundles.all[0].removal = false
        try world.settleBundles("removal") { _ in
            // Complains of transfers that are left.
            if bundles.all[0].removal != nil { try world.removeBundle(0) }
            return bundles.all[0].removal == nil
        }
        #expect(!world.disk.names.keys.contains { $0.hasPrefix(bundles.all[0].directory) })
    }

    @Test func theAnswerToACheckGoesWithItsBundle() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let bundles = try world.makeStory(.plain)
        try bundles.run()
        world.inputs.append(.wake)
        let list = { world.disk.names.keys.contains { $0.contains("/state/bundles/") } }
        try world.run(for: 60) { list() && world.disk.orders.isEmpty && !world.hasNews }
        #expect(list())
        bundles.engineStarts()
        try bundles.client.cancel("b0")
        bundles.settled = []
        try world.settleBundles("removed") { _ in
            try bundles.client.removeIfEnded("b0", keepingFiles: false)
        }
        #expect(!list())
        let query = ListQuery(
            states: Set(TransferState.allCases), session: "bundle:b0", limit: .max)
        #expect(try world.clients.transfers.list(query, now: world.now.wall).isEmpty)
    }

    @Test func verifyCountsFailedFiles() throws {
        let world = try SimWorld(seed: 1)
        defer { world.cleanUp() }
        let bundles = try begun(.plain, in: world)
        world.wire.contents[bundles.all[0].files[1].url]?.refusal = 404
        try bundles.client.cancel("b0")
        _ = try bundles.client.want("b0", latest: false)
        try world.settleBundles("failed") { $0.phase == .idle && $0.error != nil }
        try world.verifyBundle(0, repair: false)
        // Compares the counts of the version with its files.
        try world.checkBundles()
        #expect(try world.clients.bundles.find("b0").target?.failed == 0)
    }

    /// The small file is there, and the large one is on its way.
    private func begun(
        _ layout: BundleLayoutKind, in world: SimWorld
    ) throws -> SimBundles {
        let bundles = try world.makeStory(layout)
        try world.settleBundles("the small file") { $0.target?.complete == 1 }
        return bundles
    }
}
