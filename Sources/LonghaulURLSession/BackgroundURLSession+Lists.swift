#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// The tasks of the session, and what the session keeps.
extension BackgroundURLSession {
    /// The tasks that have not ended, tasks of earlier processes included, once all earlier calls
    /// of the session are recorded. Requests of async methods are not among them.
    public var allTasks: [BackgroundURLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in
                getAllTasks { continuation.resume(returning: $0) }
            }
        }
    }

    /// The tasks of ``allTasks`` by kind. The first list, of data tasks, is empty: a background
    /// session has none.
    public var tasks:
        (
            [BackgroundURLSessionDataTask], [BackgroundURLSessionUploadTask],
            [BackgroundURLSessionDownloadTask]
        )
    {
        get async { Self.sorted(await allTasks) }
    }

    /// Calls back, on no certain thread, with ``allTasks``.
    public func getAllTasks(
        completionHandler: @escaping @Sendable ([BackgroundURLSessionTask]) -> Void
    ) {
        send { [self] _ in completionHandler(registry.all.filter { $0.waiter == nil }) }
    }

    /// Calls back, on no certain thread, with ``tasks``.
    public func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable (
                [BackgroundURLSessionDataTask], [BackgroundURLSessionUploadTask],
                [BackgroundURLSessionDownloadTask]
            ) -> Void
    ) {
        getAllTasks { tasks in
            let (data, uploads, downloads) = Self.sorted(tasks)
            completionHandler(data, uploads, downloads)
        }
    }

    private static func sorted(
        _ tasks: [BackgroundURLSessionTask]
    ) -> (
        [BackgroundURLSessionDataTask], [BackgroundURLSessionUploadTask],
        [BackgroundURLSessionDownloadTask]
    ) {
        (
            [], tasks.compactMap { $0 as? BackgroundURLSessionUploadTask },
            tasks.compactMap { $0 as? BackgroundURLSessionDownloadTask }
        )
    }

    /// Calls back on the delegate's queue when all earlier calls of the session are recorded, and
    /// survive a power cut. Connections are the engine's, and stay.
    public func flush(completionHandler: @escaping @Sendable () -> Void) {
        send { [self] _ in await calls.perform(completionHandler) }
    }

    /// Empties the cookie and credential storages of the configuration, then calls back as
    /// ``flush(completionHandler:)``. Tasks keep what they were recorded with.
    public func reset(completionHandler: @escaping @Sendable () -> Void) {
        configuration.httpCookieStorage?.removeCookies(since: .distantPast)
        if let storage = configuration.urlCredentialStorage {
            for (space, credentials) in storage.allCredentials {
                for credential in credentials.values { storage.remove(credential, for: space) }
            }
        }
        flush(completionHandler: completionHandler)
    }
}
#endif
