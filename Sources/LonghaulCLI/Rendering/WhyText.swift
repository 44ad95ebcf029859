import Longhaul

/// Why a transfer is not running, as `why` prints it.
struct WhyText {
    var time: TimeText

    func lines(_ transfer: Transfer, _ forecast: Forecast) -> [String] {
        var lines = [
            "\(transfer.id) is \(transfer.state.rawValue): "
                + TerminalText.shown(TransferText.name(transfer))
        ]
        let width = transfer.waitingFor.map { $0.reason.rawValue.count }.max() ?? 0
        for wait in transfer.waitingFor {
            lines.append(
                "  " + DisplayWidth.padded(wait.reason.rawValue, to: width) + "  " + facts(wait))
        }
        lines.append("Forecast: \(forecast.text).")
        return lines
    }

    private func facts(_ wait: WaitReason) -> String {
        var parts: [String] = []
        if let required = wait.required { parts.append("needs \(shown(required))") }
        if let current = wait.current { parts.append("is \(shown(current))") }
        if let since = wait.since { parts.append("since \(time.short(since))") }
        if let next = wait.nextCheck {
            parts.append("looked at again at \(time.short(next)) (\(time.distance(next)))")
        }
        return parts.joined(separator: ", ")
    }

    /// Reasons carry servers' words and moments as RFC 3339; people read their own time.
    private func shown(_ text: String) -> String {
        if let moment = RFC3339.parse(text) { return time.short(moment) }
        return TerminalText.shown(Redaction.text(text))
    }
}
