internal import LonghaulCore

// The lines of `export`. A secret is left out, and its field named in `leftOut`.

extension Transfer {
    /// Writes a transfer that has not ended, as a request. Returns the fields that are left out.
    package func writeExported(to json: inout JSONText) -> [String] {
        var leftOut = Redaction.url(url) == url ? [] : ["url"]
        json.object { json in
            json.field("type", "transfer")
            json.field("id", id.rawValue)
            json.field("state", state == .paused ? "paused" : "waiting")
            json.field("url", Redaction.url(url))
            switch file {
            case .destination(let path): json.field("destination", path)
            case .source(let path): json.field("source", path)
            }
            json.field("session", session)
            json.field("priority", priority.name)
            json.field("discretionary", isDiscretionary)
            json.field("earliestBegin", earliestBegin)
            json.field("deadline", deadline)
            json.field("expectedBytes", expectedBytes)
            json.field("checksum", checksum.map { "\($0.algorithm.rawValue):\($0.hex)" })
            json.field("meta", json: metadata)
            json.field("window", schedule.windows?.description)
            json.field("timeZone", schedule.windows?.timeZone)
            json.field("require", schedule.requires.names)
            if let prefers = schedule.prefers {
                json.field("prefer", prefers.names)
            }
            json.field("stallTimeout", stallTimeout)
            json.field("options") { leftOut += writeOptions(to: &$0) }
            json.field("leftOut", leftOut)
        }
        return leftOut
    }

    private func writeOptions(to json: inout JSONText) -> [String] {
        var request = TransferRequest.blank
        request.options = options
        var leftOut: [String] = []
        for entry in RequestField.printed where !entry.isDefault(in: request) {
            let value = entry.value(request)
            if value.isSecret(entry.shape) {
                leftOut.append(entry.key)
            } else {
                json.field(entry.key, value)
            }
        }
        return leftOut
    }
}

extension SessionRecord {
    package func writeExported(to json: inout JSONText) {
        json.object {
            $0.field("type", "session")
            $0.field("name", name)
            $0.field("host", settings.host)
            $0.field("discretionary", settings.isDiscretionary)
            $0.field("launchEvents", settings.launchEvents)
            $0.field("askBeforeStart", settings.askBeforeStart)
            $0.field("launchDelay", settings.launchDelay)
            $0.field("notify", settings.notifies)
        }
    }
}

extension HostRecord {
    package func writeExported(to json: inout JSONText) -> [String] {
        let leftOut = ExportedText.secrets(in: settings.argv)
        json.object {
            $0.field("type", "host")
            $0.field("name", name)
            $0.field("argv", leftOut.isEmpty ? settings.argv : [])
            $0.field("permitted", settings.permitted)
            $0.field("eventBudget", settings.eventBudget)
            $0.field("taskBudget", settings.taskBudget)
            $0.field("maxMemory", settings.maxMemory)
            $0.field("notify", settings.notifies)
            $0.field("leftOut", leftOut)
        }
        return leftOut
    }
}

extension JobRecord {
    /// Writes a job with the options of the command that makes it again.
    ///
    /// - Parameter variables: The variables of its command that were given with `--env`.
    package func writeExported(
        to json: inout JSONText, variables: [String: String]
    ) -> [String] {
        let arguments = ExportedText.secrets(in: argv)
        let secrets = variables.keys.filter(ExportedText.mayNameSecret).sorted()
        json.object { json in
            json.field("type", "job")
            json.field("name", name)
            json.field("argv", arguments.isEmpty ? argv : [])
            json.field("once", settings.isOnce)
            // Without a schedule it runs when it is asked to.
            json.field("state", state == .paused || request == nil ? "paused" : "waiting")
            json.field("timeZone", request?.job?.timeZone)
            json.field("options") {
                writeOptions(to: &$0, variables.filter { !secrets.contains($0.key) })
            }
            json.field("leftOut", arguments + secrets)
        }
        return arguments + secrets
    }

    private func writeOptions(to json: inout JSONText, _ variables: [String: String]) {
        let schedule = request?.job
        json.field("every", ExportedText.duration(request?.repetition?.interval))
        json.field("tolerance", ExportedText.duration(request?.repetition?.slack))
        json.field("at", schedule?.daily?.times)
        json.field("days", schedule?.daily.map { $0.days.description })
        json.field("calendar", schedule?.calendar?.description)
        json.field("on", (request?.triggers ?? []).map(\.rawValue))
        json.field("earliest", request?.earliestBegin)
        json.field("window", schedule?.windows?.description)
        json.field("deadline", schedule?.deadline)
        json.field("after", schedule?.after ?? [])
        json.field("require", request?.requirements.names ?? [])
        if let prefers = schedule?.prefers {
            json.field("prefer", prefers.isEmpty ? ["none"] : prefers.names)
        }
        json.field("discretionary", schedule?.isDiscretionary ?? false)
        if request?.expiresWhenRequirementIsLost == false { json.field("whenLost", "continue") }
        json.field("retries", schedule?.retries.map(String.init))
        json.field("directory", settings.directory)
        json.field("nice", "\(settings.nice)")
        json.field("grace", ExportedText.duration(settings.graceSeconds))
        json.field("maxTime", ExportedText.duration(settings.maxSeconds))
        json.field("inhibitSleep", settings.inhibitsSleep.rawValue)
        json.field("notify", settings.notifies)
        json.field("slot", settings.slot?.rawValue)
        json.field("maxMemory", settings.maxMemory.map(String.init))
        json.field("env", variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
    }
}

private enum ExportedText {
    /// As an option takes it.
    static func duration(_ seconds: Double?) -> String? {
        seconds.map { "\(Int64($0.rounded(.up)))s" }
    }

    /// The field of a program's arguments, if one of them has a secret.
    static func secrets(in argv: [String]) -> [String] {
        ShownOutput.arguments(argv) == argv ? [] : ["argv"]
    }

    /// A variable whose name says that it is a secret, and not a file that has one.
    static func mayNameSecret(_ name: String) -> Bool {
        let name = name.uppercased()
        let places = ["_FILE", "_PATH", "_DIR", "_COMMAND", "_SOCK"]
        if places.contains(where: { name.hasSuffix($0) }) { return false }
        let secrets = ["PASS", "SECRET", "TOKEN", "KEY", "CREDENTIAL", "AUTH"]
        return secrets.contains { name.contains($0) }
    }
}

extension FieldValue {
    /// Shown without its secret.
    fileprivate func isSecret(_ shape: FieldShape) -> Bool {
        switch self {
        case .hidden: true
        case .texts(let texts): shape == .headers || texts.contains(where: Redaction.isRedacted)
        case .text(let text): Redaction.isRedacted(text)
        case .unknown, .flag, .number, .size, .rate, .seconds, .numbers, .moment: false
        }
    }
}
