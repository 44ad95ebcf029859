internal import LonghaulCore

extension HostRecord: ShownRecord {
    package static let fields: [ShownField<HostRecord>] = [
        ShownField("id", "host") { $0.name },
        ShownField("kind") { $0.isJob ? "job" : "host" },
        ShownField("argv") { ShownOutput.arguments($0.settings.argv) },
        ShownField("permitted") { $0.settings.permitted },
        ShownField("eventBudget") {
            $0.settings.eventBudget ?? HostSettings.defaultEventBudget
        },
        ShownField("taskBudget") {
            $0.settings.taskBudget ?? HostSettings.defaultTaskBudget
        },
        ShownField("maxMemory") { $0.settings.maxMemory },
        ShownField("notify") { $0.settings.notifies },
        ShownField("state") { $0.state.name },
        ShownField("obstacle") { $0.state.obstacle?.rawValue },
        ShownField("failures", "failures", at: 2) { $0.failures },
        ShownField("nextLaunch") { $0.nextLaunch },
        ShownField("token") { $0.hasToken },
        ShownField("urgencyLostUntil") { $0.urgencyLostUntil },
        ShownField("subscriptions") { $0.subscriptions },
        ShownField("wakeUps") { $0.wakeUps },
        ShownField("launches") { $0.launches },
    ]
}

extension LaunchRecord: ShownRecord {
    package static let fields: [ShownField<LaunchRecord>] = [
        ShownField("id") { $0.id },
        ShownField("reason") { $0.reason.rawValue },
        ShownField("session") { $0.session },
        ShownField("firstSeq") { $0.events?.lowerBound },
        ShownField("lastSeq") { $0.events?.upperBound },
        ShownField("handed") { $0.handed },
        ShownField("tasks") { $0.tasks },
        ShownField("pid") { $0.pid.map { Int($0) } },
        ShownField("startedAt") { $0.startedAt },
        ShownField("deadline") { $0.deadline },
        ShownField("endedAt") { $0.endedAt },
        ShownField("ending") { $0.ending?.rawValue },
        ShownField("status") { $0.status },
        ShownField("expiration") { $0.expiration?.rawValue },
        ShownField("processorSeconds") { $0.processorSeconds },
        ShownField("output") { $0.output.map(ShownOutput.text) },
    ]
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

extension WakeUpRecord: ShownRecord {
    package static let fields: [ShownField<WakeUpRecord>] = [
        ShownField("identifier") { $0.identifier },
        ShownField("state") { $0.state.rawValue },
        ShownField("urgent") { $0.isUrgent },
        ShownField("submittedAt") { $0.submittedAt },
        ShownField("expiresAt") { $0.expiresAt },
        ShownField("waitingFor") { $0.waitingFor },
        ShownField("forecast") { $0.forecast },
        ShownField("endedAt") { $0.endedAt },
        ShownField("launch") { $0.launch },
        ShownField("droppedFor") { $0.droppedFor?.rawValue },
    ]
}

extension PushSubscription: ShownRecord {
    package static let fields: [ShownField<PushSubscription>] = [
        ShownField("url") { Redaction.url($0.url) },
        ShownField("headersFrom") { $0.headersFrom },
        ShownField("urgent") { $0.isUrgent },
        ShownField("state") { $0.state },
        ShownField("connectedAt") { $0.connectedAt },
        ShownField("lastID") { $0.lastID },
        ShownField("failures") { $0.failures },
        ShownField("retryAt") { $0.retryAt },
        ShownField("error") { $0.error },
    ]

    /// Printed state.
    private var state: String {
        connectedAt != nil ? "connected" : error == nil ? "waiting" : "failed"
    }
}
