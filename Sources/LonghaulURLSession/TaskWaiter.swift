#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// The result of a task that an async method of the session awaits.
struct AwaitedResult: Sendable {
    /// The file of a download; `nil` for an upload.
    var file: URL?
    /// The body of the answer to an upload.
    var body = Data()
    var response: URLResponse
}

/// Hands the end of a task to the async method that awaits it, once.
final class TaskWaiter: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<AwaitedResult, any Error>)
        case ended(Result<AwaitedResult, any Error>)
    }

    private let state = Mutex(State.idle)

    /// Returns false if an end was there before.
    @discardableResult
    func end(_ result: Result<AwaitedResult, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock {
            state -> (Bool, CheckedContinuation<AwaitedResult, any Error>?) in
            switch state {
            case .ended: return (false, nil)
            case .idle:
                state = .ended(result)
                return (true, nil)
            case .waiting(let continuation):
                state = .ended(result)
                return (true, continuation)
            }
        }
        continuation?.resume(with: result)
        return isFirst
    }

    /// - Parameter begin: Called before the wait; not if the end is there.
    func result(after begin: () -> Void) async throws -> AwaitedResult {
        try await withCheckedThrowingContinuation { continuation in
            let ended = state.withLock { state -> Result<AwaitedResult, any Error>? in
                if case .ended(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let ended { continuation.resume(with: ended) } else { begin() }
        }
    }
}
#endif
