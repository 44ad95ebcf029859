public import LonghaulCore

/// What the configuration file says; what it leaves out is as everywhere else.
public struct UserConfiguration: Sendable {
    /// The file it came from; `nil` = there is none.
    public var path: String?
    public var limits = EngineLimits()
    public var defaults = TransferDefaults()
    /// Whether a command that leaves work behind starts an engine.
    public var autostart = true

    public init() {}
}

/// What new transfers are asked for with, unless something else is said.
public struct TransferDefaults: Hashable, Sendable {
    public var connections: ConnectionCount?
    public var deadline: Deadline?
    public var ifExists: ExistingFilePolicy?
    public var limitRate: Int64?
    public var priority: Priority?
    public var retries: Int?
    public var stallTimeout: Double?
    public var waiveAfter: Double?
    public var yields: Bool?

    public init() {}

    public func apply(to request: inout TransferRequest) {
        if let deadline { request.deadline = deadline }
        if let priority { request.priority = priority }
        if let connections { request.options.connections = connections }
        if let ifExists { request.options.ifExists = ifExists }
        if let limitRate { request.options.limitRate = limitRate }
        if let retries { request.options.retries = retries }
        if let stallTimeout { request.options.stallTimeout = stallTimeout }
        if let waiveAfter { request.options.waiveAfter = waiveAfter }
        if let yields { request.options.yields = yields }
    }
}
