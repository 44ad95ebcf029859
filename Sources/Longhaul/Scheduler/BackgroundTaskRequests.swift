public import FoundationEssentials
public import LonghaulCore

/// A request to launch a host for a task. The counterpart of `BGTaskRequest`.
///
/// What the kinds of requests have in common is here: when a task may begin and what it
/// needs. Everything in ``request`` that has no property here may be set there.
public protocol BackgroundTaskRequest: Hashable, Sendable, CustomStringConvertible {
    /// The recorded request, the same as `longhaul task submit` records.
    var request: TaskRequest { get set }
}

extension BackgroundTaskRequest {
    /// The request as text, without the payload.
    public var description: String { request.description }

    /// Names the task; permitted to the host by ``HostProgram/permittedTaskIdentifiers``.
    public var identifier: String { request.identifier }

    /// The task does not begin before this moment; `nil`, the default, is at once.
    public var earliestBeginDate: Date? {
        get { request.earliestBegin.map(Date.init) }
        set { request.earliestBegin = newValue.map(Timestamp.init) }
    }

    /// The task needs external power, to begin and to keep running. Default: no.
    public var requiresExternalPower: Bool {
        get { request.requirements.power }
        set { request.requirements.power = newValue }
    }

    /// The task needs a network, to begin and to keep running. Default: no.
    public var requiresNetworkConnectivity: Bool {
        get { request.requirements.network }
        set { request.requirements.network = newValue }
    }

    /// The task needs a network that is known to cost nothing by volume. Default: no.
    public var requiresUnmeteredNetwork: Bool {
        get { request.requirements.unmetered }
        set { request.requirements.unmetered = newValue }
    }

    /// Networks, one of which the task needs: names given by `longhaul network name`, or
    /// connections of NetworkManager by id or UUID; `!NAME` is any other network than that one.
    /// Empty, the default, is any.
    public var requiredNetworks: Set<String> {
        get { request.requirements.networks }
        set { request.requirements.networks = newValue }
    }

    /// File systems that must all be mounted, each by its mount point, its label or its UUID.
    /// Default: none.
    public var requiredMounts: Set<String> {
        get { request.requirements.mounts }
        set { request.requirements.mounts = newValue }
    }

    /// The task needs a machine without a user at it. Default: no.
    public var requiresIdle: Bool {
        get { request.requirements.idle }
        set { request.requirements.idle = newValue }
    }

    /// Charge in percent, 1 to 100, below which the task needs external power. `nil`, the default,
    /// is any charge.
    public var minimumBatteryLevel: Int? {
        get { request.requirements.battery }
        set { request.requirements.battery = newValue }
    }

    /// How often the task is repeated; `nil`, the default, is once.
    public var repeats: TaskRepetition? {
        get { request.repetition }
        set { request.repetition = newValue }
    }

    /// Handed to the host with the task; `nil`, the default, is nothing.
    public var payload: JSONPayload? {
        get { request.payload.flatMap { try? JSONPayload(parsing: $0) } }
        set { request.payload = newValue?.text }
    }
}

extension TaskRepetition {
    /// A repetition after these seconds, 1 to a year.
    ///
    /// - Parameters:
    ///   - interval: Seconds between two runs.
    ///   - tolerance: Seconds that a run may come earlier: a run waits for a good moment as
    ///     long as this lasts. `nil` = half of the interval.
    public static func every(_ interval: Double, tolerance: Double? = nil) -> TaskRepetition {
        TaskRepetition(interval: interval, tolerance: tolerance)
    }
}

/// A request for a short refresh of what a program shows: 30 seconds a launch, unless the host has
/// another budget. The counterpart of `BGAppRefreshTaskRequest`.
///
/// A refresh that repeats or has an earliest moment begins shortly before the host is usually used.
/// One pending request of this kind is accepted for each host.
public struct AppRefreshTaskRequest: BackgroundTaskRequest {
    public var request: TaskRequest

    /// A refresh, once.
    public init(identifier: String, earliestBeginDate: Date? = nil) {
        request = TaskRequest(identifier: identifier, kind: .refresh)
        self.earliestBeginDate = earliestBeginDate
    }

    fileprivate init(_ request: TaskRequest) { self.request = request }
}

/// A request for longer work: ten minutes a launch, unless the host has another budget. The
/// counterpart of `BGProcessingTaskRequest`. Ten pending requests of this kind are accepted for
/// each host.
public struct ProcessingTaskRequest: BackgroundTaskRequest {
    public var request: TaskRequest

    /// Work to be done once, at once, without requirements.
    public init(identifier: String, earliestBeginDate: Date? = nil) {
        request = TaskRequest(identifier: identifier, kind: .processing)
        self.earliestBeginDate = earliestBeginDate
    }

    fileprivate init(_ request: TaskRequest) { self.request = request }
}

/// A request for work that a person began and may leave, as an export. It begins at once, in a
/// launch of its own, and has no time limit while its handler reports
/// ``BackgroundTask/progress``; one that reports none for 60 seconds is expired. People see it with
/// its title and progress, and may stop it: it is expired then, too. It is not repeated after a
/// failure; one that an engine or the machine has lost comes again. The counterpart of
/// `BGContinuedProcessingTaskRequest`.
///
/// The identifier is permitted to the host, or one of a permitted wildcard (`com.example.export.*`
/// permits `com.example.export.7`). Ten pending requests of this kind are accepted for each host.
public struct ContinuedTaskRequest: BackgroundTaskRequest {
    public var request: TaskRequest

    /// The title that a person sees: 1 to 256 bytes, on one line.
    public var title: String {
        get { work.title }
        set { request.continued = work.with { $0.title = newValue } }
    }

    /// Shown below the title, at most 256 bytes; `nil` = nothing.
    public var subtitle: String? {
        get { work.subtitle }
        set { request.continued = work.with { $0.subtitle = newValue } }
    }

    /// What happens if the task cannot begin at once. Default: it waits.
    public var strategy: SubmissionStrategy {
        get { work.strategy }
        set { request.continued = work.with { $0.strategy = newValue } }
    }

    private var work: ContinuedWork { request.continued ?? ContinuedWork(title: "") }

    /// Work to be done once, at once, without requirements. ``earliestBeginDate`` and ``repeats``
    /// stay unset: a request with either is refused.
    public init(
        identifier: String, title: String, subtitle: String? = nil,
        strategy: SubmissionStrategy = .queue
    ) {
        request = TaskRequest(
            identifier: identifier,
            continued: ContinuedWork(title: title, subtitle: subtitle, strategy: strategy))
    }

    fileprivate init(_ request: TaskRequest) { self.request = request }
}

extension ContinuedWork {
    fileprivate func with(_ change: (inout ContinuedWork) -> Void) -> ContinuedWork {
        var work = self
        change(&work)
        return work
    }
}

/// A standing request: a launch each time the machine changes in a way, until it is cancelled. The
/// counterpart of launches for significant location changes.
///
/// A change has 5 seconds to settle, and at most one launch a minute follows.
public struct TriggerRequest: BackgroundTaskRequest {
    public var request: TaskRequest

    /// The changes that launch the host, at least one.
    public var triggers: [TaskTrigger] {
        get { request.triggers }
        set { request.triggers = newValue }
    }

    /// A standing request; its launches are as short as a refresh unless `kind` says otherwise.
    public init(identifier: String, on triggers: [TaskTrigger], kind: TaskKind = .refresh) {
        request = TaskRequest(identifier: identifier, kind: kind)
        request.triggers = triggers
    }

    fileprivate init(_ request: TaskRequest) { self.request = request }
}

extension TaskTrigger {
    /// The file at this URL, or one in the directory there, was created, replaced or written, and
    /// is complete.
    ///
    /// - Parameters:
    ///   - url: The file or the directory.
    ///   - settle: Whole seconds for which no program writes to it, and its size and time are
    ///     unchanged, up to a day.
    public static func path(_ url: URL, settle: Double = 10) -> TaskTrigger {
        .path(MachineName.path(url.path) ?? url.path, settle: settle)
    }
}

extension TaskRequest {
    /// The request as the type that it was submitted with.
    var typed: any BackgroundTaskRequest {
        if !triggers.isEmpty { return TriggerRequest(self) }
        switch kind {
        case .refresh: return AppRefreshTaskRequest(self)
        case .processing: return ProcessingTaskRequest(self)
        case .continued: return ContinuedTaskRequest(self)
        }
    }
}
