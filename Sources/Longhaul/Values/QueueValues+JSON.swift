internal import LonghaulCore

/// A transfer with its attempts and its events, as `show` prints it, and the version of the file
/// whose bytes are held.
package typealias TransferHistory = (
    transfer: Transfer, validator: String?, attempts: [AttemptRecord], events: [EventRecord]
)

extension Transfer {
    package static let fieldsOfHistory: [ShownField<TransferHistory>] =
        listed.map { ShownField($0) { $0.transfer } } + [
            ShownField("validator") { $0.validator },
            ShownField("requests") { $0.transfer.requests },
            ShownField("yielding", if: { $0.transfer.yielding != nil }) { $0.transfer.yielding },
            ShownField("attemptRecords") { $0.attempts },
            ShownField(
                "events",
                as: EventRecord.fields.filter {
                    !["transferID", "transfer", "path"].contains($0.key)
                }
            ) { $0.events },
        ]
}

extension YieldReport: ShownRecord {
    package static let fields: [ShownField<YieldReport>] = [
        ShownField("state") { "\($0.state)" },
        ShownField("queueingDelayMs") { report in
            report.queueingDelay.map { Int64(bounding: ($0 * 1000).rounded()) }
        },
        ShownField("window") { $0.window },
        ShownField("sharePercent") { Int(($0.share * 100).rounded()) },
    ]
}

extension QueueStatus: ShownRecord {
    package static let fields: [ShownField<QueueStatus>] = [
        ShownField("engine") { $0.engine },
        ShownField("counts") { ShownMap($0.counts) },
        ShownField("hostsFailed") { $0.hostsFailed },
        ShownField("jobsFailed") { $0.failingJobs.count },
        ShownField("bytesPerSecond") { Int64(rate: $0.bytesPerSecond) },
        ShownField("rateLimit") { $0.rateLimit },
        ShownField("nextWake") { $0.nextWake },
        ShownField("configuration") { $0.configuration },
    ]
}

/// `bytesPerSecond` is `null` where the limit is `off`.
extension RateOverride: ShownRecord {
    package static let fields: [ShownField<RateOverride>] = [
        ShownField("bytesPerSecond") { $0.bytesPerSecond },
        ShownField("until") { $0.until },
    ]
}

extension RatePlan.Part: ShownRecord {
    package static let fields: [ShownField<RatePlan.Part>] = [
        ShownField("window") { $0.window.description },
        ShownField("bytesPerSecond") { $0.bytesPerSecond },
    ]
}

extension ChangeOutcome: ShownRecord {
    package static let fields: [ShownField<ChangeOutcome>] = [
        ShownField("id") { $0.id },
        ShownField("error") { $0.error },
    ]
}

extension QueueStatus.Engine: ShownRecord {
    package static let fields: [ShownField<QueueStatus.Engine>] = [
        ShownField("pid") { Int($0.pid) },
        ShownField("mode") { $0.mode.rawValue },
        ShownField("since") { $0.since },
    ]
}

extension DoctorFinding: ShownRecord {
    package static let fields: [ShownField<DoctorFinding>] = [
        ShownField("check") { $0.check },
        ShownField("ok") { $0.ok },
        ShownField("detail") { $0.detail },
        ShownField("fix") { $0.fix },
    ]
}

extension EngineSummary: ShownRecord {
    package static let fields: [ShownField<EngineSummary>] = [
        ShownField("type") { _ in "summary" },
        ShownField("completed") { $0.completed },
        ShownField("failed") { $0.failed },
        ShownField("hostsFailed") { $0.hostsFailed },
        ShownField("jobsFailed") { $0.jobsFailed },
        ShownField("left") { $0.left },
        ShownField("bytes") { $0.bytes },
        ShownField("seconds") { $0.seconds },
        ShownField("stoppedBy") { $0.stoppedBy.rawValue },
    ]
}

extension AttemptRecord: ShownRecord {
    package static let fields: [ShownField<AttemptRecord>] = [
        ShownField("startedAt") { $0.startedAt },
        ShownField("endedAt") { $0.endedAt },
        ShownField("url") { Redaction.url($0.url) },
        ShownField("bytes") { $0.bytes },
        ShownField("httpStatus") { $0.httpStatus },
        ShownField("httpVersion") { $0.httpVersion },
        ShownField("outcome") { $0.outcome },
        ShownField("message") { $0.message.map(Redaction.text) },
        ShownField("peer") { $0.phases.peer },
        ShownField("nameLookupSeconds") { $0.phases.nameLookup },
        ShownField("connectSeconds") { $0.phases.connect },
        ShownField("tlsHandshakeSeconds") { $0.phases.tlsHandshake },
        ShownField("firstByteSeconds") { $0.phases.firstByte },
    ]
}
