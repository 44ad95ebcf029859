internal import LonghaulCore

extension JSONText {
    /// Writes the fields that `show` adds to the transfer's own.
    package mutating func shown(
        _ transfer: Transfer, attempts: [AttemptRecord], events: [EventRecord]
    ) {
        object {
            $0.transferFields(transfer)
            $0.field("options") { $0.optionFields(transfer.options) }
            if let yielding = transfer.yielding {
                $0.field("yielding") { $0.yieldReport(yielding) }
            }
            $0.field("attemptRecords", array: attempts) { $1.write(to: &$0) }
            $0.field("events", array: events) { $0.event($1) }
        }
    }

    /// Present only while it runs and yields.
    private mutating func yieldReport(_ yielding: YieldReport) {
        field("state", "\(yielding.state)")
        field(
            "queueingDelayMs", yielding.queueingDelay.map { Int64(bounding: ($0 * 1000).rounded()) }
        )
        field("window", yielding.window)
        field("sharePercent", Int((yielding.share * 100).rounded()))
    }

    /// An event of the transfer that it stands under.
    package mutating func event(_ event: EventRecord) {
        object {
            $0.field("seq", event.sequence)
            $0.field("at", event.at)
            $0.field("session", event.session)
            $0.field("type", event.type)
            $0.field("detail", json: event.detail)
            $0.field("acknowledgedAt", event.acknowledgedAt)
        }
    }

    package mutating func status(_ status: QueueStatus) {
        object {
            if let engine = status.engine {
                $0.field("engine") {
                    $0.field("pid", Int(engine.pid))
                    $0.field("mode", engine.mode.rawValue)
                    $0.field("since", engine.since)
                }
            } else {
                $0.field("engine", String?.none)
            }
            $0.field("counts") {
                for state in TransferState.allCases {
                    $0.field(named: state.rawValue, status.counts[state] ?? 0)
                }
            }
            $0.field("hostsFailed", status.hostsFailed)
            $0.field("bytesPerSecond", rate: status.bytesPerSecond)
            $0.field("nextWake", status.nextWake)
            $0.field("configuration", status.configuration)
        }
    }

    package mutating func finding(_ finding: DoctorFinding) {
        object {
            $0.field("check", finding.check)
            $0.field("ok", finding.ok)
            $0.field("detail", finding.detail)
            $0.field("fix", finding.fix)
        }
    }

    package mutating func summary(_ summary: EngineSummary) {
        object {
            $0.field("type", "summary")
            $0.field("completed", summary.completed)
            $0.field("failed", summary.failed)
            $0.field("hostsFailed", summary.hostsFailed)
            $0.field("left", summary.left)
            $0.field("bytes", summary.bytes)
            $0.field("seconds", seconds: summary.seconds)
            $0.field("stoppedBy", summary.stoppedBy.rawValue)
        }
    }
}

extension AttemptRecord {
    fileprivate func write(to json: inout JSONText) {
        json.object {
            $0.field("startedAt", startedAt)
            $0.field("endedAt", endedAt)
            $0.field("url", Redaction.url(url))
            $0.field("bytes", bytes)
            $0.field("httpStatus", httpStatus)
            $0.field("httpVersion", httpVersion)
            $0.field("outcome", outcome)
            $0.field("message", message.map(Redaction.text))
            $0.field("peer", phases.peer)
            $0.field("nameLookupSeconds", seconds: phases.nameLookup)
            $0.field("connectSeconds", seconds: phases.connect)
            $0.field("tlsHandshakeSeconds", seconds: phases.tlsHandshake)
            $0.field("firstByteSeconds", seconds: phases.firstByte)
        }
    }
}
