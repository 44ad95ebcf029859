import Foundation
import Longhaul
import LonghaulTesting
import Testing

@testable import feedreader

/// The sample through a week.
@Suite(.timeLimit(.minutes(60))) struct FeedReaderTests {
    @Test func aWeekOfAFeedReader() async throws {
        let home = FileManager.default.temporaryDirectory.appending(
            path: "week-\(UUID().uuidString)", directoryHint: .isDirectory)
        defer { try? FileManager.default.removeItem(at: home) }
        // A Monday, 06:00.
        let start = Date(timeIntervalSince1970: 1_790_575_200)
        let world = try await SimulatedWorld(startingAt: start)
        let reader = BackgroundReader(
            database: FeedDatabase(directory: home), command: ["/usr/bin/feedreader"], kept: 5)
        world.setProgram(ofHost: BackgroundReader.host) {
            let wasLaunched = try await reader.program().runIfLaunched()
            #expect(wasLaunched)
        }
        let feed = URL(string: "https://example.com/feed.xml")!
        try await reader.database.subscribe([feed.absoluteString])
        try await reader.schedule(store: world.configuration.store)

        var episodes: [String] = []
        for day in 0..<7 {
            // On the way with the battery and a metered network in the day, at home at night.
            episodes.append("episode-\(day)")
            let enclosure = URL(string: "https://example.com/episode-\(day).mp3")!
            world.network.serve(enclosure, Data(count: 2_000_000 + day), entityTag: "e\(day)")
            let items = episodes.reversed().map {
                "<item><title>\($0)</title><guid>\($0)</guid>"
                    + "<enclosure url=\"https://example.com/\($0).mp3\"/></item>"
            }
            world.network.serve(feed, Data("<rss>\(items.joined())</rss>".utf8))
            world.conditions.power = .battery(percent: 60)
            world.conditions.network = .metered
            world.conditions.isIdle = false
            try await world.advance(by: 12 * 3600)
            if day == 3 { try await world.crashEngine() }
            let stored = try await reader.database.contents().episodes.filter { $0.file != nil }
            #expect(stored.count <= max(5, day))
            world.conditions.power = .external
            world.conditions.network = .unmetered
            world.conditions.isIdle = true
            try await world.advance(by: 12 * 3600)
        }

        let contents = try await reader.database.contents()
        #expect(contents.episodes.map(\.title) == episodes)
        // Each was fetched once, at night, when power and network cost nothing.
        for episode in episodes {
            let requests = world.requests.filter { $0.url.lastPathComponent == "\(episode).mp3" }
            #expect(requests.count == 1)
            let hour = requests.first.map { Int($0.date.timeIntervalSince(start) / 3600) % 24 }
            #expect(hour.map { $0 >= 12 } ?? false)
        }
        let refreshes = world.launches.filter { $0.tasks.contains("refresh") }
        // A week has 672 quarter hours; a feed without news is asked every hour.
        #expect((160...260).contains(refreshes.count))
        let cleanings = world.launches.filter { $0.tasks.contains("clean") }
        #expect((1...2).contains(cleanings.count))
        #expect(world.launches.allSatisfy { $0.exitStatus == 0 || $0.end == nil })
    }

    /// The program runs for two days, and is launched on the third.
    @Test func aFeedReaderThatStays() async throws {
        let home = FileManager.default.temporaryDirectory.appending(
            path: "stay-\(UUID().uuidString)", directoryHint: .isDirectory)
        defer { try? FileManager.default.removeItem(at: home) }
        let world = try await SimulatedWorld(startingAt: Date(timeIntervalSince1970: 1_790_575_200))
        let reader = BackgroundReader(
            database: FeedDatabase(directory: home), command: ["/usr/bin/feedreader"])
        let feed = URL(string: "https://example.com/feed.xml")!
        let enclosure = URL(string: "https://example.com/1.mp3")!
        world.network.serve(enclosure, Data(count: 1_000))
        world.network.serve(
            feed,
            Data(
                "<item><title>1</title><guid>1</guid><enclosure url=\"\(enclosure)\"/></item>".utf8)
        )
        world.conditions.power = .external
        world.conditions.network = .unmetered
        world.conditions.isIdle = true
        let store = world.configuration.store
        try await reader.database.subscribe([feed.absoluteString])
        try await reader.schedule(store: store)
        let scheduler = try await BackgroundTaskScheduler(
            host: HostProgram(identifier: BackgroundReader.host, command: reader.command),
            store: store)
        let stay = Task { try await reader.program(store: store).run() }
        // The world goes on as far as it can; the program has to be there.
        while world.launches.isEmpty {
            try await Task.sleep(for: .milliseconds(5))
            try await world.advance(by: 1)
        }
        try await world.advance(by: 86_400)
        try await scheduler.wake(host: BackgroundReader.host, identifier: "published")
        try await world.advance(by: 86_400)
        let resident = world.launches
        #expect(resident.count > 2)
        #expect(resident.allSatisfy { $0.exitStatus == 0 }, "\(resident)")
        #expect(resident.contains { $0.reason == .wake })
        #expect(resident.contains { $0.session == BackgroundReader.session })
        #expect(try await reader.database.contents().episodes.map(\.file) == ["1.mp3"])

        stay.cancel()
        try await stay.value
        world.setProgram(ofHost: BackgroundReader.host) {
            let wasLaunched = try await reader.program().runIfLaunched()
            #expect(wasLaunched)
        }
        try await world.advance(by: 86_400)
        #expect(world.launches.count > resident.count)
        #expect(world.launches.allSatisfy { $0.exitStatus == 0 })
        world.end()
    }
}
