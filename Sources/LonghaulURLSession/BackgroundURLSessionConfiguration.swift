#if !canImport(Darwin)
internal import Foundation
public import Longhaul
internal import Synchronization

/// The settings of a background session (URLSession's `URLSessionConfiguration`). A session
/// copies them when it is made; later changes have no effect on it.
public final class BackgroundURLSessionConfiguration: Sendable {
    /// The identifier of the session. The next process that uses it finds the session's tasks.
    public let identifier: String?
    private let state: Mutex<State>

    struct State: Sendable {
        var session = BackgroundSession.Configuration()
        var connectionsPerHost: Int?
        var headers: [String: String] = [:]
    }

    private init(identifier: String?, _ state: State) {
        self.identifier = identifier
        self.state = Mutex(state)
    }

    /// A configuration with the defaults of `URLSessionConfiguration`.
    public static func background(
        withIdentifier identifier: String
    ) -> BackgroundURLSessionConfiguration {
        BackgroundURLSessionConfiguration(identifier: identifier, State())
    }

    var values: State { state.withLock { $0 } }

    func copy() -> BackgroundURLSessionConfiguration {
        BackgroundURLSessionConfiguration(identifier: identifier, values)
    }

    private subscript<Value: Sendable>(
        path: any WritableKeyPath<State, Value> & Sendable
    ) -> Value {
        get { state.withLock { $0[keyPath: path] } }
        set { state.withLock { $0[keyPath: path] = newValue } }
    }

    /// The engine picks the moment. Default: no.
    public var isDiscretionary: Bool {
        get { self[\.session.isDiscretionary] }
        set { self[\.session.isDiscretionary] = newValue }
    }

    /// The session's ``host`` is started when events wait and the program does not run.
    /// Default: yes; without a host nothing is started.
    public var sessionSendsLaunchEvents: Bool {
        get { self[\.session.sessionSendsLaunchEvents] }
        set { self[\.session.sessionSendsLaunchEvents] = newValue }
    }

    /// `false` = only where the network is known to be unmetered. Default: yes.
    public var allowsExpensiveNetworkAccess: Bool {
        get { self[\.session.allowsExpensiveNetworkAccess] }
        set { self[\.session.allowsExpensiveNetworkAccess] = newValue }
    }

    /// Seconds without a byte that end an attempt, never the task. Default: 60.
    public var timeoutIntervalForRequest: Double {
        get { self[\.session.timeoutIntervalForRequest] }
        set { self[\.session.timeoutIntervalForRequest] = newValue }
    }

    /// Deadline in seconds after the earliest beginning: a task that has not ended then fails.
    /// Default: 7 days.
    public var timeoutIntervalForResource: Double {
        get { self[\.session.timeoutIntervalForResource] }
        set { self[\.session.timeoutIntervalForResource] = newValue }
    }

    /// The number of connections of one download, 1 to 16. All transfers to a host together are
    /// bounded by `limits.perOrigin` of the configuration file. Default: 6, which leaves the
    /// number to the engine.
    public var httpMaximumConnectionsPerHost: Int {
        get { self[\.connectionsPerHost] ?? 6 }
        set { self[\.connectionsPerHost] = newValue }
    }

    /// Header fields of all tasks, unless a task's request has them. Names and values are sent
    /// as their descriptions. Default: none.
    public var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { self[\.headers] }
        set {
            let pairs = (newValue ?? [:]).map { ("\($0.key)", "\($0.value)") }
            self[\.headers] = Dictionary(pairs) { $1 }
        }
    }
}

/// Settings that Apple's systems do not have.
extension BackgroundURLSessionConfiguration {
    /// The program that is started with the events of the session. `nil`, the default, leaves
    /// the session with the host that it has.
    public var host: Longhaul.Host? {
        get { self[\.session.host] }
        set { self[\.session.host] = newValue }
    }

    /// Tells whether this process moves bytes itself. Default:
    /// `BackgroundSession.Engine.automatic`.
    public var engine: BackgroundSession.Engine {
        get { self[\.session.engine] }
        set { self[\.session.engine] = newValue }
    }

    /// The state directory. `nil`, the default, is that of the command.
    public var store: String? {
        get { self[\.session.store] }
        set { self[\.session.store] = newValue }
    }
}
#endif
