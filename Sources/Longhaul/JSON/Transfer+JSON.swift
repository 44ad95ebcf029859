internal import LonghaulCore

extension JSONText {
    /// A transfer as every command and event shows it; secrets redacted.
    package mutating func transfer(_ transfer: Transfer) {
        object { $0.transferFields(transfer) }
    }

    /// The fields alone, for objects that add to them.
    ///
    /// - Parameter isForHost: The answer to an upload is as it came: a host may need its address.
    package mutating func transferFields(_ transfer: Transfer, isForHost: Bool = false) {
        field("id", transfer.id.rawValue)
        field("kind", transfer.kind.rawValue)
        field("state", transfer.state.rawValue)
        field("url", Redaction.url(transfer.url))
        switch transfer.file {
        case .destination(let path): field("destination", path)
        case .source(let path): field("source", path)
        }
        field("session", transfer.session)
        field("host", transfer.host)
        field("priority", transfer.priority.name)
        field("discretionary", transfer.isDiscretionary)
        field("earliestBegin", transfer.earliestBegin)
        field("deadline", transfer.deadline)
        field("expectedBytes", transfer.expectedBytes)
        field("bytesTotal", transfer.bytesTotal)
        field("bytesDone", transfer.bytesDone)
        if transfer.kind == .upload {
            field("bytesSent", max(transfer.bytesDone, transfer.bytesSent ?? 0))
        }
        field("bytesFetched", transfer.bytesFetched)
        field("bytesPerSecond", rate: transfer.bytesPerSecond)
        field("createdAt", transfer.createdAt)
        field("startedAt", transfer.startedAt)
        field("finishedAt", transfer.finishedAt)
        field("attempts", transfer.attempts)
        field("restarts", transfer.restarts)
        field("sharedWith", array: transfer.sharedWith) { $0.value($1.rawValue) }
        field("waitingFor", array: transfer.waitingFor) { $0.waitReason($1) }
        error(transfer.error)
        field("checksum", transfer.checksum.map { "\($0.algorithm.rawValue):\($0.hex)" })
        field("meta", json: transfer.metadata)
        scheduleFields(transfer)
        field("contentCoding", transfer.contentCoding)
        guard transfer.kind == .upload else { return }
        if let response = transfer.response {
            field("response") { response.write(to: &$0, isForHost: isForHost) }
        } else {
            field("response", String?.none)
        }
    }

    /// The conditions that the request sets for its start, and its timers.
    private mutating func scheduleFields(_ transfer: Transfer) {
        let prefers = transfer.schedule.preferences(isDiscretionary: transfer.isDiscretionary)
        field("window", transfer.schedule.windows?.description)
        field("timeZone", transfer.schedule.windows?.timeZone)
        field("require", array: transfer.schedule.requires.names) { $0.value($1) }
        field("prefer", array: prefers.names) { $0.value($1) }
        field("preferencesWaived", transfer.arePreferencesWaived)
        field("runsNow", transfer.runsNow)
        field("preferencesCheckedAt", transfer.waiverCheck)
        field("stallTimeout", seconds: transfer.stallTimeout)
    }

    /// Why a transfer is not running, and what is to be expected.
    package mutating func why(_ transfer: Transfer, _ forecast: Forecast) {
        object {
            $0.field("id", transfer.id.rawValue)
            $0.field("state", transfer.state.rawValue)
            $0.field("waitingFor", array: transfer.waitingFor) { $0.waitReason($1) }
            $0.error(transfer.error)
            $0.field("forecast") { $0.forecast(forecast) }
        }
    }

    package mutating func forecast(_ forecast: Forecast) {
        field("startsAt", forecast.startsAt)
        field("endsAt", forecast.endsAt)
        field("text", forecast.text)
    }

    package mutating func waitReason(_ wait: WaitReason) {
        object {
            $0.field("reason", wait.reason.rawValue)
            $0.field("required", wait.required)
            $0.field("current", wait.current)
            $0.field("since", wait.since)
            $0.field("nextCheck", wait.nextCheck)
        }
    }

    private mutating func error(_ error: LonghaulError?) {
        guard let error else { return field("error", String?.none) }
        field("error") { $0.errorFields(error) }
    }

    /// The `error` of a transfer.
    package mutating func errorFields(_ error: LonghaulError) {
        field("code", error.code.rawValue)
        field("message", Redaction.text(error.message))
        field("httpStatus", error.httpStatus)
        field("curlCode", error.curlCode)
        field("retryable", error.retryable)
        field("bytesKept", error.bytesKept)
    }

    /// The object that a refused command prints. `line` is that of the batch input.
    package mutating func refusal(_ error: LonghaulError, line: Int? = nil) {
        object {
            $0.field("error") {
                $0.field("code", error.code.rawValue)
                $0.field("message", Redaction.text(error.message))
                if let id = error.transferID { $0.field("id", id.rawValue) }
                if let line { $0.field("line", line) }
            }
        }
    }
}

extension JSONText {
    /// A condition: `{condition, value, source, since}`.
    package mutating func condition(_ kind: ConditionKind, of conditions: Conditions) {
        object {
            $0.field("condition", kind.rawValue)
            switch kind {
            case .power:
                $0.field("value", conditions.power.value?.rawValue)
                $0.origin(of: conditions.power)
            case .battery:
                $0.field("value", conditions.battery.value)
                $0.origin(of: conditions.battery)
            case .network:
                $0.field("value", conditions.network.value?.rawValue)
                $0.origin(of: conditions.network)
            case .idle:
                if let isIdle = conditions.isIdle.value {
                    $0.field("value", isIdle)
                } else {
                    $0.field("value", String?.none)
                }
                $0.origin(of: conditions.isIdle)
            case .saver:
                $0.field("value", conditions.savesPower.value.map { $0 ? "on" : "off" })
                $0.origin(of: conditions.savesPower)
            }
        }
    }

    private mutating func origin<Value>(of reading: Reading<Value>) {
        field("source", reading.source)
        field("since", reading.since)
    }
}

extension JSONText {
    /// Under the names that a request has them in JSON Lines; secrets redacted.
    package mutating func optionFields(_ options: TransferOptions) {
        var request = TransferRequest.blank
        request.options = options
        for entry in RequestField.printed
        where options.upload != nil || !entry.rules.contains(.upload) {
            field(entry.key, entry.value(request))
        }
    }
}

extension TransferResponse {
    /// The answer to an upload. Its body is text, or `bodyBase64` where it is no UTF-8.
    fileprivate func write(to json: inout JSONText, isForHost: Bool) {
        json.field("url", isForHost ? url : Redaction.url(url))
        json.field("status", statusCode)
        json.field("headers") { object in
            var seen: Set<String> = []
            for name in headers.fields.map(\.name)
            where seen.insert(name.lowercased()).inserted {
                let value = headers.values(name).map {
                    isForHost ? $0 : Redaction.value($0, ofField: name)
                }
                object.field(named: name, value.joined(separator: ", "))
            }
        }
        if let body, let text = String(validating: body, as: UTF8.self) {
            json.field("body", text)
        } else {
            json.field("bodyBase64", bodyBase64)
        }
    }
}

extension Transfer {
    /// Writes the transfer with its options, so that the output can be used as a request again.
    package func writeListed(to json: inout JSONText) {
        json.object {
            $0.transferFields(self)
            $0.field("options") { $0.optionFields(options) }
        }
    }
}
