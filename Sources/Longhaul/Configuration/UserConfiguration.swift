public import LonghaulCore

/// The settings of the configuration file; a key that is left out has its default.
public struct UserConfiguration: Sendable {
    /// The file it came from; `nil` = there is none.
    public var path: String?
    /// The limits of an engine: `limits` of the file.
    public var limits = EngineLimits()
    /// The options of new transfers: `defaults` of the file.
    public var defaults = TransferDefaults()
    /// True if a command that leaves work behind starts an engine.
    public var autostart = true

    /// The configuration without a file.
    public init() {}
}

/// The options of new transfers, unless a request has others.
public struct TransferDefaults: Hashable, Sendable {
    /// ``LonghaulCore/TransferOptions/connections``; `nil` = not said, as for all that follows.
    public var connections: ConnectionCount?
    /// ``LonghaulCore/TransferRequest/deadline``.
    public var deadline: Deadline?
    /// ``LonghaulCore/TransferOptions/ifExists``.
    public var ifExists: ExistingFilePolicy?
    /// ``LonghaulCore/TransferOptions/limitRate``, bytes per second.
    public var limitRate: Int64?
    /// ``LonghaulCore/TransferRequest/priority``.
    public var priority: Priority?
    /// ``LonghaulCore/TransferOptions/retries``.
    public var retries: Int?
    /// ``LonghaulCore/TransferOptions/stallTimeout``, seconds.
    public var stallTimeout: Double?
    /// ``LonghaulCore/TransferOptions/waiveAfter``, seconds.
    public var waiveAfter: Double?
    /// ``LonghaulCore/TransferOptions/yields``.
    public var yields: Bool?

    /// Says nothing.
    public init() {}

    /// Sets in the request what the file says, in place of what is there.
    public func apply(to request: inout TransferRequest) {
        if let deadline { request.deadline = deadline }
        if let priority { request.priority = priority }
        if request.options.upload == nil {
            if let connections { request.options.connections = connections }
            if let ifExists { request.options.ifExists = ifExists }
        }
        if let limitRate { request.options.limitRate = limitRate }
        if let retries { request.options.retries = retries }
        if let stallTimeout { request.options.stallTimeout = stallTimeout }
        if let waiveAfter { request.options.waiveAfter = waiveAfter }
        if let yields { request.options.yields = yields }
    }
}
