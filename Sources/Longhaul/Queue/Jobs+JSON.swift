internal import LonghaulCore

extension JobRecord {
    /// The job with its waits, its forecast and its last runs.
    package func write(to json: inout JSONText) {
        let schedule = request?.job
        json.object {
            $0.field("name", name)
            $0.field("argv", array: ShownOutput.arguments(argv)) { $0.value($1) }
            $0.field("state", state.rawValue)
            $0.field("once", settings.isOnce)
            $0.field("every", seconds: request?.repetition?.interval)
            $0.field("tolerance", seconds: request?.repetition?.slack)
            $0.field("at", schedule?.daily?.times)
            $0.field("days", schedule?.daily.map { $0.days.description })
            $0.field("on", array: request?.triggers ?? []) { $0.value($1.rawValue) }
            $0.field("earliestBegin", request?.earliestBegin)
            $0.field("window", schedule?.windows?.description)
            $0.field("timeZone", schedule?.timeZone)
            $0.field("deadline", schedule?.deadline)
            $0.field("after", array: schedule?.after ?? []) { $0.value($1.rawValue) }
            $0.field("require", array: request?.requirements.names ?? []) { $0.value($1) }
            $0.field("prefer", array: schedule?.prefers?.names ?? []) { $0.value($1) }
            $0.field("discretionary", schedule?.isDiscretionary ?? false)
            $0.field(
                "whenLost", request?.expiresWhenRequirementIsLost == false ? "continue" : "stop")
            $0.field("retries", schedule?.retries)
            $0.field("directory", settings.directory)
            $0.field("nice", settings.nice)
            $0.field("grace", seconds: settings.graceSeconds)
            $0.field("maxTime", seconds: settings.maxSeconds)
            $0.field("inhibitSleep", settings.inhibitsSleep.rawValue)
            $0.field("notify", settings.notifies)
            $0.field("waitingFor", array: waitingFor) { $0.waitReason($1) }
            $0.field("forecast") { $0.forecast(forecast) }
            $0.field("failures", failures)
            $0.field("runs", array: runs) { $1.writeAsRun(to: &$0) }
        }
    }
}

extension TaskRun {
    fileprivate func writeAsRun(to json: inout JSONText) {
        json.object {
            $0.field("run", launch > 0 ? launch : nil)
            $0.field("reason", cause)
            $0.field("startedAt", startedAt)
            $0.field("endedAt", endedAt)
            $0.field("exitStatus", exitStatus)
            $0.field("signal", signal)
            $0.field("expiration", expiration?.rawValue)
            $0.field("missedTransfer", missedTransfer?.rawValue)
            $0.field("result", result?.rawValue)
            $0.field("cpuSeconds", seconds: processorSeconds)
        }
    }
}
