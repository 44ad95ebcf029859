import Longhaul

/// Bytes and lines that `show` prints of the body of an upload's answer.
private let answerBytesShown = 2_000
private let answerLinesShown = 10

/// A transfer in full, as `show` prints it.
struct TransferText {
    var time: TimeText
    var terminal: TerminalFacts
    /// See ``RateOverride``; it slows running transfers.
    var limit: RateOverride?

    /// The file's name, which is what people know a transfer by.
    static func name(_ transfer: Transfer) -> String {
        let path = transfer.path
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// The error in a few words, for a column.
    static func words(_ error: LonghaulError) -> String {
        let words =
            switch error.code {
            case .dns: "host not found"
            case .io: "disk failure"
            case .network: "connection failed"
            case .noSpace: "disk full"
            case .tls: "TLS failure"
            case .cancelled: "cancelled"
            // Codes are open: `notFound` is "not found".
            default:
                error.code.rawValue.reduce(into: "") { text, letter in
                    text += letter.isUppercase ? " " + letter.lowercased() : String(letter)
                }
            }
        return TerminalText.shown(words) + (error.httpStatus.map { " (\($0))" } ?? "")
    }

    /// `nil` when the size or the rate is not known.
    static func secondsLeft(_ transfer: Transfer) -> Double? {
        guard let total = transfer.bytesTotal, let rate = transfer.bytesPerSecond, rate > 0
        else { return nil }
        return Double(max(0, total - transfer.bytesDone)) / rate
    }

    /// Tells that the source of an upload is read before anything is sent; `nil` = it is not.
    static func checking(_ transfer: Transfer) -> String? {
        transfer.bytesChecked.map {
            "checking the file: " + Units.percent($0, of: transfer.bytesTotal)
        }
    }

    /// Tells that the server has what the file of an upload has, which is still written; `nil` = it
    /// has not.
    static func waitsForBytes(_ transfer: Transfer) -> String? {
        guard transfer.state == .running, transfer.options.upload?.ifChanged == .follow,
            transfer.bytesTotal == nil, transfer.requests == 0
        else { return nil }
        return "waits for more of " + TerminalText.shown(name(transfer))
    }

    func lines(
        _ transfer: Transfer, attempts: [AttemptRecord], events: [EventRecord]
    ) -> [String] {
        var lines = TextLine.ordered(facts(transfer)) { label, text in
            terminal.styled(DisplayWidth.padded(label + ":", to: 15), .bold) + text
        }
        if !attempts.isEmpty {
            lines += ["", terminal.styled("Attempts:", .bold)] + attempts.map(line)
        }
        if !events.isEmpty {
            lines += ["", terminal.styled("Events:", .bold)] + events.map(line)
        }
        return lines
    }

    private func facts(_ transfer: Transfer) -> [TextLine] {
        let error = transfer.error.map { "\($0.code.rawValue): \(shown($0.message))" }
        let failure = transfer.isSkipped ? nil : transfer.error
        let answers = transfer.kind == .upload ? transfer.response.map(answer) ?? [] : []
        let lines: [TextLine] = [
            TextLine(0, "Transfer", "\(transfer.id) (\(transfer.kind.rawValue))"),
            TextLine(
                2, "Priority",
                transfer.priority.name + (transfer.isDiscretionary ? ", discretionary" : "")),
            TextLine(
                3, "Runs now",
                transfer.runsNow
                    ? "as asked: its schedule is set aside until the attempt ends" : nil),
            TextLine(6, "Prefers", preferences(transfer)),
            TextLine(8, "Progress", progress(transfer)),
            TextLine(
                8, "Resumable",
                transfer.isUnresumable
                    ? "no: it restarts when it stops (`run --unresumable finish`)" : nil),
            TextLine(8, "Line", transfer.yielding.map(line)),
            TextLine(
                8, "Limit",
                transfer.state == .running ? limit.map { LimitText.line($0, time) } : nil),
            TextLine(8, "Fetched", "\(Units.size(transfer.bytesFetched)) on the wire"),
            TextLine(8, "Expected", transfer.expectedBytes.map(Units.size)),
            TextLine(10, "Attempts", "\(transfer.attempts), restarts: \(transfer.restarts)"),
            TextLine(12, "Waiting for", all: transfer.waitingFor.map(WaitText(time: time).long)),
            TextLine(
                12, "Skipped",
                transfer.isSkipped ? transfer.error.map { shown($0.message) } : nil),
            TextLine(
                12, transfer.state == .failed ? "Error" : "Last error",
                failure == nil ? nil : error),
            TextLine(12, "Kept", failure.map { Units.size($0.bytesKept) }),
            TextLine(13, "Content coding", transfer.contentCoding.map(TransferText.coding)),
            TextLine(16, "Answer", all: answers),
        ]
        return TextLine.table(of: transfer) { "\(time.full($0)) (\(time.distance($0)))" } + lines
            + OptionLines.of(transfer.options)
    }

    /// The last answer to an upload: its status and URL, then the beginning of a body of text.
    private func answer(_ response: TransferResponse) -> [String] {
        let status = response.statusCode.map { "HTTP \($0) from " } ?? ""
        let head = status + TerminalText.shown(Redaction.url(response.url))
        guard let body = response.body, !body.contains(0) else { return [head] }
        let text = String(decoding: body.prefix(answerBytesShown), as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).map { shown(String($0)) }
        var shownLines = Array(lines.prefix(answerLinesShown))
        if lines.count > shownLines.count || body.count > answerBytesShown {
            shownLines.append(terminal.ellipsis)
        }
        return [head] + shownLines
    }

    /// Shows the content coding of a file whose content is not what its name says.
    static func coding(_ coding: String) -> String {
        "\(TerminalText.shown(coding)): the server sent it so unasked, and so it is kept"
    }

    private func preferences(_ transfer: Transfer) -> String? {
        let prefers = transfer.schedule.preferences(isDiscretionary: transfer.isDiscretionary)
        if prefers.isEmpty { return nil }
        let names = prefers.names.joined(separator: ", ")
        if transfer.arePreferencesWaived { return names + " (waived)" }
        guard let check = transfer.waiverCheck, let last = transfer.waivesBy else { return names }
        return names + ", looked at \(time.distance(check)), waived \(time.distance(last))"
    }

    private func progress(_ transfer: Transfer) -> String {
        var parts = [Units.progress(transfer.bytesDone, of: transfer.bytesTotal)]
        if transfer.bytesTotal != nil {
            parts.insert(Units.percent(transfer.bytesDone, of: transfer.bytesTotal), at: 0)
        }
        if let rate = transfer.bytesPerSecond { parts.append(Units.rate(rate)) }
        if transfer.state == .running, let left = TransferText.secondsLeft(transfer) {
            parts.append(Units.duration(left) + " left")
        }
        if let checking = TransferText.checking(transfer) { parts.append(checking) }
        if let waits = TransferText.waitsForBytes(transfer) { parts.append(waits) }
        return parts.joined(separator: ", ")
    }

    private func line(_ yielding: YieldReport) -> String {
        var parts = [yielding.state.words]
        if let delay = yielding.queueingDelay {
            parts.append("\(Int((delay * 1000).rounded())) ms queued")
        }
        parts.append("window " + Units.size(Int64(yielding.window)))
        parts.append("\(Int((yielding.share * 100).rounded())) % of its best rate")
        return parts.joined(separator: ", ")
    }

    private func line(_ attempt: AttemptRecord) -> String {
        var parts = ["  " + time.full(attempt.startedAt), TerminalText.shown(attempt.outcome)]
        if let status = attempt.httpStatus { parts.append("HTTP \(status)") }
        parts.append(Units.size(attempt.bytes))
        parts.append("in " + Units.duration(attempt.endedAt - attempt.startedAt))
        if let message = attempt.message { parts.append(shown(message)) }
        let line = parts.joined(separator: "  ")
        guard let phases = phases(of: attempt) else { return line }
        return line + "\n    " + phases
    }

    /// `192.0.2.1:443, HTTP/2: name 12 ms, connection 20 ms, TLS 31 ms, first byte 84 ms`; a
    /// request over an open connection has only the last one.
    private func phases(of attempt: AttemptRecord) -> String? {
        guard let peer = attempt.phases.peer else { return nil }
        let version = attempt.httpVersion.flatMap { Self.versions[$0] }.map { ", " + $0 }
        let times: [(String, Double?)] = [
            ("name", attempt.phases.nameLookup), ("connection", attempt.phases.connect),
            ("TLS", attempt.phases.tlsHandshake), ("first byte", attempt.phases.firstByte),
        ]
        let words = times.compactMap { name, seconds in
            seconds.map { "\(name) \(Int(($0 * 1000).rounded())) ms" }
        }
        let line = peer + (version ?? "")
        return words.isEmpty ? line : line + ": " + words.joined(separator: ", ")
    }

    private static let versions = [
        10: "HTTP/1.0", 11: "HTTP/1.1", 20: "HTTP/2", 30: "HTTP/3",
    ]

    private func line(_ event: EventRecord) -> String {
        var line = "  \(time.full(event.at))  #\(event.sequence)  \(TerminalText.shown(event.type))"
        if let detail = event.detail { line += "  " + shown(detail) }
        return line
    }

    private func shown(_ text: String) -> String {
        TerminalText.shown(Redaction.text(text))
    }
}

extension YieldReport.State {
    fileprivate var words: String {
        switch self {
        case .open: "taken, as no other traffic wants it"
        case .yielded: "left to others"
        case .probing: "being tried"
        case .measuring: "held back to measure its delay"
        case .sharing: "shared, its delay being unknown"
        }
    }
}

/// Lines for the options that differ from the defaults.
enum OptionLines {
    static func of(_ options: TransferOptions) -> [TextLine] {
        var request = TransferRequest.blank
        request.options = options
        var lines: [TextLine] = []
        for field in RequestField.all where !field.isDefault(in: request) {
            guard let label = field.label, field.applies(to: request) else { continue }
            let texts: [String] =
                switch field.value(request) {
                case .flag(let flag) where field.shape == .onOff: [flag ? "on" : "off"]
                case let value: TextLine.texts(value) { _ in "" }
                }
            lines.append(TextLine(15, label, all: texts))
        }
        if let profile = options.s3?.profile {
            let place = "\(profile.name) in \(profile.credentialsFile)"
            lines.append(TextLine(15, "Profile", TerminalText.shown(place)))
        }
        return lines
    }
}
