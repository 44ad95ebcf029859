import FoundationEssentials
import Glibc
import Longhaul

/// Follows podcasts and other feeds, and need not run meanwhile:
///
///     feedreader subscribe DIRECTORY URL…  follows feeds
///     feedreader list DIRECTORY            shows what has been published
///     feedreader --background DIRECTORY    started by Longhaul
///
/// Longhaul launches it to refresh the feeds every 15 minutes, to forget old episodes once a week
/// while there is external power, and when files have arrived.
@main struct FeedReader {
    static let host = "com.example.feedreader"
    static let session = "com.example.feedreader.enclosures"

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { exit(64) }
        let directory = URL(fileURLWithPath: arguments[2], isDirectory: true).absoluteURL
        let database = FeedDatabase(directory: directory)

        var host = BackgroundHost(identifier: host)
        host.backgroundTask(.appRefresh("refresh")) { _ in
            let session = try await openSession()
            let count = try await refresh(database, session)
            try await session.invalidate()
            if count == 0 { throw BackgroundTask.NoData() }
        }
        host.backgroundTask(.processing("clean")) { task in
            try await clean(database, keep: Int(task.payload?["keep"]?.integer ?? 100), task)
        }
        host.backgroundTask(.urlSession(session)) { _, events in
            try await collect(events, database)
        }
        if try await host.runIfLaunched() { return }

        switch arguments[1] {
        case "subscribe":
            try await database.subscribe(Array(arguments.dropFirst(3)))
            try await schedule(
                BackgroundTaskScheduler(
                    host: Host(
                        identifier: self.host,
                        command: [try program(), "--background", directory.path],
                        permittedTaskIdentifiers: ["refresh", "clean"])))
        case "list":
            for episode in try await database.contents().episodes {
                puts("\(episode.file ?? "-") \(episode.title)")
            }
        default: exit(64)
        }
    }

    /// Asks for the launches. To ask again changes nothing: what repeats goes on with its interval.
    static func schedule(_ scheduler: BackgroundTaskScheduler) async throws {
        var refresh = AppRefreshTaskRequest(identifier: "refresh")
        refresh.repeats = .every(15 * 60)
        refresh.requiresNetworkConnectivity = true
        try await scheduler.submit(refresh)
        var clean = ProcessingTaskRequest(identifier: "clean")
        clean.repeats = .every(7 * 86_400, tolerance: 86_400)
        clean.requiresExternalPower = true
        clean.payload = .object(["keep": 100])
        try await scheduler.submit(clean)
    }

    /// Fetches all feeds, and asks for the files of new episodes when the machine has
    /// time for them.
    ///
    /// - Returns: How many episodes are new.
    static func refresh(_ database: FeedDatabase, _ session: BackgroundSession) async throws -> Int
    {
        var count = 0
        for feed in try await database.contents().feeds {
            guard let url = URL(string: feed) else { continue }
            let (text, _) = try await session.data(for: TransferRequest(url: url))
            count += try await database.add(FeedParser.episodes(in: text), of: feed)
        }
        // After a crash between the two an episode is asked for again, which joins its download.
        for episode in try await database.contents().episodes where !episode.isAskedFor {
            if let enclosure = URL(string: episode.enclosure) {
                var request = TransferRequest(url: enclosure)
                request.isDiscretionary = true
                request.options.ifExists = .rename
                _ = try await session.download(
                    request, to: database.enclosures.appending(path: enclosure.lastPathComponent))
            }
            try await database.setAskedFor(episode)
        }
        return count
    }

    /// Notes the files that have arrived. Once more does no harm.
    static func collect(_ events: [SessionEvent], _ database: FeedDatabase) async throws {
        for event in events where event.kind == .transferCompleted {
            guard let file = event.file, let transfer = event.transfer else { continue }
            try await database.setFile(file.lastPathComponent, ofEnclosure: transfer.url)
        }
    }

    /// Forgets all but so many episodes, one by one until the task is to stop.
    static func clean(_ database: FeedDatabase, keep: Int, _ task: BackgroundTask?) async throws {
        while let old = try await database.oldest(beyond: keep) {
            if let task, task.remainingTime < 5 { throw BackgroundTask.Deferred() }
            try Task.checkCancellation()
            try await database.remove(old)
        }
    }

    /// In a launch: the engine that has launched the program carries the requests out.
    static func openSession() async throws -> BackgroundSession {
        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        configuration.store = BackgroundLaunch.current?.store
        configuration.host = Host(
            identifier: host, command: try [program(), "--background", CommandLine.arguments[2]])
        return try await BackgroundSession(identifier: session, configuration: configuration)
    }

    /// The path of this program.
    static func program() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
