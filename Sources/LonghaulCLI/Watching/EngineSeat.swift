import Longhaul
import Synchronization

/// The engine of a command that waits for transfers: one at a time, on a thread of its own.
final class EngineSeat: Sendable {
    private enum State {
        case empty
        case taken(EngineRun)
        case left(Result<EngineSummary, LonghaulError>)
    }

    private let state = Mutex(State.empty)
    /// Rung when the engine leaves.
    private let leaving: Doorbell

    init() throws(LonghaulError) {
        leaving = try Doorbell()
    }

    var isTaken: Bool {
        state.withLock {
            switch $0 {
            case .taken: true
            case .empty, .left: false
            }
        }
    }

    func take(_ engine: EngineRun) throws(LonghaulError) {
        precondition(!isTaken, "one engine at a time")
        state.withLock { $0 = .taken(engine) }
        do throws(LonghaulError) {
            try Platform.startThread { [self] in
                let result = Result { () throws(LonghaulError) in try engine.run() }
                state.withLock { $0 = .left(result) }
                leaving.ring()
            }
        } catch {
            state.withLock { $0 = .empty }
            throw error
        }
    }

    /// The engine's result, returned once; `nil` while it works, and if there was none.
    func takeResult() -> Result<EngineSummary, LonghaulError>? {
        state.withLock {
            switch $0 {
            case .empty, .taken: return nil
            case .left(let result):
                $0 = .empty
                return result
            }
        }
    }

    /// Makes the engine save everything and end; from any thread.
    func stop() {
        let engine = state.withLock { state -> EngineRun? in
            switch state {
            case .taken(let engine): engine
            case .empty, .left: nil
            }
        }
        engine?.stop()
    }

    /// Returns when the engine has ended, a signal was caught, or the time is over.
    func waitForLeaving(timeout seconds: Double) {
        leaving.wait(timeout: seconds)
    }
}
