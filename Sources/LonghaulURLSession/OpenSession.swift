#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// A session that is open: its store, and the directory of its files.
struct OpenSession: Sendable {
    let owner: BackgroundURLSession
    let session: BackgroundSession
    let queue: TransferQueue
    /// The directory of files that the delegate has not been notified of, of bodies to send and of
    /// identities to show.
    let incoming: URL

    init(_ owner: BackgroundURLSession) async throws(LonghaulError) {
        self.owner = owner
        let configuration = owner.configuration
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

    var calls: DelegateCalls { owner.calls }

    /// The transfers of the session that have not ended, or that the delegate has not been
    /// notified of.
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

    /// Deletes a file of the session's own.
    func discard(_ path: String?) {
        guard let path else { return }
        let file = URL(fileURLWithPath: path, isDirectory: false)
        guard file.deletingLastPathComponent().path == incoming.path else { return }
        try? FileManager.default.removeItem(at: file)
    }

    /// The progress of a transfer; `nil` where the session has none of that id.
    func progress(of id: TransferID) async throws(LonghaulError) -> ProgressUpdates? {
        if let download = try await session.task(id) { return download.progress }
        return try await session.uploadTask(id)?.progress
    }

    // MARK: - Tasks

    /// Records a task that begins.
    func record(_ task: BackgroundURLSessionTask) async throws(LonghaulError) {
        if let data = task.now.resumeData { return try await proceed(task, data) }
        let request = try TransferRequest(task, owner.configuration)
        let id: TransferID
        if let source = task.source {
            id = try await session.upload(source, with: request).id
        } else {
            id = try await session.download(request, to: incoming.appending(path: task.fileName)).id
        }
        task.update { $0.id = id }
        task.now.successor?.update { $0.id = id }
        follow(task)
    }

    /// Continues the transfer that the resume data name.
    private func proceed(
        _ task: BackgroundURLSessionTask, _ data: Data
    ) async throws(LonghaulError) {
        let transfer = try ResumeData.transfer(data, in: queue)
        var change = TransferChange()
        change.metadata = TaskNote(task).text
        try queue.change(transfer.id, change)
        if let refusal = try queue.retry(.ids([transfer.id])).first?.error { throw refusal }
        task.update {
            $0.id = transfer.id
            $0.bytesDone = transfer.bytesDone
            $0.bytesTotal = transfer.bytesTotal
        }
        owner.registry.replace(transfer.id, by: task)
        await calls.resumed(task)
        follow(task)
    }

    /// The task continues the transfer of a cancelled async method.
    func inherit(_ task: BackgroundURLSessionTask, _ id: TransferID) {
        var change = TransferChange()
        change.metadata = TaskNote(task).text
        // A transfer that has ended by now has its event, which is the task's.
        try? queue.change(id, change)
        follow(task)
    }

    /// Ends a task that is recorded.
    ///
    /// - Parameter keepingBytes: For resume data, which are returned.
    func cancel(_ id: TransferID, keepingBytes: Bool) async -> ResumeData? {
        do {
            try await session.task(id)?.cancel(keepingBytes: keepingBytes)
            try await session.uploadTask(id)?.cancel(keepingBytes: keepingBytes)
            guard keepingBytes, let transfer = try queue.transfer(id) else { return nil }
            return try ResumeData(transfer, in: queue)
        } catch {
            // A transfer that has ended meanwhile has its event.
            return nil
        }
    }
}

extension BackgroundURLSessionTask {
    /// The name of a download's file: another one for each answer to a challenge.
    var fileName: String {
        let count = now.credentials.count
        return count == 0 ? "\(taskIdentifier)" : "\(taskIdentifier)-\(count)"
    }
}
#endif
