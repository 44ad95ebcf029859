/// The state of a transfer in the reference model: the one that `list` shows, except that a cancel
/// which no engine has applied yet is told apart.
enum ModelState: String, CaseIterable, Sendable {
    case waiting, running, paused, completed, failed
    /// Shown as `cancelled`; no engine has applied the cancel yet, and `retry` takes it back.
    case cancelling
    case cancelled

    /// The word of `list` and of JSON.
    var shown: String { self == .cancelling ? Self.cancelled.rawValue : rawValue }

    /// The end was committed, with its event.
    var hasEnded: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .waiting, .running, .paused, .cancelling: false
        }
    }

    /// The event that is committed with it.
    var event: String? {
        switch self {
        case .completed: "transferCompleted"
        case .failed: "transferFailed"
        case .cancelled: "transferCancelled"
        case .waiting, .running, .paused, .cancelling: nil
        }
    }

    /// An engine may lead a transfer there, in any number of steps.
    func leads(to state: ModelState) -> Bool {
        var reached: Set = [self]
        var unseen = reached
        while let next = unseen.popFirst() {
            let further = Set(ModelEdge.all.filter { $0.from == next }.map(\.to))
            unseen.formUnion(further.subtracting(reached))
            reached.formUnion(further)
        }
        return reached.contains(state)
    }

    /// Its destination is reserved, and `--after` waits for it.
    var isLive: Bool { !hasEnded }
}

/// The commands that change one transfer, or all of a selection.
enum ModelVerb: String, CaseIterable, Sendable {
    case pause, resume, now, cancel, retry, set, remove

    /// Commands that an ended transfer may be taken up again by.
    var rearms: Bool { self == .resume || self == .now || self == .retry }

    /// The states of the transfers that `--all` and `--session` concern.
    var concerns: Set<ModelState> {
        switch self {
        case .pause, .cancel: [.waiting, .running, .paused]
        case .resume: [.paused, .failed]
        case .now: [.waiting, .running, .paused, .failed]
        case .retry: [.failed, .cancelling, .cancelled]
        case .set, .remove: []
        }
    }
}

/// The effect of a command, visible at once, with or without an engine.
enum ModelRule: Hashable, Sendable {
    /// Accepted (exit 0). `waiting` may be shown as `running`, where no engine has seen the command
    /// before this one.
    case becomes(ModelState)
    /// Nothing is changed (exit 5; `resume`, `retry` and `now` of a completed transfer: exit 0).
    case refused
    /// The transfer is forgotten.
    case removed

    func words(in state: ModelState) -> String {
        switch self {
        case .becomes(state): "stays"
        case .becomes(let next): "`\(next.rawValue)`"
        case .refused: "refused"
        case .removed: "forgotten"
        }
    }
}

/// What each command does in each state.
struct ModelRules: Sendable {
    private var table: [ModelVerb: [ModelState: ModelRule]]

    subscript(_ verb: ModelVerb, _ state: ModelState) -> ModelRule {
        get { table[verb]?[state] ?? .refused }
        set { table[verb, default: [:]][state] = newValue }
    }

    /// As documented: a state that is missing refuses the command.
    static let documented = ModelRules(table: [
        .pause: [
            .waiting: .becomes(.paused), .running: .becomes(.paused), .paused: .becomes(.paused),
        ],
        .resume: [
            .waiting: .becomes(.waiting), .running: .becomes(.running),
            .paused: .becomes(.waiting), .failed: .becomes(.waiting),
        ],
        .now: [
            .waiting: .becomes(.waiting), .running: .becomes(.running),
            .paused: .becomes(.waiting), .failed: .becomes(.waiting),
        ],
        .cancel: [
            .waiting: .becomes(.cancelling), .running: .becomes(.cancelling),
            .paused: .becomes(.cancelling),
        ],
        .retry: [
            .waiting: .becomes(.waiting), .running: .becomes(.running),
            .paused: .becomes(.waiting), .failed: .becomes(.waiting),
            .cancelling: .becomes(.waiting), .cancelled: .becomes(.waiting),
        ],
        .set: [
            .waiting: .becomes(.waiting), .running: .becomes(.running), .paused: .becomes(.paused),
            .failed: .becomes(.failed), .cancelling: .becomes(.cancelling),
            .cancelled: .becomes(.cancelled),
        ],
        .remove: [.completed: .removed, .failed: .removed, .cancelled: .removed],
    ])
}

/// When an engine may lead a transfer from one state to another.
enum ModelGuard: String, CaseIterable, Sendable {
    case isFree, always, isWhole, isRefused, isNameTaken, isFailing, isLate, isMissed, isApplied

    var words: String {
        switch self {
        case .isFree: "nothing holds it"
        case .always: "a condition was lost, its turn is over, an attempt failed, the engine ended"
        case .isWhole:
            "the file is durable under its name, or at its server (or `--if-exists skip` has kept"
                + " another)"
        case .isRefused: "its server refuses for good, as with 404"
        case .isNameTaken: "another file has its name, and `--if-exists` is `fail`"
        case .isFailing: "its attempt had failed for good already"
        case .isLate: "its deadline is over"
        case .isMissed: "a transfer of its `--after` has failed or was cancelled"
        case .isApplied: "an engine has applied the cancel"
        }
    }
}

/// One step that an engine may make without a command.
struct ModelEdge: Hashable, Sendable {
    let from: ModelState
    let to: ModelState
    let when: ModelGuard

    /// All of them. A transfer whose file is whole already completes although it was paused or
    /// cancelled meanwhile, and one whose attempt has failed for good fails.
    static let all: [ModelEdge] = [
        ModelEdge(from: .waiting, to: .running, when: .isFree),
        ModelEdge(from: .waiting, to: .failed, when: .isLate),
        ModelEdge(from: .waiting, to: .failed, when: .isMissed),
        ModelEdge(from: .running, to: .waiting, when: .always),
        ModelEdge(from: .running, to: .completed, when: .isWhole),
        ModelEdge(from: .running, to: .failed, when: .isRefused),
        ModelEdge(from: .running, to: .failed, when: .isNameTaken),
        ModelEdge(from: .running, to: .failed, when: .isLate),
        ModelEdge(from: .paused, to: .completed, when: .isWhole),
        ModelEdge(from: .paused, to: .failed, when: .isFailing),
        ModelEdge(from: .paused, to: .failed, when: .isLate),
        ModelEdge(from: .paused, to: .failed, when: .isMissed),
        ModelEdge(from: .cancelling, to: .cancelled, when: .isApplied),
        ModelEdge(from: .cancelling, to: .completed, when: .isWhole),
        ModelEdge(from: .cancelling, to: .failed, when: .isFailing),
    ]
}

/// What keeps a transfer from running, by the reason that `waitingFor` gives.
enum ModelHold: String, CaseIterable, Sendable {
    case earliestBegin, power, unmetered, network, transfers

    var words: String {
        switch self {
        case .earliestBegin: "`--earliest` has not come"
        case .power: "`--require power`, on battery"
        case .unmetered: "`--require unmetered`, on a metered network"
        case .network: "there is no network"
        case .transfers: "a transfer of `--after` has not ended"
        }
    }

    /// `now` sets it aside.
    var isSetAside: Bool { self != .network }
}
