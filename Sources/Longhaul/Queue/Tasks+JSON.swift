internal import LonghaulCore

extension JSONText {
    /// A request with its waits, its forecast and its last runs.
    package mutating func task(_ task: TaskRecord) {
        let request = task.request
        object {
            $0.field("identifier", request.identifier)
            $0.field("kind", request.kind.rawValue)
            $0.field("host", request.host)
            $0.field("state", task.state.rawValue)
            $0.field("submittedAt", task.submittedAt)
            $0.field("earliestBegin", request.earliestBegin)
            $0.field("require", array: request.requirements.names) { $0.value($1) }
            $0.field("whenLost", request.whenLost)
            $0.field("every", seconds: request.repetition?.interval)
            $0.field("tolerance", seconds: request.repetition?.slack)
            $0.field("on", array: request.triggers) { $0.value($1.rawValue) }
            $0.field("payload", json: request.payload)
            $0.field("failures", task.failures)
            $0.field("noData", task.emptyRuns)
            $0.field("waitingFor", array: task.waitingFor) { $0.waitReason($1) }
            $0.field("forecast") { $0.forecast(task.forecast) }
            $0.field("runs", array: task.runs) { $1.write(to: &$0) }
        }
    }
}

extension TaskRun {
    fileprivate func write(to json: inout JSONText) {
        json.object {
            $0.field("launch", launch)
            $0.field("trigger", trigger?.rawValue)
            $0.field("triggers", array: triggers) { $0.value($1.rawValue) }
            $0.field("startedAt", startedAt)
            $0.field("endedAt", endedAt)
            $0.field("result", result?.rawValue)
            $0.field("expiration", expiration?.rawValue)
            $0.field("exitStatus", exitStatus)
        }
    }
}

extension TaskRequest {
    /// Effect of a lost requirement on a run, in the option's words.
    fileprivate var whenLost: String {
        if !expiresWhenRequirementIsLost { return "continue" }
        return returnsAfterExpiration ? "again" : "drop"
    }
}
