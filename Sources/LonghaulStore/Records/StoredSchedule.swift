internal import LonghaulCore

/// What the columns `schedule`, `lane`, `waiveAt` and `waiveBy` of a transfer hold.
struct StoredSchedule {
    /// As it was asked for.
    var asked: ScheduleClass
    /// Where it queues: `asked`, and without the preferences once they are waived.
    var lane: ScheduleClass
    /// `nil` = there is nothing to waive.
    var waiver: Waiver?

    /// - Parameters:
    ///   - begin: When it may begin.
    init(_ request: TransferRequest, usesNetwork: Bool, begin: Timestamp, deadline: Timestamp) {
        asked = ScheduleClass(
            request.schedule, isDiscretionary: request.isDiscretionary, usesNetwork: usesNetwork,
            hasMirrors: !request.options.mirrors.isEmpty)
        lane = asked.lane
        guard lane.hasPreferences else { return }
        waiver = Waiver(
            begin: begin, after: request.options.waiveAfter, deadline: deadline,
            bytes: request.expectedBytes)
    }
}
