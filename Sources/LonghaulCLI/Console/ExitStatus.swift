import Longhaul

/// The exit status of the process. The numbers are part of the contract with scripts.
enum ExitStatus: Int32, CaseIterable {
    /// Done as asked.
    case done = 0
    /// At least one named transfer failed or was cancelled.
    case transferFailed = 1
    case internalError = 2
    /// `wait --timeout` ran out.
    case timedOut = 3
    case noSuchTransfer = 4
    /// Conflict, limit reached, not permitted.
    case refused = 5
    /// Nothing was recorded.
    case usage = 64
    /// The store cannot be opened or created.
    case storeUnavailable = 73
    case interrupted = 130

    /// The status of a refused command.
    init(_ error: LonghaulError) {
        switch error.code {
        case .noSuchTransfer, .noSuchSession, .noSuchHost, .noSuchEvent, .noSuchTask,
            .noSuchBundle, .noSuchFolder:
            self = .noSuchTransfer
        case .conflict, .destinationExists, .permission, .noSpace, .tooLarge, .notPermitted,
            .sourceChanged, .tooManyPendingTaskRequests, .immediateRunIneligible, .unavailable,
            .unauthorized, .invalidManifest:
            self = .refused
        case .invalidRequest, .unsupported: self = .usage
        case .storeUnavailable: self = .storeUnavailable
        // Codes are open: a code that no refusal can have is an internal error.
        default: self = .internalError
        }
    }

    init(_ error: any Error) {
        switch error {
        case let error as LonghaulError: self.init(error)
        case let problem as InputProblem: self.init(problem.error)
        case is Console.Closed: self = .done
        default: self = .internalError
        }
    }

    /// The first of several refusals decides.
    init(_ outcomes: [ChangeOutcome]) {
        guard let error = outcomes.lazy.compactMap(\.error).first else {
            self = .done
            return
        }
        self.init(error)
    }

    /// `get` and `wait` fail if one of the transfers did.
    init(ended transfers: some Sequence<Transfer>) {
        let allCompleted = transfers.allSatisfy { $0.state == .completed }
        self = allCompleted ? .done : .transferFailed
    }
}

/// An error, and the line of the input that it is about.
struct InputProblem: Error {
    var error: LonghaulError
    /// `nil` = no line, or an argument of the command line.
    var line: Int?
}

extension ExitStatus {
    /// The table, for `--help`.
    static let help = help(ExitStatus.allCases)

    /// The lines of the statuses that a command can end with; an internal error is always one.
    static func help(_ statuses: [ExitStatus]) -> String {
        let all = Set(statuses).union([.internalError]).sorted { $0.rawValue < $1.rawValue }
        let lines = all.map { status in
            "  " + DisplayWidth.padded(String(status.rawValue), to: 6) + status.meaning
        }
        return "EXIT STATUS\n" + lines.joined(separator: "\n")
    }

    private var meaning: String {
        switch self {
        case .done: "done as asked"
        case .transferFailed: "a named transfer failed or was cancelled"
        case .internalError: "internal error"
        case .timedOut: "the time given with --timeout ran out"
        case .noSuchTransfer: "no such transfer, bundle, folder, session, host, event or task"
        case .refused: "refused: conflict, limit reached, not permitted"
        case .usage: "usage error; nothing was recorded"
        case .storeUnavailable: "the store cannot be opened or created"
        case .interrupted: "interrupted (Ctrl-C)"
        }
    }
}
