/// A program that owns sessions: it is started with their events when it is not running.
public struct HostProgram: Hashable, Sendable {
    /// Names the host in one store; by custom the name of its program or bundle, as in
    /// `com.example.photos`.
    public var identifier: String
    /// The absolute path of the program, and its arguments. No shell has a part in it.
    public var command: [String]
    /// The background tasks that may be submitted for the host. The counterpart of
    /// `BGTaskSchedulerPermittedIdentifiers`. `nil`, the default, leaves the host's list unchanged;
    /// pending requests of tasks that are not among new ones are cancelled.
    public var permittedTaskIdentifiers: [String]?

    /// A host by its name and its program; recorded when a session or a scheduler is opened with
    /// it.
    public init(
        identifier: String, command: [String], permittedTaskIdentifiers: [String]? = nil
    ) {
        self.identifier = identifier
        self.command = command
        self.permittedTaskIdentifiers = permittedTaskIdentifiers
    }
}

/// The former name of ``HostProgram``, which Foundation has for a class.
@available(*, deprecated, renamed: "HostProgram")
public typealias Host = HostProgram
