import Longhaul

/// Why a transfer is not running, as `why` prints it.
struct WhyText {
    var time: TimeText

    func lines(_ transfer: Transfer, _ forecast: Forecast) -> [String] {
        var lines = [
            "\(transfer.id) \(state(transfer)): "
                + TerminalText.shown(TransferText.name(transfer))
        ]
        if transfer.state == .failed, let error = transfer.error {
            lines.append("  \(error.code.rawValue)  \(shown(error.message))")
        }
        let width = transfer.waitingFor.map { $0.reason.rawValue.count }.max() ?? 0
        for wait in transfer.waitingFor {
            lines.append(
                "  " + DisplayWidth.padded(wait.reason.rawValue, to: width) + "  "
                    + facts(wait, isAlone: transfer.waitingFor.count == 1))
        }
        // The reason of a back-off says it already.
        if transfer.state == .waiting || transfer.state == .paused, let error = transfer.error,
            !transfer.waitingFor.contains(where: { $0.current == error.message })
        {
            lines.append("  last error: \(shown(error.message))")
        }
        if let waits = TransferText.waitsForBytes(transfer) { lines.append("  \(waits)") }
        lines.append("Forecast: \(forecast.text).")
        if transfer.waitingFor.contains(where: \.isSetAsideByNow) {
            lines.append("`longhaul now \(transfer.id)` runs it now.")
        }
        return lines
    }

    private func state(_ transfer: Transfer) -> String {
        switch transfer.state {
        case .waiting, .running, .paused: "is \(transfer.state.rawValue)"
        case .completed, .failed: "has \(transfer.state.rawValue)"
        case .cancelled: "was cancelled"
        }
    }

    /// - Parameter isAlone: Nothing else holds the transfer.
    private func facts(_ wait: WaitReason, isAlone: Bool) -> String {
        var parts = what(wait, isAlone)
        if let since = wait.since { parts.append("since \(time.short(since))") }
        if let next = wait.nextCheck {
            parts.append("looked at again at \(time.short(next)) (\(time.distance(next)))")
        }
        return parts.joined(separator: ", ")
    }

    /// The requirement and the present value: conditions in one form, failures in their own words.
    private func what(_ wait: WaitReason, _ isAlone: Bool) -> [String] {
        let required = wait.required.map { shown($0) }
        let current = wait.current.map { shown($0) }
        switch wait.reason {
        case .backoff:
            let failure = current ?? "an attempt failed"
            guard let required else { return [failure] }
            return ["\(failure) and asked for this pause (\(required))"]
        case .originCooldown:
            return [required.map { "needs \($0)" }, current].compactMap { $0 }
        case .engine where wait.engineWait == .engine && wait.since == nil:
            return [
                (isAlone ? "starts as soon as an engine runs; " : "") + (current ?? "none runs")
            ]
        case .engine: return [required.map { "needs \($0)" }, current].compactMap { $0 }
        case .storage, .input, .host, .trigger, .transfers, .budget:
            return [
                [required.map { "needs \($0)" }, current].compactMap { $0 }.joined(separator: ": ")
            ]
        case .slot:
            return [
                "needs a place in the slot \(required ?? "")" + (current.map { ": \($0)" } ?? "")
            ]
        case .network where wait.networks != nil:
            let isOn = current != "offline" && current != "unknown"
            let now = current.map { "; " + (isOn ? "on \($0)" : $0) }
            return ["needs network \(required ?? "")" + (now ?? "")]
        case .mounted:
            return ["needs \(required ?? "") mounted" + (current.map { "; \($0)" } ?? "")]
        case .concurrency, .originLimit:
            return [required.map { "needs \($0)" }, current.map { "there are \($0)" }]
                .compactMap { $0 }
        default:
            return [required.map { "needs \($0)" }, current.map { "is \($0)" }]
                .compactMap { $0 }
        }
    }

    /// Reasons contain words of servers, and moments in RFC 3339; users read local time.
    private func shown(_ text: String) -> String {
        if let moment = RFC3339.parse(text) { return time.short(moment) }
        return TerminalText.shown(Redaction.text(text))
    }
}
