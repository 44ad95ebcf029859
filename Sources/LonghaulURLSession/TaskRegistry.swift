#if !canImport(Darwin)
internal import Foundation
internal import Longhaul
internal import Synchronization

/// The tasks of a session object that have not ended.
final class TaskRegistry: Sendable {
    private let state = Mutex(State())

    private struct State {
        /// By their identifiers.
        var tasks: [Int: BackgroundURLSessionTask] = [:]
        /// Tasks of async methods that were cancelled just now: a task of an equal request may
        /// continue theirs.
        var offered: [BackgroundURLSessionTask] = []
        /// No new task is accepted.
        var isInvalidating = false
        /// Reason why the session could not be opened.
        var failure: LonghaulError?
    }

    /// Random, so that it differs from identifiers of earlier processes; less than 2^53.
    static func freshIdentifier() -> Int { Int.random(in: 1..<(1 << 53)) }

    /// Returns false if the session accepts no new task.
    func add(_ task: BackgroundURLSessionTask) -> Bool {
        state.withLock { state in
            if !state.isInvalidating { state.tasks[task.taskIdentifier] = task }
            return !state.isInvalidating
        }
    }

    /// The tasks that have not ended, those of async methods included.
    var all: [BackgroundURLSessionTask] {
        let tasks = state.withLock { $0.tasks.values.filter { $0.state != .completed } }
        return tasks.sorted { $0.taskIdentifier < $1.taskIdentifier }
    }

    /// A task that has not ended is recorded.
    var hasRecorded: Bool { all.contains { $0.now.id != nil } }

    /// The task of a transfer, made by `make` if this process has none.
    func task(
        of transfer: Transfer, else make: (_ identifier: Int) -> BackgroundURLSessionTask
    ) -> BackgroundURLSessionTask {
        let identifier = TaskNote(transfer)?.taskIdentifier ?? Int(transfer.id.rawValue)
        return state.withLock { state in
            if let known = state.tasks[identifier] { return known.now.successor ?? known }
            let task = make(identifier)
            state.tasks[identifier] = task
            return task
        }
    }

    /// A transfer belongs to another task from now on.
    func replace(_ id: TransferID, by task: BackgroundURLSessionTask) {
        state.withLock { state in
            state.tasks = state.tasks.filter { $0.value == task || $0.value.now.id != id }
        }
    }

    /// Removes the task, and those that it continues.
    func remove(_ task: BackgroundURLSessionTask) {
        state.withLock { state in
            state.tasks = state.tasks.filter { $0.value != task && $0.value.now.successor != task }
        }
    }

    // MARK: - Invalidation

    func refuseNewTasks(because failure: LonghaulError? = nil) {
        state.withLock {
            $0.isInvalidating = true
            $0.failure = failure ?? $0.failure
        }
    }

    /// The session is to end with its tasks, and has none.
    var isOver: Bool { state.withLock { $0.isInvalidating && $0.tasks.isEmpty } }

    var failure: LonghaulError {
        state.withLock { $0.failure }
            ?? LonghaulError(.sessionInvalidated, "the session is invalidated")
    }

    // MARK: - Cancelled async methods

    /// The async method of the task was cancelled.
    func offer(_ task: BackgroundURLSessionTask) {
        state.withLock { $0.offered.append(task) }
    }

    /// Returns true if no other task has continued it, and none will.
    func withdraw(_ task: BackgroundURLSessionTask) -> Bool {
        state.withLock { state in
            guard let index = state.offered.firstIndex(of: task) else { return false }
            state.offered.remove(at: index)
            return true
        }
    }

    /// A task of an async method with the same request, which `task` continues from now on.
    func predecessor(of task: BackgroundURLSessionTask) -> BackgroundURLSessionTask? {
        state.withLock { state in
            let index = state.offered.firstIndex {
                $0.source == task.source && $0.originalRequest == task.originalRequest
            }
            guard let index else { return nil }
            let offered = state.offered.remove(at: index)
            let id = offered.update { facts in
                facts.successor = task
                facts.state = .completed
                return facts.id
            }
            task.update { $0.id = id }
            return offered
        }
    }
}
#endif
