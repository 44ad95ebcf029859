internal import LonghaulCore

/// A job with its waits, its forecast and its last runs.
extension JobRecord: ShownRecord {
    package static let fields = schedule + command

    private static let schedule: [ShownField<JobRecord>] = [
        ShownField("name", "job") { $0.name },
        ShownField("argv") { ShownOutput.arguments($0.argv) },
        ShownField("state", "state", at: 3) { $0.state.rawValue },
        ShownField("once") { $0.settings.isOnce },
        ShownField("every") { $0.request?.repetition?.interval },
        ShownField("tolerance") { $0.request?.repetition?.slack },
        ShownField("at") { $0.request?.job?.daily?.times },
        ShownField("days") { $0.request?.job?.daily.map { $0.days.description } },
        ShownField("calendar", "calendar", at: 5) { $0.request?.job?.calendar?.description },
        ShownField("on", "on", at: 6) { ($0.request?.triggers ?? []).map(\.rawValue) },
        ShownField("earliestBegin", "earliest", at: 4) { $0.request?.earliestBegin },
        ShownField("window", "window", at: 8) { $0.request?.job?.windows?.description },
        ShownField("timeZone", "time zone", at: 8) { $0.request?.job?.timeZone },
        ShownField("deadline", "deadline", at: 8) { $0.request?.job?.deadline },
        ShownField("after") { $0.request?.job?.after ?? [] },
        ShownField("require") { $0.request?.requirements.names ?? [] },
        ShownField("prefer") { $0.request?.job?.prefers?.names ?? [] },
        ShownField("discretionary") { $0.request?.job?.isDiscretionary ?? false },
    ]

    private static let command: [ShownField<JobRecord>] = [
        ShownField("whenLost") {
            $0.request?.expiresWhenRequirementIsLost == false ? "continue" : "stop"
        },
        ShownField("retries") { $0.request?.job?.retries },
        ShownField("directory", "directory", at: 2) { $0.settings.directory },
        ShownField("nice") { $0.settings.nice },
        ShownField("grace") { $0.settings.graceSeconds },
        ShownField("maxTime", "max time", at: 10) { $0.settings.maxSeconds },
        ShownField("inhibitSleep") { $0.settings.inhibitsSleep.rawValue },
        ShownField("notify") { $0.settings.notifies },
        ShownField("slot", "slot", at: 10) { $0.settings.slot?.rawValue },
        ShownField("maxMemory") { $0.settings.maxMemory },
        ShownField("waitingFor") { $0.waitingFor },
        ShownField("forecast") { $0.forecast },
        ShownField("failures") { $0.failures },
        ShownField("runs", as: TaskRun.fieldsOfJob) { $0.runs },
    ]
}

extension TaskRun {
    /// Fields of a run as a job shows it.
    fileprivate static let fieldsOfJob: [ShownField<TaskRun>] = [
        ShownField("run") { $0.launch > 0 ? $0.launch : nil },
        ShownField("reason") { $0.cause },
        ShownField("startedAt") { $0.startedAt },
        ShownField("endedAt") { $0.endedAt },
        ShownField("exitStatus") { $0.exitStatus },
        ShownField("signal") { $0.signal },
        ShownField("expiration") { $0.expiration?.rawValue },
        ShownField("missedTransfer") { $0.missedTransfer },
        ShownField("result") { $0.result?.rawValue },
        ShownField("cpuSeconds") { $0.processorSeconds },
    ]
}
