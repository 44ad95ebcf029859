import Longhaul

/// The text for the reasons why a transfer waits.
struct WaitText {
    var time: TimeText

    func at(_ now: Timestamp) -> WaitText {
        WaitText(time: TimeText(now: now, secondsFromUTC: time.secondsFromUTC))
    }

    /// A short text, for a column: the first reason that holds, and the last error. A preference
    /// holds nothing where something else is missing, too.
    func short(_ waits: [WaitReason], _ transfer: Transfer? = nil) -> String {
        guard let first = waits.first(where: { !$0.isPreference }) ?? waits.first
        else { return "" }
        let more = waits.count > 1 ? " (+\(waits.count - 1))" : ""
        let cause = transfer.flatMap(cause).map(WaitText.withoutDetail).map {
            (first.isPause ? ": " : ", last error: ") + $0
        }
        return words(first) + more + (cause ?? "")
    }

    /// The same of each.
    func all(_ waits: [WaitReason]) -> String { waits.map(words).joined(separator: ", ") }

    /// Without libcurl's own words, which follow in brackets; a status is no detail.
    private static func withoutDetail(_ text: String) -> String {
        guard text.hasSuffix(")"), let open = text.firstRange(of: " (") else { return text }
        let inside = text[open.upperBound...].dropLast()
        return inside.allSatisfy(\.isNumber) ? text : String(text[..<open.lowerBound])
    }

    /// Error of the last attempt: the transfer's own, else that of its server.
    func cause(_ transfer: Transfer) -> String? {
        guard transfer.state == .waiting || transfer.state == .paused else { return nil }
        let pause = transfer.waitingFor.first { $0.isPause && $0.nextCheck != nil }
        let error = transfer.error ?? pause?.current.map { LonghaulError(.network, $0) }
        return error.map { TerminalText.shown(Redaction.text($0.parts.what)) }
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
        case .storage: wait.required ?? "free space"
        case .backoff: wait.nextCheck.map { "retry " + due($0) } ?? "a retry"
        case .originCooldown:
            wait.nextCheck.map { "server, " + due($0) } ?? "the server to recover"
        case .concurrency: "its turn"
        case .originLimit: "a connection to its server"
        case .engine:
            switch wait.engineWait {
            case .start: "ready, about to start"
            case .continuation: "its stopped engine"
            case .engine: "an engine"
            }
        case .network where wait.networks != nil:
            "network " + (wait.networks.map { TerminalText.shown($0) } ?? "")
        case .mounted: "mounted " + (wait.required.map { TerminalText.shown($0) } ?? "")
        case .input: "an answer from its host"
        case .host: "its host"
        case .budget: "its host's budget"
        case .slot: "slot " + (wait.required ?? "")
        case .trigger: "a change of the machine"
        case .transfers: wait.required.map { "transfers " + $0 } ?? "transfers"
        default: wait.reason.condition ?? wait.reason.rawValue
        }
    }
}

extension Transfer {
    /// The reasons why it waits, without its turn.
    var obstacles: [WaitReason] { waitingFor.filter { $0.reason.group != .turn } }
}

extension WaitReason {
    /// The transfer waits because something went wrong.
    fileprivate var isPause: Bool { reason.group == .pause }
}
