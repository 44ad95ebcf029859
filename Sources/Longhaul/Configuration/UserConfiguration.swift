public import LonghaulCore

/// The settings of the configuration file; a key that is left out has its default.
public struct UserConfiguration: Sendable {
    /// Path of the file; `nil` = no file exists.
    public var path: String?
    /// The limits of an engine: `limits` of the file.
    public var limits = EngineLimits()
    /// The options of new transfers: `defaults` of the file.
    public var defaults = TransferDefaults()
    /// True if a command that leaves work behind starts an engine.
    public var autostart = true
    /// Absolute paths of the directories whose files `serve` may write and send: `serve` of the
    /// file. Empty = its working directory.
    package var servedDirectories: [String] = []
    /// How the user is notified: `notify` of the file.
    package var notices = NoticeSettings()

    /// The configuration without a file.
    public init() {}
}

/// How the user is notified of what has `notify` (``TransferOptions/notifies``).
package struct NoticeSettings: Hashable, Sendable {
    /// On the desktop.
    package var desktop = true
    /// By this program, with these arguments; empty = by none.
    package var command: [String] = []
}

/// The options of new transfers, unless a request has others.
public struct TransferDefaults: Hashable, Sendable {
    package var fields = PartialRequest()

    /// Says nothing.
    public init() {}

    /// Overwrites the request's options with the values of the file.
    public func apply(to request: inout TransferRequest) {
        fields.apply(to: &request, isDefault: true)
    }
}
