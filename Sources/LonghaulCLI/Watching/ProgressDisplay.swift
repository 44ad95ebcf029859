import Longhaul

/// Keeps those informed who wait. On a terminal the lines are drawn again and again in place;
/// elsewhere there is a line when a transfer begins and ends, and one now and then.
final class ProgressDisplay {
    enum Mode {
        case live, plain, silent
    }

    private let mode: Mode
    private let stream: ByteStream
    private let wait: WaitText
    private let terminalFacts: () -> TerminalFacts
    /// How many lines stand above the cursor that will be drawn over.
    private var drawnLines = 0
    /// Lines to be left standing, drawn at the next chance.
    private var standing: [String] = []
    private var nextShow: Double = 0
    private let namesAll: Bool
    /// What was said of those that do not move, each once until it changes or the transfer moves
    /// again.
    private var explained: [TransferID: String] = [:]

    private static let liveSeconds = 0.2
    private static let plainSeconds: Double = 10
    /// With more transfers than this, only those that fail leave a line.
    private static let namedMaximum = 20

    init(
        mode: Mode, stream: ByteStream, time: TimeText, count: Int,
        terminalFacts: @escaping () -> TerminalFacts
    ) {
        self.mode = mode
        self.stream = stream
        self.terminalFacts = terminalFacts
        wait = WaitText(time: time)
        namesAll = mode == .plain || count <= ProgressDisplay.namedMaximum
    }

    static func standard(_ console: Console, count: Int) -> ProgressDisplay {
        ProgressDisplay(
            mode: mode(isQuiet: console.isQuiet, terminal: .of(2)), stream: console.diagnostics,
            time: .current(), count: count, terminalFacts: { .of(2) })
    }

    static func mode(
        isQuiet: Bool, terminal: TerminalFacts,
        environment: (String) -> String? = Platform.environment
    ) -> Mode {
        if isQuiet { return .silent }
        // An engine's log would go between the lines that are drawn again and again.
        let level = environment("LONGHAUL_LOG") ?? ""
        let isLogged = !level.isEmpty && level.lowercased() != "off"
        return terminal.isLive && !isLogged ? .live : .plain
    }

    /// How often it is worth looking.
    var tickSeconds: Double {
        switch mode {
        case .live: ProgressDisplay.liveSeconds
        case .plain, .silent: 0.5
        }
    }

    /// Whether ``show(_:_:)`` would do anything now.
    func isDue(at uptime: Double) -> Bool {
        switch mode {
        case .silent: return false
        case .live: return isDue(at: uptime, every: ProgressDisplay.liveSeconds)
        case .plain: return isDue(at: uptime, every: ProgressDisplay.plainSeconds)
        }
    }

    /// Not before the first period is over: what is done by then needs no progress.
    private func isDue(at uptime: Double, every seconds: Double) -> Bool {
        if nextShow == 0 { nextShow = uptime + seconds }
        if uptime < nextShow { return false }
        // A little early is better than a period late.
        nextShow = uptime + seconds * 0.9
        return true
    }

    func began(_ transfer: Transfer) {
        guard mode == .plain else { return }
        put("\(transfer.id): \(shownURL(transfer)) -> \(TerminalText.shown(transfer.destination))")
        flush()
    }

    func ended(_ transfer: Transfer) {
        let isNews = namesAll || transfer.state != .completed
        guard mode != .silent, isNews else { return }
        let line = ending(transfer)
        if mode == .live { return standing.append(line) }
        put(line)
        flush()
    }

    /// Without a terminal: who waits for more than its turn, or was paused, says so, at once.
    func looked(at transfers: [Transfer]) {
        guard mode == .plain else { return }
        for transfer in transfers {
            guard let obstacle = obstacle(transfer) else {
                if transfer.state != .waiting { explained[transfer.id] = nil }
                continue
            }
            if explained.updateValue(obstacle, forKey: transfer.id) != obstacle {
                put(plain(transfer))
            }
        }
        flush()
    }

    /// What keeps it from moving, without what changes by itself; `nil` = nothing but its turn.
    private func obstacle(_ transfer: Transfer) -> String? {
        switch transfer.state {
        case .waiting:
            let reasons = transfer.obstacles
            if reasons.isEmpty { return nil }
            return reasons.map(\.reason.rawValue).joined(separator: " ")
                + (wait.cause(transfer.waitingFor) ?? "")
        case .paused: return transfer.state.rawValue
        case .running, .completed, .failed, .cancelled: return nil
        }
    }

    func show(_ transfers: [Transfer], _ totals: ProgressView.Totals?) {
        switch mode {
        case .silent: return
        case .plain:
            for transfer in transfers where transfer.state == .running || totals == nil {
                put(plain(transfer))
            }
            if let totals, totals.waiting > 0 { put(ProgressView.text(totals)) }
        case .live:
            let view = ProgressView(
                rows: transfers.filter { $0.state == .running || transfers.count <= 8 }.map(row),
                totals: totals)
            draw(view.lines(terminalFacts()))
        }
        flush()
    }

    /// Takes away what was drawn; what is to stand stays.
    func clear() {
        guard mode == .live else { return }
        draw([])
        flush()
    }

    // MARK: - Lines

    private func row(_ transfer: Transfer) -> ProgressView.Row {
        let name = TerminalText.shown(TransferText.name(transfer))
        var row = ProgressView.Row(
            name: name, done: transfer.bytesDone, total: transfer.bytesTotal)
        switch transfer.state {
        case .running:
            row.rate = transfer.bytesPerSecond
            row.secondsLeft = TransferText.secondsLeft(transfer)
        case .waiting:
            // Whose turn it is says less than what stands in its way.
            let obstacles = transfer.obstacles
            let reason = wait.at(Platform.now())
                .short(obstacles.isEmpty ? transfer.waitingFor : obstacles)
            row.note = reason.isEmpty ? "waiting" : "waits for " + reason
        case .paused, .completed, .failed, .cancelled: row.note = transfer.state.rawValue
        }
        return row
    }

    private func plain(_ transfer: Transfer) -> String {
        let row = row(transfer)
        var parts = [Units.progress(row.done, of: row.total)]
        if row.total != nil { parts.insert(Units.percent(row.done, of: row.total), at: 0) }
        if let rate = row.rate { parts.append(Units.rate(rate)) }
        if let left = row.secondsLeft { parts.append(Units.duration(left) + " left") }
        if let note = row.note {
            let why = transfer.state == .waiting ? wait.cause(transfer.waitingFor) : nil
            parts.append(note + (why.map { ": " + $0 } ?? ""))
        }
        return "\(transfer.id): " + parts.joined(separator: ", ")
    }

    private func ending(_ transfer: Transfer) -> String {
        let name = TerminalText.shown(TransferText.name(transfer))
        let facts = terminalFacts()
        guard transfer.state == .completed else {
            let text = "\(transfer.id): \(transfer.state.rawValue): \(name)"
            return facts.styled(text, .red)
        }
        if transfer.isSkipped { return "\(transfer.id): completed: \(name), which exists by now" }
        var text = "\(transfer.id): completed: \(name), \(Units.size(transfer.bytesDone))"
        if let started = transfer.startedAt, let finished = transfer.finishedAt {
            let seconds = max(finished - started, 0.001)
            text += " in \(Units.duration(seconds))"
            if seconds >= 1 { text += ", " + Units.rate(Double(transfer.bytesFetched) / seconds) }
        }
        return text
    }

    private func shownURL(_ transfer: Transfer) -> String {
        TerminalText.shown(Redaction.url(transfer.url))
    }

    // MARK: - Drawing

    /// In one write, so that nothing flickers: up to the first line, each line and the rest of it
    /// wiped, and what stood below it too (ECMA-48: CUU, EL, ED). Meanwhile the terminal wraps
    /// nothing (DECAWM): a character that is wider there than we think costs no line.
    private func draw(_ lines: [String]) {
        if drawnLines == 0, lines.isEmpty, standing.isEmpty { return }
        var text = drawnLines > 0 ? "\r\u{1B}[\(drawnLines)A" : ""
        for line in standing + lines { text += line + "\u{1B}[K\n" }
        text = "\u{1B}[?7l" + text + "\u{1B}[J\u{1B}[?7h"
        standing.removeAll()
        drawnLines = lines.count
        try? stream.write(text.utf8)
    }

    private func put(_ line: String) {
        try? stream.write((line + "\n").utf8)
    }

    private func flush() {
        try? stream.flush()
    }
}
