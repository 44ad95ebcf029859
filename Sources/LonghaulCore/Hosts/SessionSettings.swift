/// What holds for all transfers of a session, and who is told of them.
public struct SessionSettings: Hashable, Sendable {
    /// The program that is told what happened; `nil` = nobody is, the events wait.
    public var host: String?
    /// Transfers enqueued from now on are discretionary, whatever their request says.
    public var isDiscretionary = false
    /// Whether the host is started for events. If not, they wait until it comes for them.
    public var launchEvents = true
    /// Whether the host is asked before a transfer begins that was put off to a later time.
    public var askBeforeStart = false
    /// Seconds from the first event that waits to the start of the host, so that it is started once
    /// for many; `nil` = ``defaultLaunchDelay``. A session without live transfers waits for
    /// nothing.
    public var launchDelay: Double?

    public static let defaultLaunchDelay: Double = 5

    public init() {}
}

/// What `session set` may change. `nil` = leave as it is.
public struct SessionChange: Hashable, Sendable {
    /// `.some(nil)` = no host any more.
    public var host: String??
    public var isDiscretionary: Bool?
    public var launchEvents: Bool?
    public var askBeforeStart: Bool?
    /// `.some(nil)` = the default.
    public var launchDelay: Double??

    public init() {}

    package func apply(to settings: inout SessionSettings) {
        if let host { settings.host = host }
        if let isDiscretionary { settings.isDiscretionary = isDiscretionary }
        if let launchEvents { settings.launchEvents = launchEvents }
        if let askBeforeStart { settings.askBeforeStart = askBeforeStart }
        if let launchDelay { settings.launchDelay = launchDelay }
    }
}
