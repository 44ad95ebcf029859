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
    /// The user is notified when a task of the host, or a ``BackgroundActivity`` of its process,
    /// has used up its time. `nil`, the default, leaves the host's setting unchanged.
    public var notifies: Bool?

    /// A host by its name and its program; recorded when a session or a scheduler is opened with
    /// it.
    public init(
        identifier: String, command: [String], permittedTaskIdentifiers: [String]? = nil
    ) {
        self.identifier = identifier
        self.command = command
        self.permittedTaskIdentifiers = permittedTaskIdentifiers
    }

    /// The same, with ``notifies``.
    public init(
        identifier: String, command: [String], permittedTaskIdentifiers: [String]? = nil,
        notifies: Bool
    ) {
        self.init(
            identifier: identifier, command: command,
            permittedTaskIdentifiers: permittedTaskIdentifiers)
        self.notifies = notifies
    }
}

/// The former name of ``HostProgram``, which Foundation has for a class.
@available(*, deprecated, renamed: "HostProgram")
public typealias Host = HostProgram
