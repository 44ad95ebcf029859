internal import LonghaulCore

extension BackgroundSession {
    /// Settings that hold for all transfers of a session unless a request says otherwise. The names
    /// are `URLSessionConfiguration`'s.
    public struct Configuration: Hashable, Sendable {
        /// The engine picks the moment: power, an unmetered network and an idle machine are
        /// preferred. Default: no.
        public var isDiscretionary = false
        /// The session's host is started when events wait and no process of it is attached.
        /// Default: yes; without a ``host`` nothing is started.
        public var sessionSendsLaunchEvents = true
        /// The host is asked before a transfer begins that was put off (`earliestBeginDate`).
        /// Default: no.
        public var asksBeforeDelayedRequests = false
        /// Stall timeout in seconds: silence of this length ends an attempt, never the transfer.
        /// Default: 60.
        public var timeoutIntervalForRequest: Double = 60
        /// Deadline in seconds after the earliest beginning: a transfer that has not ended then
        /// fails. Default: 7 days.
        public var timeoutIntervalForResource: Double = Deadline.defaultSeconds
        /// `false` = only where the network is known to be unmetered. Default: yes.
        public var allowsExpensiveNetworkAccess = true
        /// Permission for addresses that are not public, redirects included. A program that fetches
        /// untrusted URLs refuses them. Recorded with each transfer, for any engine. Default:
        /// allowed.
        public var privateAddresses: PrivateAddresses = .allow
        /// The program that is started with the events of the session. `nil` leaves the session
        /// with the host that it has.
        public var host: HostProgram?
        /// Tells whether this process moves bytes itself. Default: ``Engine/automatic``.
        public var engine: Engine = .automatic
        /// The state directory. `nil` = as for the command: `$LONGHAUL_HOME`, else
        /// `$XDG_STATE_HOME/longhaul`, else `~/.local/state/longhaul`.
        public var store: String?

        /// The defaults.
        public init() {}
    }

    /// The engine moves the bytes of a store; one process at a time is the engine.
    public enum Engine: Hashable, Sendable {
        /// The process is the engine whenever no other process is: it takes over within a second
        /// when the other ends, however that ends, and makes room when its last session is
        /// invalidated or the process ends. It keeps to the limits of the user's configuration
        /// file.
        case automatic
        /// The process never is the engine: a daemon, `longhaul run` or another program has to be.
        case external
        /// The process has to be the engine from the start: the session is refused (`conflict`)
        /// while another process is.
        case inProcess
    }
}

extension TransferRequest {
    /// Adds the session's settings.
    mutating func fill(from configuration: BackgroundSession.Configuration) {
        if configuration.isDiscretionary, !saysDiscretionary.isSet {
            isDiscretionary = true
        }
        if !configuration.allowsExpensiveNetworkAccess {
            schedule.requires.unmetered = true
        }
        if configuration.privateAddresses == .refuse {
            options.privateAddresses = .refuse
        }
        if options.stallTimeout == TransferOptions().stallTimeout {
            options.stallTimeout = configuration.timeoutIntervalForRequest
        }
        if deadline == .after(seconds: Deadline.defaultSeconds) {
            deadline = .after(seconds: configuration.timeoutIntervalForResource)
        }
    }
}
