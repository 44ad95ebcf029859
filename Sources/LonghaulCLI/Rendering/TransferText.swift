import Longhaul

/// Bytes and lines that `show` prints of the body of an upload's answer.
private let answerBytesShown = 2_000
private let answerLinesShown = 10

/// A transfer in full, as `show` prints it.
struct TransferText {
    var time: TimeText
    var terminal: TerminalFacts

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

    func lines(
        _ transfer: Transfer, attempts: [AttemptRecord], events: [EventRecord]
    ) -> [String] {
        var lines = facts(transfer).map { label, value in
            terminal.styled(DisplayWidth.padded(label + ":", to: 15), .bold) + value
        }
        if !attempts.isEmpty {
            lines += ["", terminal.styled("Attempts:", .bold)] + attempts.map(line)
        }
        if !events.isEmpty {
            lines += ["", terminal.styled("Events:", .bold)] + events.map(line)
        }
        return lines
    }

    private func facts(_ transfer: Transfer) -> [(String, String)] {
        var facts: [(String, String)] = []
        func add(_ label: String, _ value: String?) {
            if let value { facts.append((label, value)) }
        }
        func moment(_ moment: Timestamp?) -> String? {
            moment.map { "\(time.full($0)) (\(time.distance($0)))" }
        }
        add("Transfer", "\(transfer.id) (\(transfer.kind.rawValue))")
        add("State", transfer.state.rawValue)
        add("URL", TerminalText.shown(Redaction.url(transfer.url)))
        add(
            transfer.kind == .download ? "Destination" : "Source",
            TerminalText.shown(transfer.path))
        add("Session", TerminalText.shown(transfer.session))
        add("Host", transfer.host.map(TerminalText.shown))
        add(
            "Priority", transfer.priority.name + (transfer.isDiscretionary ? ", discretionary" : "")
        )
        add(
            "Runs now",
            transfer.runsNow ? "as asked: its schedule is set aside until the attempt ends" : nil)
        add("Not before", moment(transfer.earliestBegin))
        for (label, value) in schedule(transfer) { add(label, value) }
        add("Deadline", moment(transfer.deadline))
        add("Stall timeout", Units.duration(transfer.stallTimeout))
        add("Progress", progress(transfer))
        add(
            "Resumable",
            transfer.isUnresumable
                ? "no: it restarts when it stops (`run --unresumable finish`)" : nil)
        add("Line", transfer.yielding.map(line))
        add("Fetched", "\(Units.size(transfer.bytesFetched)) on the wire")
        add("Expected", transfer.expectedBytes.map(Units.size))
        add("Enqueued", moment(transfer.createdAt))
        add("Started", moment(transfer.startedAt))
        add("Ended", moment(transfer.finishedAt))
        add("Attempts", "\(transfer.attempts), restarts: \(transfer.restarts)")
        let shared = transfer.sharedWith.map(\.description).joined(separator: ", ")
        add("Shared with", shared.isEmpty ? nil : shared)
        let wait = WaitText(time: time)
        for reason in transfer.waitingFor { add("Waiting for", wait.long(reason)) }
        if transfer.isSkipped {
            add("Skipped", transfer.error.map { shown($0.message) })
        } else if let error = transfer.error {
            add(
                transfer.state == .failed ? "Error" : "Last error",
                "\(error.code.rawValue): \(shown(error.message))")
            add("Kept", Units.size(error.bytesKept))
        }
        add("Content coding", transfer.contentCoding.map(TransferText.coding))
        add("Checksum", transfer.checksum.map { "\($0.algorithm.rawValue):\($0.hex)" })
        add("Meta", transfer.metadata.map(TerminalText.shown))
        facts += OptionLines.of(transfer.options)
        if transfer.kind == .upload, let response = transfer.response {
            facts += answer(response).map { ("Answer", $0) }
        }
        return facts
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

    private func schedule(_ transfer: Transfer) -> [(String, String?)] {
        let prefers = transfer.schedule.preferences(isDiscretionary: transfer.isDiscretionary)
        var preferences: String?
        if !prefers.isEmpty {
            preferences = prefers.names.joined(separator: ", ")
            if transfer.arePreferencesWaived {
                preferences? += " (waived)"
            } else if let check = transfer.waiverCheck, let last = transfer.waivesBy {
                preferences? += ", looked at \(time.distance(check)), waived \(time.distance(last))"
            }
        }
        let needs = transfer.schedule.requires
        return [
            ("Window", transfer.schedule.windows?.description),
            ("Time zone", transfer.schedule.windows?.timeZone),
            ("Requires", needs.isEmpty ? nil : needs.names.joined(separator: ", ")),
            ("Prefers", preferences),
        ]
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
    static func of(_ options: TransferOptions) -> [(label: String, value: String)] {
        var request = TransferRequest.blank
        request.options = options
        var lines: [(String, String)] = []
        for field in RequestField.all where !field.isDefault(in: request) {
            guard let label = field.label, field.applies(to: request) else { continue }
            let values = texts(field.value(request), field.shape)
            lines += values.map { (label, TerminalText.shown($0)) }
        }
        if let profile = options.upload?.profile {
            let place = "\(profile.name) in \(profile.credentialsFile)"
            lines.append(("Profile", TerminalText.shown(place)))
        }
        return lines
    }

    private static func texts(_ value: FieldValue, _ shape: FieldShape) -> [String] {
        switch value {
        case .unknown: []
        case .flag(let flag) where shape == .onOff: [flag ? "on" : "off"]
        case .flag(let flag): [flag ? "yes" : "no"]
        case .number(let number): ["\(number)"]
        case .size(let bytes): [Units.size(bytes)]
        case .rate(let bytes): [Units.rate(Double(bytes))]
        case .seconds(let seconds): [Units.duration(seconds)]
        case .text(let text): [text.isEmpty ? "none" : text]
        case .texts(let texts): texts
        case .numbers(let numbers): numbers.map(String.init)
        case .hidden: ["given"]
        }
    }
}
