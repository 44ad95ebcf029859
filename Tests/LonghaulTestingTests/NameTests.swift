import Foundation
import Longhaul
import LonghaulTesting
import Testing

/// Networks and file systems of a simulated world by their names.
@Suite(.timeLimit(.minutes(60))) struct NameTests {
    private let world: SimulatedWorld
    private let scheduler: BackgroundTaskScheduler
    private let events = Box<[TriggerEvent]>([])
    private static let host = HostProgram(
        identifier: "com.example.backup", command: ["/usr/local/bin/backup"],
        permittedTaskIdentifiers: ["save"])

    init() async throws {
        world = try await SimulatedWorld(startingAt: Date(timeIntervalSince1970: 1_790_000_000))
        scheduler = try await BackgroundTaskScheduler(
            host: Self.host, store: world.configuration.store)
        world.setProgram(ofHost: Self.host.identifier) { [events] in
            var host = BackgroundHost(identifier: Self.host.identifier)
            host.backgroundTask(.appRefresh("save")) { task in
                events.value += task.triggerEvents
            }
            _ = try await host.runIfLaunched()
        }
    }

    @Test func triggersFireByName() async throws {
        defer { world.end() }
        world.conditions.networkNames = ["work"]
        try await scheduler.submit(
            TriggerRequest(identifier: "save", on: [.mount("backup"), .network("home")]))
        try await world.advance(by: 600)
        world.conditions.mounted = MountedFileSystems(["other": "/media/other"])
        world.conditions.networkNames = ["hotspot"]
        try await world.advance(by: 600)
        #expect(world.launches.isEmpty)
        world.conditions.mounted = MountedFileSystems(["backup": "/media/backup"])
        try await world.advance(by: 600)
        #expect(events.value == [TriggerEvent(.mount("backup"), path: "/media/backup")])
        world.conditions.networkNames = ["home"]
        try await world.advance(by: 600)
        #expect(events.value.dropFirst() == [TriggerEvent(.network("home"))])
        #expect(world.launches.count == 2)
        // What is there already does not fire again.
        try await world.advance(by: 86_400)
        #expect(world.launches.count == 2)
    }

    @Test func aTaskWaitsForItsNames() async throws {
        defer { world.end() }
        var request = AppRefreshTaskRequest(identifier: "save")
        request.requiredNetworks = ["home", "office"]
        request.requiredMounts = ["backup"]
        try await scheduler.submit(request)
        world.conditions.networkNames = ["hotspot"]
        world.conditions.mounted = MountedFileSystems(["backup": "/media/backup"])
        try await world.advance(by: 600)
        world.conditions.networkNames = ["office"]
        world.conditions.network = .offline
        try await world.advance(by: 600)
        world.conditions.network = .unmetered
        world.conditions.mounted = MountedFileSystems()
        try await world.advance(by: 600)
        #expect(world.launches.isEmpty)
        world.conditions.mounted = MountedFileSystems(["backup": "/media/backup"])
        try await world.advance(by: 600)
        #expect(world.launches.map(\.tasks) == [["save"]])
    }

    @Test func anExcludedNetworkHoldsATransferBack() async throws {
        let url = URL(string: "https://example.com/film.bin")!
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        world.network.serve(url, Data(count: 1000))
        world.conditions.networkNames = ["hotspot"]
        var request = TransferRequest(url: url)
        request.schedule.requires.networks = ["!hotspot"]
        let session = try await BackgroundSession(
            identifier: "films", configuration: world.configuration)
        let task = try await session.download(request, to: file)
        try await world.advance(by: 600)
        #expect(try await task.explanation.waitingFor.map(\.current) == ["hotspot"])
        world.conditions.networkNames = []
        try await world.advance(by: 60)
        _ = try await task.value
    }
}
