import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What is expected of hosts and events, by what was seen from the outside.
struct SimHostLedger {
    struct Fact {
        var session: String
        var type: EventType
        var transfer: TransferID?
        var wall: Timestamp
        var seenAt: Instant
        var isAcknowledged = false
        /// Somebody has acknowledged it, or a launch that was handed it has succeeded.
        var isExplained = false
        var timesHanded = 0

        var isWaiting: Bool { !isAcknowledged }
        var endsTransfer: Bool {
            type == .transferCompleted || type == .transferFailed || type == .transferCancelled
        }
    }

    struct Host {
        var argv: [String]
        var budget: Double?
        var taskBudget: Double?
        var failures = 0
        var failedAt: (wall: Timestamp, instant: Instant)?
        /// Something that held it back went away: it may take a moment until that is seen.
        var mendedAt: Instant?

        var seconds: Double { budget ?? 30 }

        mutating func forgive() {
            failures = 0
            failedAt = nil
        }
    }

    /// A launch that the engine which lives has ordered, or has adopted.
    struct Watched {
        var order: LaunchOrder
        var letGoAt: Instant?
        var adoptedAt: Instant?
        var askedAt: Instant?
        var killedAt: Instant?
        /// It has ended, and the engine knows.
        var isOver = false
        var passesOver: [String] = []
        /// The resident process is watched.
        var isPrepared = false
    }

    /// How a launch has ended, if an engine could see it.
    struct Truth {
        var host: String
        var events: [Int64] = []
        var ending: LaunchEnding?
        var status: Int?
        var wasAsked = false
        var hasLostAnswers = false
        var isResident = false
    }

    var log: [Int64: Fact] = [:]
    var hosts: [String: Host] = [:]
    var settings: [String: SessionSettings] = [:]
    var sessionOf: [TransferID: String] = [:]
    var watched: [LaunchID: Watched] = [:]
    /// Ordered in this turn.
    var ordered: [LaunchOrder] = []
    var orderedAt: [LaunchID: Instant] = [:]
    /// Begun, and how that ended is not in the store yet.
    var unsettled: [LaunchID: Truth] = [:]
    /// Resident processes have left without an end of these, and were not asked for one.
    var givenBack: Set<LaunchID> = []
    /// Ends of transfers since the session was last said to be finished.
    var ends: [String: Int] = [:]
    /// Launches that passed over a session which was due.
    var passedOver: [String: Int] = [:]
    /// The wall clock was set last: when, and to what.
    var jumped: (instant: Instant, wall: Timestamp)?
    /// The seconds by which it was set back at last, if it had been set just before: an engine
    /// that did not run in between sees the sum.
    var unseenSetBack: Double?
    /// No engine has written yet what follows from it.
    var isJumpNews = false
    var clock: (instant: Instant, wall: Timestamp)?

    func sessions(of host: String) -> [String] {
        settings.keys.filter { settings[$0]?.host == host }.sorted()
    }

    func waiting(of session: String) -> [Int64] {
        log.keys.filter { log[$0]?.session == session && log[$0]?.isWaiting == true }.sorted()
    }

    func isBusy(_ host: String) -> Bool {
        watched.values.contains { $0.order.host == host && !$0.isOver }
    }

    func hasJumped(since moment: Instant) -> Bool { jumped.map { $0.instant >= moment } ?? false }

    // MARK: - What happens

    mutating func explain(_ seqs: [Int64]) {
        for seq in seqs { log[seq]?.isExplained = true }
    }

    mutating func note(handed events: [StoredEvent], _ tally: inout SimHostTally) {
        for event in events {
            tally.handed += 1
            if log[event.seq]?.timesHanded ?? 0 > 0 { tally.again += 1 }
            log[event.seq]?.timesHanded += 1
        }
    }

    mutating func adopt(_ process: SimProcess, at now: Instant) {
        var entry = Watched(order: process.order)
        entry.letGoAt = process.letGoAt
        entry.adoptedAt = now
        watched[process.order.id] = entry
        if unsettled[process.order.id] == nil {
            unsettled[process.order.id] = Truth(
                host: process.host, events: process.events.map(\.seq),
                isResident: process.isResident)
        }
    }

    /// What the engine is told now.
    mutating func note(_ report: HostReport, at now: Instant) {
        switch report {
        case .ended(let id, _, _, _) where unsettled[id]?.isResident == true:
            watched[id]?.isOver = true
        case .ended(let id, let ending, let status, _):
            unsettled[id]?.ending = ending
            unsettled[id]?.status = status
            unsettled[id]?.wasAsked = watched[id]?.askedAt != nil
            watched[id]?.isOver = true
        case .notPrepared(let id, _):
            let host = watched[id]?.order.host ?? ""
            unsettled[id] = Truth(host: host, ending: .notStarted)
            // It had its turn.
            if let session = watched[id]?.order.eventSession { passedOver[session] = 0 }
            watched[id]?.isOver = true
        case .nothingToDo(let id): watched[id]?.isOver = true
        case .prepared, .answersWait, .answerRefused, .progress, .result, .attachments: break
        }
    }

    /// What it had been told and had not recorded, nobody knows.
    mutating func engineIsGone() {
        watched = [:]
        ordered = []
        for id in unsettled.keys where unsettled[id]?.isResident == false {
            unsettled[id]?.ending = nil
            unsettled[id]?.status = nil
            unsettled[id]?.wasAsked = false
        }
    }
}

/// What happened to the hosts of a life.
struct SimHostTally {
    var launches = 0
    var handed = 0
    var again = 0
    var succeeded = 0
    var failed = 0
    var asked = 0
    var killed = 0
    var adopted = 0
    var unknown = 0
    var discarded = 0
    var notPrepared = 0
    var acknowledged = 0
    var attachments = 0
    var answers = 0
    var refusals = 0
    var questions = 0
    var finished = 0
    var waits = 0
    var taskRuns = 0
    var results = 0
    var reports = 0
    var carriedOut = 0
    var wakeUps = 0
    var requirementsLost = 0
    var fired = 0
    var named = 0
    var streamed = 0
    var plain = 0
    var residents = 0
    var residentLaunches = 0
    var jobRuns = 0
    var jobsAdopted = 0
    var jobsPutOff = 0

    static func += (left: inout SimHostTally, right: SimHostTally) {
        for (_, path) in fields { left[keyPath: path] += right[keyPath: path] }
    }

    private static var fields: [(String, WritableKeyPath<SimHostTally, Int>)] {
        [
            ("runs of jobs", \.jobRuns), ("adopted runs of jobs", \.jobsAdopted),
            ("runs of jobs put off", \.jobsPutOff),
            ("launches", \.launches), ("events handed over", \.handed), ("of them again", \.again),
            ("successes", \.succeeded), ("failures", \.failed), ("asked to end", \.asked),
            ("killed", \.killed), ("adopted", \.adopted), ("unknown ends", \.unknown),
            ("discarded", \.discarded), ("not made", \.notPrepared),
            ("acknowledged one by one", \.acknowledged), ("attachments", \.attachments),
            ("answers", \.answers), ("not recorded at once", \.refusals),
            ("questions", \.questions),
            ("sessions finished", \.finished), ("launches awaited", \.waits),
            ("tasks and wake-ups begun", \.taskRuns), ("results", \.results),
            ("reports of progress", \.reports),
            ("requests carried out", \.carriedOut), ("wake-ups handled", \.wakeUps),
            ("requirements lost", \.requirementsLost), ("triggers", \.fired),
            ("told triggers with a name", \.named), ("events of streams", \.streamed),
            ("launches for plain wake-ups alone", \.plain),
            ("residents", \.residents), ("launches of residents", \.residentLaunches),
        ]
    }

    var description: String {
        Self.fields.map { "\(self[keyPath: $0.1]) \($0.0)" }.joined(separator: ", ")
    }
}
