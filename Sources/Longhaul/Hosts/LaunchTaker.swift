internal import LonghaulCore
internal import LonghaulStore
internal import Synchronization

/// Takes launches of a host as lines, for a program that reads them while it runs. A launch ends
/// well when its lines were taken and all its tasks have results.
package final class LaunchTaker: Sendable {
    private let queue: ResidentQueue
    private let state: Mutex<State>

    private struct State {
        var resident: StoredResident
        /// The launch whose lines were taken.
        var launch: LaunchID?
        var hasExpired = false
    }

    /// - Throws: `noSuchHost`, `storeUnavailable`.
    package init(_ queue: TransferQueue, host: String) throws(LonghaulError) {
        self.queue = ResidentQueue(queue: queue)
        state = Mutex(State(resident: try self.queue.enter(host)))
    }

    /// Lines that are to be read now; `nil` = none. The call means that those before were read.
    package func next() throws(LonghaulError) -> [UInt8]? {
        try state.withLock { state throws(LonghaulError) in
            guard let id = state.launch else { return try readLaunch(&state) }
            let course = try queue.queue.store.residents.course(of: id)
            if course == .ended {
                state.launch = nil
                return []
            }
            if try queue.queue.store.residents.openTasks(of: id) == 0 {
                try queue.report(LaunchReport(launch: id, content: .ended(status: 0)))
                state.launch = nil
                return []
            }
            guard case .expired(let reason) = course, !state.hasExpired else { return nil }
            state.hasExpired = true
            return Self.line(id, reason)
        }
    }

    private func readLaunch(_ state: inout State) throws(LonghaulError) -> [UInt8]? {
        guard let handed = try queue.handed(to: &state.resident) else { return nil }
        state.launch = handed.id
        state.hasExpired = false
        return handed.input
    }

    private static func line(_ id: LaunchID, _ reason: ExpirationReason) -> [UInt8] {
        var text = JSONText()
        text.object {
            $0.field("type", "expiration")
            $0.field("launch", id.rawValue)
            $0.field("reason", reason.rawValue)
        }
        text.endLine()
        return text.bytes
    }

    /// A line as a launched host writes it, from any thread. A line that is neither a result nor
    /// progress of a task has no effect.
    package func report(_ line: [UInt8]) throws(LonghaulError) {
        guard let id = state.withLock({ $0.launch }) else { return }
        guard let answer = TaskAnswer(line) else {
            if let answer = ProgressAnswer(line) {
                try queue.report(answer.report, of: answer.identifier, in: id)
            }
            return
        }
        try queue.report(
            LaunchReport(
                launch: id, content: .result(task: answer.identifier, answer.result)))
    }

    /// Takes nothing more; open launches are handed over again.
    package func leave() {
        // If the store cannot be written, the end of the process says the same.
        try? queue.leave(state.withLock { $0.resident })
    }
}
