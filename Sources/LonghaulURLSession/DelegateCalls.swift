#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// Calls of the delegates, on the session's queue, one after the other. A task's own delegate gets
/// the calls of the protocols that it conforms to, and the session's delegate the others. The
/// delegate of an async method gets no end and no progress.
struct DelegateCalls: Sendable {
    let session: BackgroundURLSession

    /// Runs on the delegate's queue; returns when it has returned.
    func perform(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            session.delegateQueue.addOperation {
                body()
                continuation.resume()
            }
        }
    }

    // MARK: - The delegates

    private func taskDelegate(
        of task: BackgroundURLSessionTask
    ) -> (any BackgroundURLSessionTaskDelegate)? {
        task.delegate ?? session.delegate as? any BackgroundURLSessionTaskDelegate
    }

    private func downloadDelegate(
        of task: BackgroundURLSessionTask
    ) -> (any BackgroundURLSessionDownloadDelegate)? {
        task.delegate as? any BackgroundURLSessionDownloadDelegate
            ?? session.delegate as? any BackgroundURLSessionDownloadDelegate
    }

    private func dataDelegate(
        of task: BackgroundURLSessionTask
    ) -> (any BackgroundURLSessionDataDelegate)? {
        task.delegate as? any BackgroundURLSessionDataDelegate
            ?? session.delegate as? any BackgroundURLSessionDataDelegate
    }

    /// A delegate gets the task's result; without one it waits, with its event.
    func areReady(for task: BackgroundURLSessionTask) -> Bool {
        if task is BackgroundURLSessionDownloadTask { return downloadDelegate(of: task) != nil }
        return task.delegate != nil || session.delegate != nil
    }

    // MARK: - The session

    func finishedEvents() async {
        await perform {
            session.delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: session)
        }
    }

    func invalidated(_ error: URLError?) async {
        await perform { session.delegate?.urlSession(session, didBecomeInvalidWithError: error) }
    }

    // MARK: - The life of a task

    func created(_ task: BackgroundURLSessionTask) {
        guard let delegate = taskDelegate(of: task) else { return }
        session.delegateQueue.addOperation { delegate.urlSession(session, didCreateTask: task) }
    }

    /// The task continues an earlier one.
    func resumed(_ task: BackgroundURLSessionTask) async {
        guard let download = task as? BackgroundURLSessionDownloadTask else { return }
        await perform {
            downloadDelegate(of: task)?.urlSession(
                session, downloadTask: download, didResumeAtOffset: task.now.bytesDone,
                expectedTotalBytes: task.now.bytesTotal ?? BackgroundURLSessionTask.unknown)
        }
    }

    /// The task waits for a network; reported once.
    func waits(_ task: BackgroundURLSessionTask) async {
        let isFirst = task.update { facts in
            defer { facts.isWaitReported = true }
            return !facts.isWaitReported
        }
        guard isFirst else { return }
        await perform {
            taskDelegate(of: task)?.urlSession(session, taskIsWaitingForConnectivity: task)
        }
    }

    func progressed(_ task: BackgroundURLSessionTask, _ done: Int64, of total: Int64?) async {
        await perform {
            let more = task.update { facts -> Int64 in
                // A late report: a later state was delivered before.
                guard facts.state != .completed, facts.response == nil else { return 0 }
                defer { (facts.bytesDone, facts.bytesTotal) = (done, total ?? facts.bytesTotal) }
                return done - facts.bytesDone
            }
            task.showProgress()
            guard more > 0, task.waiter == nil else { return }
            if let download = task as? BackgroundURLSessionDownloadTask {
                downloadDelegate(of: task)?.urlSession(
                    session, downloadTask: download, didWriteData: more,
                    totalBytesWritten: done,
                    totalBytesExpectedToWrite: total ?? BackgroundURLSessionTask.unknown)
            } else {
                taskDelegate(of: task)?.urlSession(
                    session, task: task, didSendBodyData: more, totalBytesSent: done,
                    totalBytesExpectedToSend: total ?? BackgroundURLSessionTask.unknown)
            }
        }
    }

    // MARK: - The result

    func downloaded(_ task: BackgroundURLSessionDownloadTask, _ file: URL) async {
        await perform {
            downloadDelegate(of: task)?.urlSession(
                session, downloadTask: task, didFinishDownloadingTo: file)
        }
    }

    func received(_ body: Data, _ task: BackgroundURLSessionUploadTask) async {
        await perform {
            dataDelegate(of: task)?.urlSession(session, dataTask: task, didReceive: body)
        }
    }

    func collected(
        _ metrics: BackgroundURLSessionTaskMetrics, _ task: BackgroundURLSessionTask
    ) async {
        await perform {
            taskDelegate(of: task)?.urlSession(session, task: task, didFinishCollecting: metrics)
        }
    }

    /// The end of a task, by an error or without one.
    func end(_ task: BackgroundURLSessionTask, _ error: LonghaulError?) async {
        let isFirst = task.update { facts in
            guard facts.state != .completed else { return false }
            facts.state = .completed
            facts.error = error.map {
                URLError($0, task.originalRequest?.url, task.resumeData(facts.resumeDataLeft))
            }
            return true
        }
        guard isFirst else { return }
        task.showProgress()
        if let waiter = task.waiter {
            waiter.end(.failure(task.error ?? URLError(.unknown)))
        } else {
            await perform {
                taskDelegate(of: task)?.urlSession(
                    session, task: task, didCompleteWithError: task.error)
            }
        }
        task.delegate = nil
    }

    // MARK: - Questions

    /// The answer to a delayed request; `nil`: no delegate is there.
    func delayed(
        _ task: BackgroundURLSessionTask, _ request: URLRequest
    ) async -> (BackgroundURLSession.DelayedRequestDisposition, URLRequest?)? {
        guard let delegate = taskDelegate(of: task) else { return nil }
        return await withCheckedContinuation { continuation in
            session.delegateQueue.addOperation {
                delegate.urlSession(session, task: task, willBeginDelayedRequest: request) {
                    continuation.resume(returning: ($0, $1))
                }
            }
        }
    }

    /// The answer to a challenge. One of the connection is asked of the session's delegate first.
    func challenged(
        _ task: BackgroundURLSessionTask, _ challenge: Challenge
    ) async -> (BackgroundURLSession.AuthChallengeDisposition, URLCredential?) {
        if challenge.isOfConnection, let delegate = session.delegate {
            let answer = await answer { completion in
                delegate.urlSession(
                    session, didReceive: challenge.authentication, completionHandler: completion)
            }
            if answer.0 != .performDefaultHandling { return answer }
        }
        guard let delegate = taskDelegate(of: task) else { return (.performDefaultHandling, nil) }
        return await answer { completion in
            delegate.urlSession(
                session, task: task, didReceive: challenge.authentication,
                completionHandler: completion)
        }
    }

    private typealias Completion =
        @Sendable (BackgroundURLSession.AuthChallengeDisposition, URLCredential?) -> Void

    private func answer(
        _ ask: @escaping @Sendable (@escaping Completion) -> Void
    ) async -> (BackgroundURLSession.AuthChallengeDisposition, URLCredential?) {
        await withCheckedContinuation { continuation in
            session.delegateQueue.addOperation {
                ask { continuation.resume(returning: ($0, $1)) }
            }
        }
    }
}

extension BackgroundURLSessionTask {
    /// Entries of the error's `userInfo`.
    fileprivate func resumeData(_ data: Data?) -> [String: Any] {
        guard let data else { return [:] }
        let key =
            source == nil ? NSURLSessionDownloadTaskResumeData : NSURLSessionUploadTaskResumeData
        return [key: data]
    }
}
#endif
