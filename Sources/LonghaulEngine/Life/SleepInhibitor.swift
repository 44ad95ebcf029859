internal import LonghaulCore
internal import LonghaulPlatform

/// Bytes must move for this long before sleep is inhibited: a transfer without unsaved bytes is
/// no reason, and neither are many short transfers of small files.
private let inhibitAfterSeconds: Double = 1
/// Longest suspension where no event tells that the machine is awake again.
private let suspendedMaximumSeconds: Double = 60

/// Saves everything before the machine sleeps or goes down, and lets it wait for that.
struct SleepInhibitor {
    /// Held until everything is saved.
    private var permit: DelayPermit?
    /// Held until the engine has left.
    private var lastPermit: DelayPermit?
    private var lyingSince: Instant?
    private var busySince: Instant?
    private(set) var isAttending = false
    private var isKeptAwake = false

    /// Returns whether the engine is to leave for good.
    mutating func respond(to event: MachineEvent, _ engine: Engine, now: Moment) -> Bool {
        switch event {
        case .willSleep(let permit):
            self.permit = permit
            lyingSince = now.monotonic
            if !engine.isLeaving { engine.suspend(now: now) }
        case .didWake: wakeUp(engine, now: now)
        case .willShutDown(let permit):
            engine.journal?.machineGoesDown()
            lastPermit = permit
            return true
        case .shutdownCancelled, .mounts, .paths: break
        }
        return false
    }

    /// After a turn. Returns when to call it again; `nil` = at the next turn.
    mutating func afterTurn(
        _ engine: Engine, isQuiet: Bool, _ conditions: any ConditionsPort, now: Moment
    ) -> Instant? {
        if let since = lyingSince {
            if isQuiet {
                permit?.release()
                permit = nil
            }
            let end = since + suspendedMaximumSeconds
            if now.monotonic < end { return end }
            wakeUp(engine, now: now)
            // Transfers that may start again need another turn.
            return now.monotonic
        }
        if engine.activeCount == 0 {
            busySince = nil
        } else if busySince == nil {
            busySince = now.monotonic
        }
        let attends = busySince.map { now.monotonic >= $0 + inhibitAfterSeconds } ?? false
        if attends != isAttending {
            isAttending = attends
            conditions.attend(attends)
        }
        guard let busySince, !attends else { return nil }
        return busySince + inhibitAfterSeconds
    }

    /// Lets an unused machine go to sleep, or keeps it from that.
    mutating func keepAwake(_ isWanted: Bool, _ conditions: any ConditionsPort) {
        if isWanted == isKeptAwake { return }
        isKeptAwake = isWanted
        conditions.keepAwake(isWanted)
    }

    private mutating func wakeUp(_ engine: Engine, now: Moment) {
        guard lyingSince != nil else { return }
        lyingSince = nil
        permit = nil
        engine.resume(now: now)
    }

    /// The machine may go down.
    func end() {
        permit?.release()
        lastPermit?.release()
    }
}
