internal import Longhaul
internal import LonghaulCore
internal import Synchronization

/// The tasks that wait for a moment of a simulated world.
final class Sleepers: Sendable {
    private struct Sleeper {
        let until: Instant
        let continuation: CheckedContinuation<Void, any Error>
        let launch: SimulatedLaunch?
    }

    private struct State {
        var last = 0
        var sleepers: [Int: Sleeper] = [:]
        /// Cancelled before they slept.
        var cancelled: Set<Int> = []
        var isOver = false
    }

    private let state = Mutex(State())

    var nextMoment: Instant? { state.withLock { $0.sleepers.values.map(\.until).min() } }

    func sleep(until moment: Instant) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isAsleep = state.withLock { state in
                    if state.isOver || state.cancelled.remove(number) != nil { return false }
                    let launch = SimulatedLaunch.current
                    launch?.waits()
                    state.sleepers[number] = Sleeper(
                        until: moment, continuation: continuation, launch: launch)
                    return true
                }
                if !isAsleep { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: Int) {
        let sleeper = state.withLock { state in
            let sleeper = state.sleepers.removeValue(forKey: number)
            if sleeper == nil { state.cancelled.insert(number) }
            return sleeper
        }
        sleeper?.launch?.goesOn()
        sleeper?.continuation.resume(throwing: CancellationError())
    }

    /// Wakes those whose moment has come.
    func wake(at now: Instant) {
        let due = state.withLock { state in
            let due = state.sleepers.filter { $0.value.until <= now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due {
            sleeper.launch?.goesOn()
            sleeper.continuation.resume()
        }
    }

    func cancelAll() {
        let all = state.withLock { state in
            state.isOver = true
            defer { state.sleepers = [:] }
            return Array(state.sleepers.values)
        }
        for sleeper in all {
            sleeper.launch?.goesOn()
            sleeper.continuation.resume(throwing: CancellationError())
        }
    }
}
