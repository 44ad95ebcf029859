internal import LonghaulCore

/// When the engine has to apply intents of clients, and how far it has got.
struct IntentInbox {
    /// Some may be waiting.
    var isDue = true
    /// The last transaction applied as many as one may, and left some.
    private(set) var isBehind = false
    /// Transactions that applied intents.
    private(set) var rounds = 0

    /// Committed.
    mutating func applied(_ changes: TurnChanges) {
        rounds += 1
        isBehind = changes.isIncomplete
    }
}

/// The engine's knowledge of the clock, to compare with.
struct EngineClock {
    /// Tells a clock that was set from the clock of another boot; `nil` = the boot is unknown.
    var bootID: String?
    private var lastTurn: Moment?
    /// The clock went back since intents were last applied.
    private(set) var wentBack = false
    /// The same, to an earlier or a later time.
    private(set) var wasSet = false

    /// The mark that is stored with the clock's time; `nil` = the clock was not set.
    func mark(_ now: Moment) -> ClockMark? {
        guard wasSet else { return nil }
        return bootID.map { ClockMark(boot: $0, at: now) }
    }

    /// Milliseconds the clock was set forward or back since the last turn; `nil` = it was not set.
    mutating func jump(_ now: Moment) -> Int64? {
        guard bootID != nil, let lastTurn,
            let jump = ClockMark(boot: "", at: now).jump(since: ClockMark(boot: "", at: lastTurn))
        else { return nil }
        wasSet = true
        return jump
    }

    /// Once a turn. `true` = the clock was set back since the last one.
    mutating func advance(to now: Moment) -> Bool {
        let isBack = lastTurn.map { now.isSetBack(since: $0) } ?? false
        if let lastTurn {
            assert(now.monotonic >= lastTurn.monotonic, "the monotonic clock never goes back")
        }
        lastTurn = now
        wentBack = wentBack || isBack
        return isBack
    }

    mutating func start(at now: Moment) { lastTurn = now }

    /// The store knows.
    mutating func committed() {
        wentBack = false
        wasSet = false
    }
}
