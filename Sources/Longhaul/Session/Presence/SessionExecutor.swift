internal import LonghaulCore
internal import Synchronization

/// The access of a session to its store. It ends with the session, even if the process has other
/// sessions of the store: calls that wait throw then, as does every later call.
final class SessionExecutor: Sendable {
    private let executor: StoreExecutor
    private let state = Mutex(State.open)

    private enum State {
        case open, closed
    }

    init(_ executor: StoreExecutor) {
        self.executor = executor
    }

    var directory: String { executor.directory }
    var edition: UInt64 { executor.edition }
    var isOpen: Bool { state.withLock { $0 } == .open }

    /// - Returns: Whether it was open.
    @discardableResult
    func close() -> Bool {
        let wasOpen = state.withLock { state in
            defer { state = .closed }
            return state == .open
        }
        if wasOpen { executor.endWaits(of: self) }
        return wasOpen
    }

    /// Throws once the session was left.
    func checkOpen() throws(LonghaulError) {
        if !isOpen { throw StoreExecutor.closed }
    }

    /// See ``StoreExecutor/perform(_:)``.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (StoreExecutor.StoreContext) throws(LonghaulError) -> Value
    ) async throws(LonghaulError) -> Value {
        try checkOpen()
        return try await executor.perform(body)
    }

    /// See ``StoreExecutor/change(_:)``.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (TransferQueue) throws(LonghaulError) -> Value
    ) async throws(LonghaulError) -> Value {
        try checkOpen()
        return try await executor.change(body)
    }

    /// See ``StoreExecutor/changed(since:within:for:)``.
    func changed(since edition: UInt64, within seconds: Double? = nil) async throws {
        try await executor.changed(since: edition, within: seconds, for: self)
    }

    /// See ``StoreExecutor/end(of:orInput:for:)``.
    func end(of id: TransferID, orInput: Bool = false) async throws -> Transfer {
        try await executor.end(of: id, orInput: orInput, for: self)
    }
}
