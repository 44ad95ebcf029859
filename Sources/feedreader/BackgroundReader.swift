import FoundationEssentials
import Longhaul

/// Background work of the feed reader. Longhaul launches it to refresh the feeds every 15 minutes,
/// to forget old episodes once a week while there is external power, and when files have arrived.
/// While the reader runs by itself, its process gets the same work.
struct BackgroundReader: Sendable {
    static let host = "com.example.feedreader"
    static let session = "com.example.feedreader.enclosures"

    let database: FeedDatabase
    /// The command that starts the program.
    let command: [String]
    /// Number of episodes that keep their files.
    var kept: Int64 = 100

    /// The program's work when launched.
    ///
    /// - Parameter store: The state directory of the queue; `nil` = the user's.
    func program(store: String? = nil) -> BackgroundHost {
        var host = BackgroundHost(identifier: Self.host, store: store)
        host.backgroundTask(.appRefresh("refresh")) { _ in
            if try await refresh() == 0 { throw BackgroundTask.NoData() }
        }
        // Another program knows that there is something new.
        host.backgroundTask(.wakeUp("published")) { _ in
            _ = try await refresh()
        }
        host.backgroundTask(.processing("clean")) { task in
            try await clean(keep: Int(task.payload?["keep"]?.integer ?? 100), task)
        }
        host.backgroundTask(.urlSession(Self.session)) { _, events in
            try await collect(events)
        }
        return host
    }

    /// Asks for the launches. Asking again changes nothing: a repeating request continues its
    /// interval.
    ///
    /// - Parameter store: The state directory of the queue; `nil` = the user's.
    func schedule(store: String? = nil) async throws {
        let scheduler = try await BackgroundTaskScheduler(
            host: HostProgram(
                identifier: Self.host, command: command,
                permittedTaskIdentifiers: ["refresh", "clean"]), store: store)
        var refresh = AppRefreshTaskRequest(identifier: "refresh")
        refresh.repeats = .every(15 * 60)
        refresh.requiresNetworkConnectivity = true
        try await scheduler.submit(refresh)
        var clean = ProcessingTaskRequest(identifier: "clean")
        clean.repeats = .every(7 * 86_400, tolerance: 86_400)
        clean.requiresExternalPower = true
        clean.payload = .object(["keep": .integer(kept)])
        try await scheduler.submit(clean)
    }

    /// Fetches all feeds, and asks for the files of new episodes when the machine has
    /// time for them.
    ///
    /// - Returns: How many episodes are new.
    private func refresh() async throws -> Int {
        let session = try await openSession()
        var count = 0
        for feed in try await database.contents().feeds {
            guard let url = URL(string: feed) else { continue }
            let (text, _) = try await session.data(for: TransferRequest(url: url))
            count += try await database.add(FeedParser.episodes(in: text), of: feed)
        }
        // After a crash between the two an episode is asked for again, which joins its download.
        let fresh = try await database.contents().episodes.filter { !$0.isAskedFor }
        _ = try await session.download(fresh.compactMap(request))
        try await database.setAskedFor(fresh)
        try await session.invalidate()
        return count
    }

    private func request(_ episode: FeedDatabase.Episode) -> (request: TransferRequest, file: URL)?
    {
        guard let enclosure = URL(string: episode.enclosure) else { return nil }
        var request = TransferRequest(url: enclosure)
        request.isDiscretionary = true
        request.options.ifExists = .rename
        return (request, database.enclosures.appending(path: enclosure.lastPathComponent))
    }

    /// Notes the files that have arrived. Once more does no harm.
    private func collect(_ events: [SessionEvent]) async throws {
        for event in events where event.kind == .transferCompleted {
            guard let file = event.file, let transfer = event.transfer else { continue }
            try await database.setFile(file.lastPathComponent, ofEnclosure: transfer.url)
        }
    }

    /// Forgets all but the newest `keep` episodes, one by one until the task is to stop.
    private func clean(keep: Int, _ task: BackgroundTask) async throws {
        while let old = try await database.oldest(beyond: keep) {
            if task.remainingTime < 5 { throw BackgroundTask.Deferred() }
            try Task.checkCancellation()
            try await database.remove(old)
        }
    }

    /// Opens the session in a launch: the engine that has launched the program carries the requests
    /// out.
    private func openSession() async throws -> BackgroundSession {
        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        configuration.store = BackgroundLaunch.current?.store
        configuration.host = HostProgram(identifier: Self.host, command: command)
        return try await BackgroundSession(
            identifier: Self.session, configuration: configuration)
    }
}
