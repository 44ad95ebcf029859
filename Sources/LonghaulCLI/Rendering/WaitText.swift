import Longhaul

/// The text for the reasons why a transfer waits.
struct WaitText {
    var time: TimeText

    func at(_ now: Timestamp) -> WaitText {
        WaitText(time: TimeText(now: now, secondsFromUTC: time.secondsFromUTC))
    }

    /// A short text, for a column.
    func short(_ waits: [WaitReason]) -> String {
        guard let first = waits.first else { return "" }
        let more = waits.count > 1 ? " (+\(waits.count - 1))" : ""
        return words(first) + more
    }

    /// The same of each.
    func all(_ waits: [WaitReason]) -> String { waits.map(words).joined(separator: ", ") }

    /// What went wrong, where that is why it waits.
    func cause(_ waits: [WaitReason]) -> String? {
        let cause = waits.first { $0.reason == .backoff || $0.reason == .storage }
        return cause?.current.map { TerminalText.shown(Redaction.text($0)) }
    }

    /// All details of one reason.
    func long(_ wait: WaitReason) -> String {
        var text = words(wait)
        if let required = wait.required { text += "; required: " + TerminalText.shown(required) }
        if let current = wait.current { text += "; now: " + TerminalText.shown(current) }
        if let since = wait.since { text += "; since " + time.full(since) }
        if let next = wait.nextCheck { text += "; next look " + due(next) }
        return text
    }

    /// Without an engine the next check may be past: it is then shown as due now.
    private func due(_ next: Timestamp) -> String { time.distance(max(next, time.now)) }

    private func words(_ wait: WaitReason) -> String {
        switch wait.reason {
        case .earliestBegin: wait.nextCheck.map { "not before " + time.short($0) } ?? "its time"
        case .window: wait.nextCheck.map { "window at " + time.short($0) } ?? "its time window"
        case .power: "external power"
        case .battery: "a fuller battery"
        case .network: "the network"
        case .unmetered: "an unmetered network"
        case .idle: "an idle machine"
        case .storage: wait.required ?? "free space"
        case .backoff: wait.nextCheck.map { "retry " + due($0) } ?? "a retry"
        case .originCooldown:
            wait.nextCheck.map { "server, " + due($0) } ?? "the server to recover"
        case .concurrency: "its turn"
        case .originLimit: "a connection to its server"
        case .engine: "an engine"
        case .input: "an answer from its host"
        case .host: "its host"
        case .trigger: "a change of the machine"
        }
    }
}

extension Transfer {
    /// The reasons why it waits, without its turn.
    var obstacles: [WaitReason] { waitingFor.filter { !$0.reason.isTurn } }
}

extension WaitReason.Reason {
    /// Whether it waits only for other transfers or for an engine.
    fileprivate var isTurn: Bool {
        switch self {
        case .concurrency, .originLimit, .engine: true
        case .earliestBegin, .window, .power, .battery, .network, .unmetered, .idle, .storage,
            .backoff, .originCooldown, .input, .host, .trigger:
            false
        }
    }
}
