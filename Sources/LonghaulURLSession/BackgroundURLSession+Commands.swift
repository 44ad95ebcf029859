#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// A session that is open, and what its tasks need besides.
struct OpenSession: Sendable {
    let session: BackgroundSession
    let queue: TransferQueue
    /// The directory of files that the delegate has not been told of.
    let incoming: URL

    init(_ configuration: BackgroundURLSessionConfiguration) async throws(LonghaulError) {
        var settings = configuration.values.session
        // The program may not run for long; without a launch the task would wait for it.
        settings.asksBeforeDelayedRequests = settings.sessionSendsLaunchEvents
        session = try await BackgroundSession(
            identifier: configuration.identifier ?? "", configuration: settings)
        queue = try TransferQueue(directory: settings.store)
        incoming = URL(fileURLWithPath: queue.directory, isDirectory: true)
            .appending(path: "urlsession", directoryHint: .isDirectory)
        do {
            try FileManager.default.createDirectory(
                at: incoming, withIntermediateDirectories: true)
        } catch {
            throw LonghaulError(.storeUnavailable, "\(incoming.path): \(error)")
        }
    }

    /// The transfers of the session that have not ended, or that the delegate has not been
    /// told of.
    func transfers() async throws(LonghaulError) -> [Transfer] {
        var transfers: [Transfer] = []
        for task in try await session.tasks { transfers.append(try await task.transfer) }
        for task in try await session.uploadTasks { transfers.append(try await task.transfer) }
        return transfers
    }

    /// Acknowledges that all transfers have ended: the delegate knows it from its tasks, and no
    /// launch is to follow.
    func acknowledgeFinish() {
        let waiting = try? queue.events(session: session.identifier, waitingOnly: true)
        let ends = (waiting ?? []).filter { $0.type == SessionEvent.Kind.sessionFinished.rawValue }
        try? queue.acknowledge(events: ends.map(\.sequence))
    }

    /// True if the file is the session's own, and is deleted after the delegate was notified.
    func isTemporary(_ file: URL) -> Bool {
        file.deletingLastPathComponent().path == incoming.path
    }
}

extension BackgroundURLSessionTask {
    /// The task of a transfer that an earlier process has recorded.
    static func found(
        _ transfer: Transfer, _ identifier: Int, in session: BackgroundURLSession
    ) -> BackgroundURLSessionTask {
        var facts = Facts()
        facts.taskDescription = TaskNote(transfer)?.taskDescription
        facts.earliestBeginDate = transfer.earliestBegin.map(Date.init)
        facts.priority = transfer.priority.urlSession
        facts.state = transfer.state == .paused ? .suspended : .running
        facts.id = transfer.id
        facts.bytesDone = transfer.bytesDone
        facts.bytesTotal = transfer.bytesTotal
        let request = URLRequest(transfer)
        guard let source = transfer.source else {
            facts.expectedToReceive = transfer.expectedBytes
            return BackgroundURLSessionDownloadTask(
                identifier, request, source: nil, facts, session)
        }
        facts.expectedToSend = transfer.expectedBytes
        let file = URL(fileURLWithPath: source, isDirectory: false)
        return BackgroundURLSessionUploadTask(
            identifier, request, source: file, facts, session)
    }
}

/// Requests of a task to its session, performed in order.
extension BackgroundURLSession {
    func resume(_ task: BackgroundURLSessionTask) {
        let isNew = task.update { facts in
            guard facts.state == .suspended else { return false }
            facts.state = .running
            return true
        }
        guard isNew else { return }
        send { [self] open in
            guard let open else { return await give(up: task, failure) }
            do throws(LonghaulError) {
                if let id = task.now.id {
                    _ = try open.queue.resume(.ids([id]))
                } else if task.state != .completed {
                    try await record(task, open)
                }
            } catch {
                // A transfer that has ended meanwhile has its event.
                if task.now.id == nil { await give(up: task, error) }
            }
        }
    }

    private func record(
        _ task: BackgroundURLSessionTask, _ open: OpenSession
    ) async throws(LonghaulError) {
        let request = try TransferRequest(task, configuration.values)
        let id: TransferID
        if let source = task.source {
            id = try await open.session.upload(source, with: request).id
        } else {
            let file = open.incoming.appending(path: UUID().uuidString)
            id = try await open.session.download(request, to: file).id
        }
        task.update { $0.id = id }
        follow(task, open)
    }

    /// The end of a task that is not recorded.
    func give(up task: BackgroundURLSessionTask, _ error: LonghaulError) async {
        await end(task, error)
        forget(task)
    }

    func suspend(_ task: BackgroundURLSessionTask) {
        let wasRunning = task.update { facts in
            guard facts.state == .running else { return false }
            facts.state = .suspended
            return true
        }
        guard wasRunning else { return }
        send { open in
            guard let open, let id = task.now.id else { return }
            // A transfer that has ended meanwhile has its event.
            _ = try? open.queue.pause(.ids([id]))
        }
    }

    func cancel(_ task: BackgroundURLSessionTask) {
        let isOpen = task.update { facts in
            guard facts.state == .running || facts.state == .suspended else { return false }
            facts.state = .canceling
            return true
        }
        guard isOpen else { return }
        send { [self] open in
            if let open, let id = task.now.id {
                let download = try? await open.session.task(id)
                let upload = try? await open.session.uploadTask(id)
                try? await download?.cancel()
                try? await upload?.cancel()
            } else {
                await give(up: task, LonghaulError(.cancelled, "the task was cancelled"))
            }
        }
    }

    /// Changes a task that is recorded; until then its own values count.
    func change(
        _ task: BackgroundURLSessionTask, _ edit: @escaping @Sendable (inout TransferChange) -> Void
    ) {
        send { open in
            guard let open, let id = task.now.id else { return }
            var change = TransferChange()
            edit(&change)
            // An ended transfer has no use for it.
            try? open.queue.change(id, change)
        }
    }
}
#endif
