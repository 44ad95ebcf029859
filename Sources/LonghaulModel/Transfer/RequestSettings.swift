/// The common part of requests for one set of files: of a bundle, or of a watched folder.
/// Stored as a part of a JSON text.
package struct RequestSettings: Hashable, Codable, Sendable {
    package var options = TransferOptions()
    package var priority = Priority.normal
    package var isDiscretionary = false
    package var windows: String?
    package var timeZone: String?
    package var requires: [String] = []
    /// `nil` = the default of the transfers.
    package var prefers: [String]?
    /// Seconds; see ``Deadline``.
    package var deadline = Deadline.defaultSeconds

    package init() {}

    package init(_ request: TransferRequest) {
        options = request.options
        priority = request.priority
        isDiscretionary = request.isDiscretionary
        windows = request.schedule.windows.map { "\($0)" }
        timeZone = request.schedule.windows?.timeZone
        requires = request.schedule.requires.names
        prefers = request.schedule.prefers?.names
        if case .after(let seconds) = request.deadline { deadline = seconds }
    }

    /// - Parameter path: Destination of a download, source of an upload.
    package func request(_ url: String, _ path: String, session: String) -> TransferRequest {
        var request = TransferRequest(url: url, destination: .file(path))
        request.session = session
        request.options = options
        // The session has it.
        request.options.notifies = false
        request.priority = priority
        if isDiscretionary { request.isDiscretionary = true }
        request.schedule.windows = windows.flatMap { TimeWindows(parsing: $0) }
        request.schedule.windows?.timeZone = timeZone
        request.schedule.requires = Self.needs(requires)
        request.schedule.prefers = prefers.map(Self.needs)
        request.deadline = .after(seconds: deadline)
        return request
    }

    private static func needs(_ names: [String]) -> ConditionNeeds {
        ConditionNeeds(parsing: names.joined(separator: ",")) ?? ConditionNeeds()
    }
}
