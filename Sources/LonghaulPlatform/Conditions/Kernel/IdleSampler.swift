internal import Glibc
internal import LonghaulCore

/// Whether the machine is in use, from its load and from who types at its terminals: for machines
/// where logind does not keep track. Nothing tells of it, so it is looked at now and then.
struct IdleSampler {
    static let source = "proc"

    private(set) var isIdle: Bool?
    /// When to look again.
    private(set) var due: Instant?

    private let snapshot: ConditionContext
    private var lookedAt: Instant?
    /// Of wants, at the last look.
    private var round: Int?
    /// When the machine can be idle at the earliest, or is to be looked at although it is.
    private var expectedAt: Instant?

    init(_ snapshot: ConditionContext) {
        self.snapshot = snapshot
    }

    /// Looks if it is time to.
    ///
    /// - Parameters:
    ///   - isRunning: something is to end soon when the machine is used.
    ///   - round: of what is wanted. When that has changed, what was seen a second ago is too old:
    ///     something may be about to start.
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

    /// Nobody waits for it any more.
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

    /// Until the next look where nothing runs that depends on it.
    private func pause(_ facts: IdleFacts) -> Double {
        let standing = snapshot.idleSampleSeconds.standing
        guard isIdle == false, let seconds = facts.secondsUntilIdle else { return standing }
        // No file tells when a graphical session ends: nothing can be expected.
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
        // A clock that was set back makes it seem to be in the future: then it is now.
        facts.secondsSinceInput = last.map { max(0, now - $0) }
        return facts
    }
}
