#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// Pause before the events of a `BackgroundURLSession` are read again after a failure.
private let delegateRetrySeconds: Double = 2

/// Calls of the delegate.
extension BackgroundURLSession {
    private var taskDelegate: (any BackgroundURLSessionTaskDelegate)? {
        delegate as? any BackgroundURLSessionTaskDelegate
    }

    private var downloadDelegate: (any BackgroundURLSessionDownloadDelegate)? {
        delegate as? any BackgroundURLSessionDownloadDelegate
    }

    // MARK: - Events

    /// Tells the delegate of each event, until the session is invalidated.
    func follow(_ open: OpenSession) async {
        let last = BackgroundLaunch.current?.events.last?.sequence
        while true {
            do {
                for try await event in open.session.events {
                    let isTold = await deliver(event, open)
                    defer { forget(event) }
                    guard isTold else { continue }
                    if event.sequence == last || event.kind == .sessionFinished {
                        await tell { [self] in
                            delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self)
                        }
                    }
                    try await open.session.acknowledge(event)
                }
            } catch {
                if (error as? LonghaulError)?.code == .sessionInvalidated { return }
                // The store cannot be read: events stay until it can.
                try? await Task.sleep(for: .seconds(delegateRetrySeconds))
            }
        }
    }

    /// A session that ends with its tasks must not end before their events are acknowledged.
    private func forget(_ event: SessionEvent) {
        guard let transfer = event.transfer, transfer.state.hasEnded else { return }
        forget(task(of: transfer))
    }

    /// Returns whether the event was delivered, and is to be acknowledged.
    private func deliver(_ event: SessionEvent, _ open: OpenSession) async -> Bool {
        switch event.kind {
        case .transferNeedsInput: return false
        case .transferCompleted, .transferFailed, .transferCancelled:
            // A transfer that was tried again since has another event to come.
            guard let transfer = event.transfer, transfer.state.hasEnded else { return true }
            return await finish(transfer, open)
        default: return delegate != nil
        }
    }

    private func finish(_ transfer: Transfer, _ open: OpenSession) async -> Bool {
        let task = task(of: transfer)
        await report(transfer.bytesDone, of: transfer.bytesTotal, task)
        task.update { $0.response = transfer.urlResponse }
        guard transfer.state == .completed else {
            await end(
                task,
                transfer.state == .failed
                    ? transfer.error ?? LonghaulError(.internal, "the transfer failed")
                    : task.now.refusal ?? LonghaulError(.cancelled, "the task was cancelled"))
            return delegate != nil
        }
        if let download = task as? BackgroundURLSessionDownloadTask {
            await handOver(transfer, download, open)
        } else if let upload = task as? BackgroundURLSessionUploadTask,
            let body = transfer.response?.body, !body.isEmpty
        {
            await tell { [self] in
                (delegate as? any BackgroundURLSessionDataDelegate)?.urlSession(
                    self, dataTask: upload, didReceive: Data(body))
            }
        }
        await end(task, nil)
        return transfer.kind == .upload ? delegate != nil : downloadDelegate != nil
    }

    private func handOver(
        _ transfer: Transfer, _ task: BackgroundURLSessionDownloadTask, _ open: OpenSession
    ) async {
        guard let downloadDelegate, let path = transfer.destination else { return }
        let file = URL(fileURLWithPath: path, isDirectory: false)
        // A file that is gone was handed over before a crash.
        guard FileManager.default.fileExists(atPath: path) else { return }
        await tell { [self] in
            downloadDelegate.urlSession(
                self, downloadTask: task, didFinishDownloadingTo: file)
        }
        if open.isTemporary(file) { try? FileManager.default.removeItem(at: file) }
    }

    /// Tells the delegate of the end of a task.
    func end(_ task: BackgroundURLSessionTask, _ error: LonghaulError?) async {
        let isFirst = task.update { facts in
            guard facts.state != .completed else { return false }
            facts.state = .completed
            facts.error = error.map { URLError($0, task.originalRequest?.url) }
            return true
        }
        if isFirst {
            await tell { [self] in
                taskDelegate?.urlSession(self, task: task, didCompleteWithError: task.error)
            }
        }
    }

    // MARK: - Progress

    /// Tells the delegate of the task's progress until its end.
    func follow(_ task: BackgroundURLSessionTask, _ open: OpenSession) {
        guard let id = task.now.id else { return }
        Task { [self] in
            do {
                guard let updates = try await open.progress(of: id) else { return }
                var isEarly = true
                for try await progress in updates where !progress.state.hasEnded {
                    // The size is recorded a moment after the first bytes: the next report has it.
                    if isEarly, progress.bytesDone > 0, progress.bytesTotal == nil {
                        isEarly = false
                        continue
                    }
                    await report(progress.bytesDone, of: progress.bytesTotal, task)
                }
            } catch {
                // The session is invalidated, or the transfer removed: no progress follows.
            }
        }
    }

    private func report(
        _ done: Int64, of total: Int64?, _ task: BackgroundURLSessionTask
    ) async {
        await tell { [self] in
            let more = task.update { facts -> Int64 in
                // A late report: a later state was delivered before.
                guard facts.state != .completed, facts.response == nil else { return 0 }
                defer { (facts.bytesDone, facts.bytesTotal) = (done, total ?? facts.bytesTotal) }
                return done - facts.bytesDone
            }
            guard more > 0 else { return }
            if let download = task as? BackgroundURLSessionDownloadTask {
                downloadDelegate?.urlSession(
                    self, downloadTask: download, didWriteData: more,
                    totalBytesWritten: done,
                    totalBytesExpectedToWrite: total ?? BackgroundURLSessionTask.unknown)
            } else {
                taskDelegate?.urlSession(
                    self, task: task, didSendBodyData: more, totalBytesSent: done,
                    totalBytesExpectedToSend: total ?? BackgroundURLSessionTask.unknown)
            }
        }
    }

    // MARK: - Questions

    func answer(_ need: InputNeed, _ open: OpenSession) async throws -> InputReply {
        let task = task(of: need.transfer)
        switch need.reason {
        case .expired:
            // URLSession has no question for it: the task fails.
            task.update { $0.refusal = need.transfer.error }
            return .cancel
        case .delayedRequest:
            guard let request = task.originalRequest, let taskDelegate else { return .continue }
            let (disposition, other) = await withCheckedContinuation { continuation in
                delegateQueue.addOperation { [self] in
                    taskDelegate.urlSession(
                        self, task: task, willBeginDelayedRequest: request
                    ) { continuation.resume(returning: ($0, $1)) }
                }
            }
            switch disposition {
            case .continueLoading: return .continue
            case .cancel: return .cancel
            case .useNewRequest:
                guard let url = other?.url else { return .continue }
                var reply = TransferRequest(url: url)
                for (name, value) in other?.allHTTPHeaderFields ?? [:] {
                    reply.headers[name] = value
                }
                return .use(reply)
            }
        }
    }
}

extension OpenSession {
    /// The progress of a transfer; `nil` where the session has none of that id.
    func progress(of id: TransferID) async throws(LonghaulError) -> ProgressUpdates? {
        if let download = try await session.task(id) { return download.progress }
        return try await session.uploadTask(id)?.progress
    }
}
#endif
