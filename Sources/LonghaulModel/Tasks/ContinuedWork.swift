/// Bytes of the title of a continued task, and of its subtitle.
private let taskTitleBytes = 256
/// Units of work of a continued task: the largest number that readers of JSON keep exactly.
private let progressUnits: Int64 = 1 << 53

/// Treatment of a continued task that cannot begin at once. The text is stored and printed. The
/// counterpart of `BGContinuedProcessingTaskRequest.SubmissionStrategy`.
public enum SubmissionStrategy: String, Codable, Sendable, CaseIterable {
    /// The task waits, and begins as soon as it can.
    case queue
    /// The request is refused with `immediateRunIneligible`; nothing is recorded.
    case fail
}

/// The part that the request of a continued task alone has: work that a person began and may leave.
/// The counterpart of what `BGContinuedProcessingTaskRequest` adds to a request.
public struct ContinuedWork: Hashable, Codable, Sendable {
    /// Shown with the progress: 1 to 256 bytes, on one line.
    public var title: String
    /// Shown below the title, at most 256 bytes; `nil` = nothing.
    public var subtitle: String?
    /// What happens if the task cannot begin at once. Default: it waits.
    public var strategy: SubmissionStrategy

    /// Work with a title.
    public init(
        title: String, subtitle: String? = nil, strategy: SubmissionStrategy = .queue
    ) {
        self.title = title
        self.subtitle = subtitle
        self.strategy = strategy
    }

    /// Fault of the texts, in a sentence; `nil` = none.
    package var defect: String? {
        if !Self.isTitle(title) || !(subtitle.map(Self.isSubtitle) ?? true) {
            return "a title has 1 to \(taskTitleBytes) bytes on one line, a subtitle at most"
                + " as many"
        }
        return nil
    }

    /// The text of a title that may be shown.
    package static func isTitle(_ text: String) -> Bool { !text.isEmpty && isSubtitle(text) }

    package static func isSubtitle(_ text: String) -> Bool {
        text.utf8.count <= taskTitleBytes
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

/// How much of a continued task is done. The counts are those of Foundation's `Progress`.
public struct TaskProgress: Hashable, Codable, Sendable {
    /// Units of work that are done: 0 to ``totalUnitCount``.
    public var completedUnitCount: Int64
    /// Units of work in all, 1 and more; 0 = not known yet, and nothing is reported.
    public var totalUnitCount: Int64

    private enum CodingKeys: String, CodingKey {
        case completedUnitCount = "completed"
        case totalUnitCount = "total"
    }

    /// Progress by its counts.
    public init(completedUnitCount: Int64 = 0, totalUnitCount: Int64 = 0) {
        self.completedUnitCount = completedUnitCount
        self.totalUnitCount = totalUnitCount
    }

    /// The done part, 0 to 1.
    public var fractionCompleted: Double {
        isValid ? Double(completedUnitCount) / Double(totalUnitCount) : 0
    }

    /// The counts make sense, and JSON's readers keep them.
    package var isValid: Bool {
        (1...progressUnits).contains(totalUnitCount)
            && (0...totalUnitCount).contains(completedUnitCount)
    }

    /// Whole percents, rounded down: 100 only at the end.
    package var percent: Int { Int(fractionCompleted * 100) }
}

/// What the program of a continued task has reported: its last progress, and the texts that it has
/// replaced.
package struct ProgressReport: Hashable, Codable, Sendable {
    package var progress: TaskProgress?
    /// `nil` = unchanged.
    package var title: String?
    /// `nil` = unchanged; empty = no subtitle.
    package var subtitle: String?

    package init(_ progress: TaskProgress? = nil, title: String? = nil, subtitle: String? = nil) {
        self.progress = progress
        self.title = title
        self.subtitle = subtitle
    }

    /// A report that makes no sense in any part is ignored whole.
    package var isValid: Bool {
        if progress == nil, title == nil, subtitle == nil { return false }
        return progress?.isValid ?? true && title.map(ContinuedWork.isTitle) ?? true
            && subtitle.map(ContinuedWork.isSubtitle) ?? true
    }

    /// The report followed by a later one.
    package func followed(by later: ProgressReport) -> ProgressReport {
        ProgressReport(
            later.progress ?? progress, title: later.title ?? title,
            subtitle: later.subtitle ?? subtitle)
    }
}

extension HostSettings {
    /// The task may be submitted for the host. `NAME.*` permits continued tasks whose identifier
    /// begins with `NAME.`, as `BGTaskSchedulerPermittedIdentifiers` does.
    package func permits(_ request: TaskRequest) -> Bool {
        if request.identifier.hasSuffix(Self.wildcard) { return false }
        if permitted.contains(request.identifier) { return true }
        return request.kind == .continued
            && permitted.contains { Self.matches($0, request.identifier) }
    }

    package static let wildcard = ".*"

    /// The identifier is one of a wildcard's.
    package static func matches(_ pattern: String, _ identifier: String) -> Bool {
        guard pattern.hasSuffix(wildcard) else { return false }
        let prefix = pattern.dropLast()
        return identifier.hasPrefix(prefix) && identifier.utf8.count > prefix.utf8.count
    }
}
