#if !canImport(Darwin)
internal import Foundation
public import FoundationNetworking
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
        var requests = RequestSettings()
        var accepted = AcceptedSettings()
        var deliversErrorPages = true
    }

    /// Settings that are recorded with each task.
    struct RequestSettings: Sendable {
        var connectionsPerHost: Int?
        var headers: [String: String] = [:]
        var allowsCellularAccess = true
        var allowsConstrainedNetworkAccess = true
        var networkServiceType = URLRequest.NetworkServiceType.default
        var proxies: ProxySettings?
        /// `.some(nil)`: none; `nil`: Foundation's shared one.
        var cookieStorage: HTTPCookieStorage??
        var setsCookies = true
        /// As ``cookieStorage``.
        var credentialStorage: URLCredentialStorage??
        var cachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
        var minimumTLS = tls_protocol_version_t.TLSv12
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

    subscript<Value: Sendable>(path: any WritableKeyPath<State, Value> & Sendable) -> Value {
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

    // MARK: - The network

    /// `false` = only where the network is known to be unmetered. Default: yes.
    public var allowsExpensiveNetworkAccess: Bool {
        get { self[\.session.allowsExpensiveNetworkAccess] }
        set { self[\.session.allowsExpensiveNetworkAccess] = newValue }
    }

    /// `false` = as of ``allowsExpensiveNetworkAccess``. Default: yes.
    public var allowsCellularAccess: Bool {
        get { self[\.requests.allowsCellularAccess] }
        set { self[\.requests.allowsCellularAccess] = newValue }
    }

    /// `false` = not while the machine is told to save power, Linux's counterpart of Low Data Mode.
    /// Default: yes.
    public var allowsConstrainedNetworkAccess: Bool {
        get { self[\.requests.allowsConstrainedNetworkAccess] }
        set { self[\.requests.allowsConstrainedNetworkAccess] = newValue }
    }

    /// `.background`: the session's tasks come after all others, as with a `priority` below 0.5.
    /// Other types are as `.default`.
    public var networkServiceType: URLRequest.NetworkServiceType {
        get { self[\.requests.networkServiceType] }
        set { self[\.requests.networkServiceType] = newValue }
    }

    /// The number of connections of one download, 1 to 16. All transfers to a host together are
    /// bounded by `limits.perOrigin` of the configuration file. Default: 6, which leaves the
    /// number to the engine.
    public var httpMaximumConnectionsPerHost: Int {
        get { self[\.requests.connectionsPerHost] ?? 6 }
        set { self[\.requests.connectionsPerHost] = newValue }
    }

    /// Proxies by the keys `HTTPEnable`, `HTTPProxy`, `HTTPPort`, the same with `HTTPS` and
    /// `SOCKS`, `kCFProxyUsernameKey` and `kCFProxyPasswordKey`; other keys do nothing. An empty
    /// dictionary: no proxy. `nil`, the default: by the `*_proxy` variables.
    public var connectionProxyDictionary: [AnyHashable: Any]? {
        get { self[\.requests.proxies]?.dictionary }
        set { self[\.requests.proxies] = newValue.map(ProxySettings.init) }
    }

    /// The oldest version of TLS that a server may speak. TLS 1.2 is the oldest in any case; with
    /// `.TLSv13` tasks end with `URLError.unsupportedURL`, since the engine cannot demand it.
    /// Default: `.TLSv12`.
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { self[\.requests.minimumTLS] }
        set { self[\.requests.minimumTLS] = newValue }
    }

    // MARK: - Header fields

    /// Header fields of all tasks, unless a task's request has them. Names and values are sent
    /// as their descriptions. Default: none.
    public var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { self[\.requests.headers] }
        set {
            let pairs = (newValue ?? [:]).map { ("\($0.key)", "\($0.value)") }
            self[\.requests.headers] = Dictionary(pairs) { $1 }
        }
    }

    /// Nothing is cached here. The policies that ignore remote caches or revalidate send
    /// `Cache-Control: no-cache`. Default: `.useProtocolCachePolicy`.
    public var requestCachePolicy: URLRequest.CachePolicy {
        get { self[\.requests.cachePolicy] }
        set { self[\.requests.cachePolicy] = newValue }
    }

    /// Its cookies for a task's URL are sent with the task, as they are when the task is recorded,
    /// where ``httpShouldSetCookies`` and the request allow it. Cookies of answers are not stored.
    /// Default: `HTTPCookieStorage.shared`.
    public var httpCookieStorage: HTTPCookieStorage? {
        get { self[\.requests.cookieStorage] ?? HTTPCookieStorage.shared }
        set { self[\.requests.cookieStorage] = .some(newValue) }
    }

    /// The cookies of ``httpCookieStorage`` are sent. Default: yes.
    public var httpShouldSetCookies: Bool {
        get { self[\.requests.setsCookies] }
        set { self[\.requests.setsCookies] = newValue }
    }

    /// Its default credentials for a host are sent with the tasks, and proposed in challenges;
    /// credentials of challenges are stored there unless their persistence is `.none`. Default:
    /// `URLCredentialStorage.shared`, which is empty in a new process.
    public var urlCredentialStorage: URLCredentialStorage? {
        get { self[\.requests.credentialStorage] ?? URLCredentialStorage.shared }
        set { self[\.requests.credentialStorage] = .some(newValue) }
    }
}

/// Settings that Apple's systems do not have.
extension BackgroundURLSessionConfiguration {
    /// The program that is started with the events of the session. `nil`, the default, leaves
    /// the session with the host that it has.
    public var host: HostProgram? {
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

    /// An answer of 400 and above is no error, as in Foundation: the server's page is the file of
    /// the download or the body of the answer to the upload, and `response` has the status. `false`
    /// = it is a `URLError`, as in `Longhaul`. A status that may pass (408, 429, 5xx) is tried
    /// again in both cases, until ``timeoutIntervalForResource`` ends the task. Default: yes.
    public var deliversErrorPages: Bool {
        get { self[\.deliversErrorPages] }
        set { self[\.deliversErrorPages] = newValue }
    }
}
#endif
