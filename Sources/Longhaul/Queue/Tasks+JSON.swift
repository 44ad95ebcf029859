internal import LonghaulCore

/// A request with its waits, its forecast and its last runs.
extension TaskRecord: ShownRecord {
    package static let fields: [ShownField<TaskRecord>] =
        [
            ShownField("identifier", "task") { $0.request.identifier },
            ShownField("kind", "kind", at: 3) { $0.request.kind.rawValue },
            ShownField("host") { $0.request.host },
            ShownField("state", "state", at: 2) { $0.state.rawValue },
            ShownField("submittedAt", "submitted", at: 3) { $0.submittedAt },
            ShownField("earliestBegin", "earliest", at: 4) { $0.request.earliestBegin },
            ShownField("require") { $0.request.requirements.names },
            ShownField("whenLost") { $0.request.whenLost },
            ShownField("every") { $0.request.repetition?.interval },
            ShownField("tolerance") { $0.request.repetition?.slack },
            ShownField("on", "on", at: 5) { $0.request.triggers.map(\.rawValue) },
            ShownField("payload") { $0.request.payload.map(ShownJSON.init) },
            ShownField("title", "title", at: 1) { $0.continued?.title },
            ShownField("subtitle", "subtitle", at: 1) { $0.continued?.subtitle },
            ShownField("strategy") { $0.continued?.strategy.rawValue },
            ShownField("progress") { $0.progress },
            ShownField("failures") { $0.failures },
            ShownField("noData") { $0.emptyRuns },
            ShownField("waitingFor") { $0.waitingFor },
            ShownField("forecast") { $0.forecast },
            ShownField("runs") { $0.runs },
        ]
}

extension TaskProgress: ShownRecord {
    package static let fields: [ShownField<TaskProgress>] = [
        ShownField("completed") { $0.completedUnitCount },
        ShownField("total") { $0.totalUnitCount },
    ]
}

extension TaskRun: ShownRecord {
    package static let fields: [ShownField<TaskRun>] = [
        ShownField("launch") { $0.launch },
        ShownField("trigger") { $0.trigger?.rawValue },
        ShownField("triggers") { $0.triggers.map(\.rawValue) },
        ShownField("startedAt") { $0.startedAt },
        ShownField("endedAt") { $0.endedAt },
        ShownField("result") { $0.result?.rawValue },
        ShownField("expiration") { $0.expiration?.rawValue },
        ShownField("exitStatus") { $0.exitStatus },
    ]
}

extension TaskRequest {
    /// Effect of a lost requirement on a run, in the option's words.
    fileprivate var whenLost: String {
        if !expiresWhenRequirementIsLost { return "continue" }
        return returnsAfterExpiration ? "again" : "drop"
    }
}
