#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// Pause before the events of a `BackgroundURLSession` are read again after a failure.
private let eventRetrySeconds: Double = 2
/// Seconds between two checks whether tasks wait for a network.
private let waitCheckSeconds: Double = 5

/// Delivery of the session's events to its delegate.
extension OpenSession {
    /// Delivers each event, until the session is invalidated.
    func followEvents() async {
        let last = BackgroundLaunch.current?.events.last?.sequence
        while true {
            do {
                for try await event in session.events {
                    let isDelivered = await deliver(event)
                    defer { forget(event) }
                    guard isDelivered else { continue }
                    // A task that has begun again after a challenge ends later.
                    let isLast = event.kind == .sessionFinished && !owner.registry.hasRecorded
                    if event.sequence == last || isLast { await calls.finishedEvents() }
                    try await session.acknowledge(event)
                }
            } catch {
                if (error as? LonghaulError)?.code == .sessionInvalidated { return }
                // The store cannot be read: events stay until it can.
                try? await Task.sleep(for: .seconds(eventRetrySeconds))
            }
        }
    }

    /// A session that ends with its tasks must not end before their events are acknowledged.
    private func forget(_ event: SessionEvent) {
        guard let transfer = event.transfer, transfer.state.hasEnded else { return }
        let task = owner.task(of: transfer)
        if task.now.id == transfer.id { owner.forget(task) }
    }

    /// Returns whether the event was delivered, and is to be acknowledged.
    private func deliver(_ event: SessionEvent) async -> Bool {
        switch event.kind {
        case .transferNeedsInput: return false
        case .transferCompleted, .transferFailed, .transferCancelled:
            // A transfer that was tried again since has another event to come.
            guard let transfer = event.transfer, transfer.state.hasEnded else { return true }
            return await finish(transfer)
        default: return owner.delegate != nil
        }
    }

    private func finish(_ transfer: Transfer) async -> Bool {
        let task = owner.task(of: transfer)
        // A transfer may have ended before its task knows its number.
        let id = task.update { facts in
            facts.id = facts.id ?? transfer.id
            return facts.id
        }
        // The task has another transfer since: it was challenged.
        guard id == transfer.id else { return true }
        if task.state == .completed { return task.waiter != nil || calls.areReady(for: task) }
        if await isAskedAgain(task, transfer) { return true }
        await calls.progressed(task, transfer.bytesDone, of: transfer.bytesTotal)
        task.update { $0.response = transfer.urlResponse }
        await calls.collected(metrics(of: transfer, task), task)
        if let error = failure(of: transfer, task) {
            if transfer.state == .failed, task.now.resumeDataLeft == nil {
                let data = (try? ResumeData(transfer, in: queue))?.encoded
                task.update { $0.resumeDataLeft = data }
            }
            await calls.end(task, error)
            discardIdentity(of: task)
            return task.waiter != nil || calls.areReady(for: task)
        }
        let isReady = await handOver(transfer, to: task)
        await calls.end(task, nil)
        discardIdentity(of: task)
        return isReady
    }

    /// The error that the task ends with; `nil` where it has its result.
    private func failure(of transfer: Transfer, _ task: BackgroundURLSessionTask) -> LonghaulError?
    {
        switch transfer.state {
        case .completed: return nil
        case .failed:
            // The answer of the server to an upload is its result, whatever the status.
            if transfer.isAnswered, owner.configuration.deliversErrorPages { return nil }
            return transfer.error ?? LonghaulError(.internal, "the transfer failed")
        case .cancelled, .waiting, .running, .paused:
            let refusal = task.now.refusal
            if refusal != nil, transfer.isAnswered, owner.configuration.deliversErrorPages {
                return nil
            }
            return refusal ?? LonghaulError(.cancelled, "the task was cancelled")
        }
    }

    /// Hands the file or the body over. Returns whether there was a receiver.
    private func handOver(
        _ transfer: Transfer, to task: BackgroundURLSessionTask
    ) async -> Bool {
        let body = Data(transfer.response?.body ?? [])
        let file = transfer.destination.map { URL(fileURLWithPath: $0, isDirectory: false) }
        if let waiter = task.waiter {
            let result = task.response.map { AwaitedResult(file: file, body: body, response: $0) }
            let isAwaited = waiter.end(
                result.map { .success($0) } ?? .failure(URLError(.badServerResponse)))
            if isAwaited { return true }
            // The call was cancelled just now, and nothing continues it: or a task does.
            guard owner.registry.withdraw(task) || task.now.successor == nil else {
                return await finish(transfer)
            }
            discard(transfer.destination)
            return true
        }
        guard calls.areReady(for: task) else { return false }
        if let upload = task as? BackgroundURLSessionUploadTask {
            if !body.isEmpty { await calls.received(body, upload) }
        } else if let download = task as? BackgroundURLSessionDownloadTask, let file,
            // A file that is gone was handed over before a crash.
            FileManager.default.fileExists(atPath: file.path)
        {
            await calls.downloaded(download, file)
            discard(file.path)
        }
        return true
    }

    // MARK: - Progress

    /// Reports the task's progress until its end.
    func follow(_ task: BackgroundURLSessionTask) {
        guard let id = task.now.id else { return }
        Task {
            do {
                guard let updates = try await progress(of: id) else { return }
                var isEarly = true
                for try await progress in updates where !progress.state.hasEnded {
                    if task.now.successor != nil { return }
                    // The size is recorded a moment after the first bytes: the next report has it.
                    if isEarly, progress.bytesDone > 0, progress.bytesTotal == nil {
                        isEarly = false
                        continue
                    }
                    await calls.progressed(task, progress.bytesDone, of: progress.bytesTotal)
                }
            } catch {
                // The session is invalidated, or the transfer removed: no progress follows.
            }
        }
    }

    /// Reports the tasks that wait for a network, each once, until it is cancelled. Why a transfer
    /// waits is recorded by the engine after its state: a change of the state does not tell it.
    func followWaits() async {
        while !Task.isCancelled {
            let tasks = owner.registry.all.filter { !$0.now.isWaitReported }
            let transfers = (try? queue.transfers(tasks.compactMap(\.now.id))) ?? []
            for transfer in transfers where transfer.waitsForNetwork {
                if let task = tasks.first(where: { $0.now.id == transfer.id }) {
                    await calls.waits(task)
                }
            }
            try? await Task.sleep(for: .seconds(waitCheckSeconds))
        }
    }

    // MARK: - Questions

    func answer(_ need: InputNeed) async throws -> InputReply {
        let task = owner.task(of: need.transfer)
        switch need.reason {
        case .expired:
            // URLSession has no question for it: the task fails.
            task.update { $0.refusal = need.transfer.error }
            return .cancel
        case .delayedRequest:
            guard let request = task.originalRequest,
                let (disposition, other) = await calls.delayed(task, request)
            else { return .continue }
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

extension Transfer {
    fileprivate var waitsForNetwork: Bool {
        waitingFor.contains { $0.reason == .network || $0.reason == .unmetered }
    }

    /// An upload that the server has refused by its answer.
    fileprivate var isAnswered: Bool {
        kind == .upload && error?.httpStatus != nil && response?.statusCode == error?.httpStatus
    }
}
#endif
