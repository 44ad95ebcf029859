internal import Glibc
internal import LonghaulModel

/// Samples whether the machine is in use, by its load and the input at its terminals. For machines
/// where logind does not report idleness. There are no notifications, so it polls.
struct IdleSampler {
    static let source = "proc"

    private(set) var isIdle: Bool?
    /// When to sample again.
    private(set) var due: Instant?

    private let snapshot: ConditionContext
    private var lookedAt: Instant?
    /// The round of wants at the last sample.
    private var round: Int?
    /// When the machine can be idle at the earliest; if it is idle, when to sample again.
    private var expectedAt: Instant?

    init(_ snapshot: ConditionContext) {
        self.snapshot = snapshot
    }

    /// Samples if it is time to.
    ///
    /// - Parameters:
    ///   - isRunning: a transfer must stop soon when the machine is used.
    ///   - round: the round of wants. After a change, a sample of a second ago is too old: a
    ///     transfer may be about to start.
    mutating func sample(_ now: Moment, isRunning: Bool, round: Int) {
        due = nextLook(isRunning: isRunning, isOld: round != self.round)
        if let due, now.monotonic < due { return }
        let facts = facts(now.wall)
        isIdle = facts.isIdle(wasIdle: isIdle ?? false)
        lookedAt = now.monotonic
        self.round = round
        expectedAt = now.monotonic + pause(facts)
        due = nextLook(isRunning: isRunning, isOld: false)
    }

    /// No transfer waits for it any more.
    mutating func forget() {
        isIdle = nil
        due = nil
        lookedAt = nil
    }

    private func nextLook(isRunning: Bool, isOld: Bool) -> Instant? {
        guard let lookedAt, let expectedAt else { return nil }
        guard isRunning || isOld else { return expectedAt }
        return min(expectedAt, lookedAt + snapshot.idleSampleSeconds.running)
    }

    /// Seconds until the next sample if no running transfer depends on it.
    private func pause(_ facts: IdleFacts) -> Double {
        let standing = snapshot.idleSampleSeconds.standing
        guard isIdle == false, let seconds = facts.secondsUntilIdle else { return standing }
        // No file shows when a graphical session ends, so no time can be predicted.
        if facts.secondsSinceInput == 0 { return standing }
        var calmer = facts
        calmer.load = nil
        calmer.pressure = nil
        let away = calmer.secondsUntilIdle ?? 0
        return seconds > away ? max(seconds, snapshot.loadSampleSeconds) : away
    }

    private func facts(_ now: Timestamp) -> IdleFacts {
        var facts = IdleFacts()
        facts.load = (try? smallFile("\(snapshot.proc)/loadavg")).flatMap {
            IdleFacts.load($0, processors: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        }
        facts.pressure = (try? smallFile("\(snapshot.proc)/pressure/cpu")).flatMap {
            IdleFacts.pressure($0)
        }
        let last = Terminals(dev: snapshot.dev, logins: snapshot.logins).lastInput()
        // If the clock was set back, the last input seems to be in the future: then it counts as
        // now.
        facts.secondsSinceInput = last.map { max(0, now - $0) }
        return facts
    }
}
