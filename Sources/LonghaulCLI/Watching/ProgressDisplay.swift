import Longhaul
import LonghaulPlatform

/// Between two drawings on a terminal.
private let progressLiveSeconds = 0.2
/// Between two lines elsewhere.
private let progressPlainSeconds: Double = 10
/// Largest number of transfers that each leave a line; with more, only failed ones do.
private let progressNamed = 20

/// Shows progress while a command waits. On a terminal the lines are redrawn in place; elsewhere a
/// line is printed when a transfer begins and ends, and one now and then.
final class ProgressDisplay {
    enum Mode {
        case live, plain, silent
    }

    private let mode: Mode
    private let stream: ByteStream
    private let wait: WaitText
    private let terminalFacts: () -> TerminalFacts
    /// The number of lines above the cursor that the next drawing overwrites.
    private var drawnLines = 0
    /// Permanent lines, printed at the next drawing.
    private var standing: [String] = []
    private var nextShow: Instant?
    private let namesAll: Bool
    /// The reasons shown for transfers that do not move; each is shown once, until it changes or
    /// the transfer moves again.
    private var explained: [TransferID: String] = [:]

    init(
        mode: Mode, stream: ByteStream, time: TimeText, count: Int,
        terminalFacts: @escaping () -> TerminalFacts
    ) {
        self.mode = mode
        self.stream = stream
        self.terminalFacts = terminalFacts
        wait = WaitText(time: time)
        namesAll = mode == .plain || count <= progressNamed
    }

    static func standard(_ console: Console, count: Int) -> ProgressDisplay {
        ProgressDisplay(
            mode: mode(isQuiet: console.isQuiet, terminal: .of(2)), stream: console.diagnostics,
            time: .current(), count: count, terminalFacts: { .of(2) })
    }

    /// Nothing where there is no terminal.
    static func onTerminal(_ console: Console) -> ProgressDisplay {
        let terminal = TerminalFacts.of(2)
        let isLive = !console.isJSON && mode(isQuiet: false, terminal: terminal) == .live
        return ProgressDisplay(
            mode: isLive ? .live : .silent, stream: console.diagnostics, time: .current(), count: 1,
            terminalFacts: { .of(2) })
    }

    static func mode(
        isQuiet: Bool, terminal: TerminalFacts,
        environment: (String) -> String? = Environment.value
    ) -> Mode {
        if isQuiet { return .silent }
        // The lines of an engine's log would be mixed with the redrawn ones.
        let level = environment("LONGHAUL_LOG") ?? ""
        let isLogged = !level.isEmpty && level.lowercased() != "off"
        return terminal.isLive && !isLogged ? .live : .plain
    }

    var isShown: Bool { mode != .silent }
    /// Each transfer has a line when it begins.
    var isPlain: Bool { mode == .plain }

    /// Interval between checks of the transfers.
    var tickSeconds: Double {
        switch mode {
        case .live: progressLiveSeconds
        case .plain, .silent: 0.5
        }
    }

    /// ``show(_:_:)`` would print or draw now.
    func isDue(at now: Instant) -> Bool {
        switch mode {
        case .silent: return false
        case .live: return isDue(at: now, every: progressLiveSeconds)
        case .plain: return isDue(at: now, every: progressPlainSeconds)
        }
    }

    /// The display is due, but never in the first period: a transfer that ends by then needs no
    /// progress.
    private func isDue(at now: Instant, every seconds: Double) -> Bool {
        guard let due = nextShow else {
            nextShow = now + seconds
            return false
        }
        if now < due { return false }
        // A little early is better than a period late.
        nextShow = now + seconds * 0.9
        return true
    }

    func began(_ transfer: Transfer) {
        guard mode == .plain else { return }
        let (url, path) = (shownURL(transfer), TerminalText.shown(transfer.path))
        switch transfer.kind {
        case .download: put("\(transfer.id): \(url) -> \(path)")
        case .upload: put("\(transfer.id): \(path) -> \(url)")
        }
        flush()
    }

    /// - Parameter seconds: The time that it ran; read only if it is shown.
    func ended(_ transfer: Transfer, movingFor seconds: @autoclosure () -> Double?) {
        let isNews = namesAll || transfer.state != .completed
        guard mode != .silent, isNews else { return }
        let line = ending(transfer, seconds)
        if mode == .live { return standing.append(line) }
        put(line)
        flush()
    }

    /// Without a terminal: reports at once each transfer that is paused, or waits for more than its
    /// turn.
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

    /// Why it does not move, without values that change by themselves; `nil` = only its turn.
    private func obstacle(_ transfer: Transfer) -> String? {
        switch transfer.state {
        case .waiting:
            let reasons = transfer.obstacles
            if reasons.isEmpty { return nil }
            return reasons.map(\.reason.rawValue).joined(separator: " ")
                + (wait.cause(transfer) ?? "")
        case .paused: return transfer.state.rawValue
        case .running, .completed, .failed, .cancelled: return nil
        }
    }

    /// - Parameter tasks: The running continued tasks, a line each.
    func show(
        _ transfers: [Transfer], _ totals: ProgressView.Totals?, tasks: [String] = []
    ) {
        switch mode {
        case .silent: return
        case .plain:
            for transfer in transfers where transfer.state == .running || totals == nil {
                put(plain(transfer))
            }
            for task in tasks { put(task) }
            if let totals, totals.waiting > 0 { put(ProgressView.text(totals)) }
        case .live:
            let view = ProgressView(
                rows: transfers.filter { $0.state == .running || transfers.count <= 8 }.map(row),
                totals: totals, tasks: tasks)
            draw(view.lines(terminalFacts()))
        }
        flush()
    }

    /// Removes the drawn lines; permanent ones stay.
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
            row.note = TransferText.checking(transfer) ?? TransferText.waitsForBytes(transfer)
            row.rate = transfer.bytesPerSecond
            row.secondsLeft = TransferText.secondsLeft(transfer)
        case .waiting:
            // An obstacle says more than the reasons of its turn.
            let obstacles = transfer.obstacles
            let reason = wait.at(SystemClock.now().wall)
                .short(obstacles.isEmpty ? transfer.waitingFor : obstacles, transfer)
            row.note = reason.isEmpty ? "waiting" : "waits for " + reason
        case .paused:
            row.note = "paused" + (wait.cause(transfer).map { ", last error: " + $0 } ?? "")
        case .completed, .failed, .cancelled: row.note = transfer.state.rawValue
        }
        return row
    }

    private func plain(_ transfer: Transfer) -> String {
        let row = row(transfer)
        var parts = [Units.progress(row.done, of: row.total)]
        if row.total != nil { parts.insert(Units.percent(row.done, of: row.total), at: 0) }
        if let rate = row.rate { parts.append(Units.rate(rate)) }
        if let left = row.secondsLeft { parts.append(Units.duration(left) + " left") }
        if let note = row.note { parts.append(note) }
        return "\(transfer.id): " + parts.joined(separator: ", ")
    }

    private func ending(_ transfer: Transfer, _ seconds: () -> Double?) -> String {
        let name = TerminalText.shown(TransferText.name(transfer))
        let facts = terminalFacts()
        guard transfer.state == .completed else {
            let text = "\(transfer.id): \(transfer.state.rawValue): \(name)"
            return facts.styled(text, .red)
        }
        if transfer.isSkipped { return "\(transfer.id): completed: \(name), which exists now" }
        var text = "\(transfer.id): completed: \(name), \(Units.size(transfer.bytesDone))"
        if let moving = seconds() {
            let seconds = max(moving, 0.001)
            text += " in \(Units.duration(seconds))"
            if seconds >= 1 { text += ", " + Units.rate(Double(transfer.bytesFetched) / seconds) }
        }
        return text
    }

    private func shownURL(_ transfer: Transfer) -> String {
        TerminalText.shown(Redaction.url(transfer.url))
    }

    // MARK: - Drawing

    /// Draws in one write, so that nothing flickers: the cursor goes up to the first line; each
    /// line is written and its rest erased, then all below (ECMA-48: CUU, EL, ED). Wrapping is off
    /// meanwhile (DECAWM): a character wider than assumed costs no line.
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
