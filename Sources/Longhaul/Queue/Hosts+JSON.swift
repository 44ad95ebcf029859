internal import LonghaulCore

extension JSONText {
    package mutating func host(_ host: HostRecord) {
        object {
            $0.field("id", host.name)
            $0.field("kind", host.settings.job == nil ? "host" : "job")
            $0.field("argv", array: ShownOutput.arguments(host.settings.argv)) { $0.value($1) }
            $0.field("permitted", array: host.settings.permitted) { $0.value($1) }
            $0.field(
                "eventBudget",
                seconds: host.settings.eventBudget ?? HostSettings.defaultEventBudget)
            $0.field(
                "taskBudget", seconds: host.settings.taskBudget ?? HostSettings.defaultTaskBudget)
            $0.field("state", host.state.name)
            $0.field("obstacle", host.state.obstacle?.rawValue)
            $0.field("failures", host.failures)
            $0.field("nextLaunch", host.nextLaunch)
            $0.field("urgencyLostUntil", host.urgencyLostUntil)
            $0.field("wakeUps", array: host.wakeUps) { $1.write(to: &$0) }
            $0.field("launches", array: host.launches) { $0.launch($1) }
        }
    }

    private mutating func launch(_ launch: LaunchRecord) {
        object {
            $0.field("id", launch.id)
            $0.field("reason", launch.reason.rawValue)
            $0.field("session", launch.session)
            $0.field("firstSeq", launch.events?.lowerBound)
            $0.field("lastSeq", launch.events?.upperBound)
            $0.field("handed", launch.handed)
            $0.field("tasks", array: launch.tasks) { $0.value($1) }
            $0.field("pid", launch.pid.map { Int($0) })
            $0.field("startedAt", launch.startedAt)
            $0.field("deadline", launch.deadline)
            $0.field("endedAt", launch.endedAt)
            $0.field("ending", launch.ending?.rawValue)
            $0.field("status", launch.status)
            $0.field("expiration", launch.expiration?.rawValue)
            $0.field("processorSeconds", seconds: launch.processorSeconds)
            $0.field("output", launch.output.map(ShownOutput.text))
        }
    }
}

extension HostState {
    /// Printed name.
    package var name: String {
        switch self {
        case .idle: "idle"
        case .attached: "attached"
        case .running: "running"
        case .due: "due"
        case .delayed: "delayed"
        case .blocked: "blocked"
        }
    }

    package var obstacle: LaunchObstacle? {
        switch self {
        case .blocked(let obstacle): obstacle
        case .idle, .attached, .running, .due, .delayed: nil
        }
    }
}

extension WakeUpRecord {
    fileprivate func write(to json: inout JSONText) {
        json.object {
            $0.field("identifier", identifier)
            $0.field("state", state.rawValue)
            $0.field("urgent", isUrgent)
            $0.field("submittedAt", submittedAt)
            $0.field("expiresAt", expiresAt)
            $0.field("waitingFor", array: waitingFor) { $0.waitReason($1) }
            if let forecast {
                $0.field("forecast") { $0.forecast(forecast) }
            } else {
                $0.field("forecast", json: nil)
            }
            $0.field("endedAt", endedAt)
            $0.field("launch", launch)
            $0.field("droppedFor", droppedFor?.rawValue)
        }
    }
}
