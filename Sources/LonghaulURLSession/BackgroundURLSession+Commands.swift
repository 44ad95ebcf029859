#if !canImport(Darwin)
internal import Foundation
internal import Longhaul

/// Requests of a task to its session, performed in order.
extension BackgroundURLSession {
    func resume(_ task: BackgroundURLSessionTask) {
        let isNew = task.update { facts in
            guard facts.state == .suspended else { return false }
            facts.state = .running
            return true
        }
        guard isNew else { return }
        let predecessor = task.now.id == nil ? registry.predecessor(of: task) : nil
        send { [self] open in
            guard let open else { return await giveUp(task, registry.failure) }
            do throws(LonghaulError) {
                if let id = task.now.id, predecessor != nil {
                    open.inherit(task, id)
                } else if let id = task.now.id {
                    _ = try open.queue.resume(.ids([id]))
                } else if task.state != .completed {
                    try await open.record(task)
                }
            } catch {
                // A transfer that has ended meanwhile has its event.
                if task.now.id == nil { await giveUp(task, error) }
            }
        }
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

    /// - Parameter completionHandler: Called with resume data, for which the bytes are kept.
    func cancel(
        _ task: BackgroundURLSessionTask,
        producing completionHandler: (@Sendable (Data?) -> Void)? = nil
    ) {
        let isOpen = task.update { facts in
            guard facts.state == .running || facts.state == .suspended else { return false }
            facts.state = .canceling
            return true
        }
        guard isOpen else {
            completionHandler?(nil)
            return
        }
        send { [self] open in
            var data: Data?
            if let open, let id = task.now.id {
                let keepsBytes = completionHandler != nil
                data = await open.cancel(id, keepingBytes: keepsBytes)?.encoded
                if let data {
                    task.update { $0.resumeDataLeft = data }
                    // Its event may never come: a task that continues it withdraws the cancel.
                    await calls.end(task, LonghaulError(.cancelled, "the task was cancelled"))
                }
            } else {
                await giveUp(task, LonghaulError(.cancelled, "the task was cancelled"))
            }
            completionHandler?(data)
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
