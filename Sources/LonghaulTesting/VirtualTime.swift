internal import Longhaul
internal import LonghaulCore
internal import Synchronization

/// The time of a simulated world: it stands still until the world advances.
final class VirtualClock: Sendable {
    /// Long after the machine has started.
    private static let begin = Instant(nanoseconds: 1_000_000_000_000)

    private let start: Timestamp
    private let instant = Mutex(VirtualClock.begin)

    init(startingAt start: Timestamp) {
        self.start = start
    }

    var now: Moment {
        let instant = instant.withLock { $0 }
        return Moment(wall: start + (instant - VirtualClock.begin), monotonic: instant)
    }

    /// Never back.
    func advance(to next: Instant) {
        instant.withLock { $0 = max($0, next) }
    }
}

/// The tasks that wait for a moment of a simulated world.
final class Sleepers: Sendable {
    private struct Sleeper {
        let until: Instant
        let continuation: CheckedContinuation<Void, any Error>
        let world: SimulatedWaits?
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
                    let world = SimulatedWaits.current
                    world?.begin()
                    state.sleepers[number] = Sleeper(
                        until: moment, continuation: continuation, world: world)
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
        sleeper?.world?.end()
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
            sleeper.world?.end()
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
            sleeper.world?.end()
            sleeper.continuation.resume(throwing: CancellationError())
        }
    }
}
