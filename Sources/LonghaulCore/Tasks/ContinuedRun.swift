package import LonghaulModel

/// A running continued task: what it has reported, when that is recorded, and when its silence ends
/// it. Pure.
package struct ContinuedRun: Hashable, Sendable {
    package let identifier: String
    /// When the task is expired if no progress is reported.
    package private(set) var silentUntil: Instant
    /// What is not recorded yet.
    package private(set) var unrecorded: ProgressReport?
    private var recordedAt: Instant?
    /// The number of reports that a resident process has recorded.
    private var reports: Int

    /// The run has begun, or another engine watches it from now on.
    ///
    /// - Parameter reports: How many reports its row has.
    package init(_ identifier: String, reports: Int = 0, now: Instant) {
        self.identifier = identifier
        self.reports = reports
        silentUntil = now + Limits.progressSeconds
    }

    /// The program has reported. A report that makes no sense has no effect; one of a title alone
    /// is no progress.
    package mutating func receive(_ report: ProgressReport, now: Instant) {
        guard report.isValid else { return }
        if report.progress != nil { silentUntil = now + Limits.progressSeconds }
        unrecorded = unrecorded?.followed(by: report) ?? report
    }

    /// A resident process records its reports itself: the row has this number of them. The row of
    /// a host that was removed is gone, and has none.
    package mutating func receive(reports count: Int, now: Instant) {
        if count <= reports { return }
        reports = count
        silentUntil = now + Limits.progressSeconds
    }

    /// When something is to be recorded: a program may report far more often than a person looks.
    package var recordsAt: Instant? {
        if unrecorded == nil { return nil }
        return recordedAt.map { $0 + Limits.progressRecordSeconds } ?? Instant(nanoseconds: .min)
    }

    /// What is to be recorded now; `nil` = nothing.
    package func due(now: Instant) -> ProgressReport? {
        recordsAt.map { $0 <= now } ?? false ? unrecorded : nil
    }

    /// What was due is recorded.
    package mutating func record(now: Instant) {
        unrecorded = nil
        recordedAt = now
    }
}
