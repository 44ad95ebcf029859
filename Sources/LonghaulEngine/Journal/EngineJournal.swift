package import Logging
package import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// Log of an engine for its operator, as things happen. URLs and messages leave redacted.
///
/// An engine without one spends nothing on it.
package struct EngineJournal: Sendable {
    let logger: Logger

    package init(_ logger: Logger) {
        self.logger = logger
    }

    func starts(_ mode: String, epoch: Int64) {
        logger.info("the engine starts", metadata: ["mode": "\(mode)", "epoch": "\(epoch)"])
    }

    func leaves(_ report: EngineReport) {
        logger.info(
            "the engine leaves",
            metadata: [
                "stoppedBy": "\(report.stoppedBy.rawValue)",
                "completed": "\(report.totals.completed)",
                "failed": "\(report.totals.failed)", "bytes": "\(report.bytes)",
                "seconds": "\(Int(report.seconds))",
            ])
    }

    func starts(_ transfer: TransferID, url: String, holding bytes: Int64, of total: Int64?) {
        logger.debug(
            "starts",
            metadata: [
                "transfer": "\(transfer)", "url": "\(Redaction.url(url))", "have": "\(bytes)",
                "total": "\(total.map(String.init) ?? "unknown")",
            ])
    }

    /// Logs committed writes. Hundreds of small files end in one commit: they are one line, and
    /// each only at the finest level.
    func record(_ writes: [StoreWrite]) {
        var (files, bytes, fetched): (Int, Int64, Int64) = (0, 0, 0)
        for case .completed(_, _, let totals) in writes {
            files += 1
            bytes += totals.bytesDone
            fetched += totals.bytesFetched
        }
        for write in writes { record(write, isOneOfMany: files > 1) }
        if files > 1 {
            logger.info(
                "completed",
                metadata: [
                    "transfers": "\(files)", "bytes": "\(bytes)", "fetched": "\(fetched)",
                ])
        }
    }

    private func record(_ write: StoreWrite, isOneOfMany: Bool) {
        switch write {
        case .completed(let id, let path, let totals):
            logger.log(
                level: isOneOfMany ? .debug : .info, "completed",
                metadata: [
                    "transfer": "\(id)", "path": "\(TerminalText.shown(path))",
                    "bytes": "\(totals.bytesDone)", "fetched": "\(totals.bytesFetched)",
                    "attempts": "\(totals.attempts)",
                ])
        case .skipped(let id, let error, _, _):
            logger.notice("skipped", metadata: facts(of: error, id))
        case .failed(let id, let error, _):
            logger.warning("failed", metadata: facts(of: error, id))
        case .needsInput(let id, let error, _):
            logger.warning("needs input", metadata: facts(of: error, id))
        case .cancelled(let id, _):
            logger.info("cancelled", metadata: ["transfer": "\(id)"])
        case .queued(let id, let readyAt, let reasons): waits(id, until: readyAt, reasons)
        case .restarted(let id, let reason, let bytes):
            logger.notice(
                "starts over",
                metadata: [
                    "transfer": "\(id)", "reason": "\(reason)", "bytesLost": "\(bytes)",
                ])
        case .attempt(let id, let outcome): attempt(id, outcome)
        case .save, .lastError, .abandonUpload, .dropFetch, .give, .leave, .discard,
            .orphan, .forget, .learn, .originFailed, .originWorked, .saveOrigin:
            break
        }
    }

    /// Failed before it was begun.
    func refused(_ id: TransferID, _ error: LonghaulError) {
        logger.warning("failed", metadata: facts(of: error, id))
    }

    private func facts(of error: LonghaulError, _ id: TransferID) -> Logger.Metadata {
        var facts: Logger.Metadata = [
            "transfer": "\(id)", "code": "\(error.code.rawValue)",
            "why": "\(Redaction.text(error.message))", "bytesKept": "\(error.bytesKept)",
        ]
        if let status = error.httpStatus { facts["httpStatus"] = "\(status)" }
        if let code = error.curlCode { facts["curlCode"] = "\(code)" }
        return facts
    }

    private func waits(_ id: TransferID, until: Timestamp?, _ reasons: [WaitReason]) {
        var facts: Logger.Metadata = ["transfer": "\(id)"]
        if !reasons.isEmpty {
            facts["for"] = "\(reasons.map(\.reason.rawValue).joined(separator: ","))"
        }
        if let until { facts["until"] = "\(RFC3339.format(until))" }
        logger.info("leaves the wire and waits", metadata: facts)
    }

    /// Logs an attempt: a failure at once, a success only at the finest level.
    private func attempt(_ id: TransferID, _ outcome: AttemptRecord) {
        let isWell = outcome.isWell
        var facts: Logger.Metadata = [
            "transfer": "\(id)", "request": "\(outcome.number)",
            "url": "\(Redaction.url(outcome.url))", "outcome": "\(outcome.outcome)",
            "bytes": "\(outcome.bytes)",
        ]
        if let status = outcome.httpStatus { facts["httpStatus"] = "\(status)" }
        if let message = outcome.message, !isWell {
            facts["why"] = "\(Redaction.text(message))"
        }
        logger.log(level: isWell ? .debug : .notice, "a request ended", metadata: facts)
    }

    func conditions(_ old: Conditions, _ new: Conditions) {
        for kind in ConditionKind.allCases { changed(kind, old[kind], new[kind]) }
        if new.network.value == old.network.value, new.network.isAnother(than: old.network) {
            logger.info("the network is another one of the same kind")
        }
    }

    /// A charge goes up and down all day: only at the finest level.
    private func changed(
        _ kind: ConditionKind, _ old: Reading<String>, _ new: Reading<String>
    ) {
        guard old.value != new.value else { return }
        logger.log(
            level: kind == .battery ? .debug : .info, "a condition has changed",
            metadata: [
                "condition": "\(kind)", "value": "\(new.value ?? "unknown")",
                "before": "\(old.value ?? "unknown")", "source": "\(new.source)",
            ])
    }

    func suspends() {
        logger.notice("the machine goes to sleep: everything is saved first")
    }

    func resumes() {
        logger.notice("the machine is awake")
    }

    func machineGoesDown() {
        logger.notice("the machine shuts down")
    }

    func adjusted(_ tuning: EngineTuning) {
        logger.notice(
            "new limits",
            metadata: [
                "running": "\(tuning.limits.running)", "perOrigin": "\(tuning.limits.perOrigin)",
                "rate": "\(tuning.rates.bytesPerSecond.map(String.init) ?? "none")",
                "windows": "\(tuning.rates.parts.count)",
            ])
    }

    func commitFailed(_ error: LonghaulError, times: Int) {
        logger.error(
            "the store cannot be written; tried again",
            metadata: ["why": "\(Redaction.text(error.message))", "times": "\(times)"])
    }

    /// Every turn: shows what keeps an engine awake.
    func turn(_ inputs: Int, active: Int) {
        logger.trace("a turn", metadata: ["inputs": "\(inputs)", "active": "\(active)"])
    }
}

/// How long the turns of an engine and their commits take, for a process that shows it. From any
/// thread. Nothing is decided by it.
package final class EngineTimes: Sendable {
    private let turned = Mutex(TimeHistogram())
    private let committed = Mutex(TimeHistogram())

    package init() {}

    package var turns: TimeHistogram { turned.withLock { $0 } }

    package var commits: TimeHistogram { committed.withLock { $0 } }

    func addTurn(of seconds: Double) {
        turned.withLock { $0.add(seconds) }
    }

    /// Runs a commit.
    func commit<Value>(_ body: () throws -> Value) rethrows -> Value {
        let began = SystemClock.now().monotonic
        defer {
            let seconds = SystemClock.now().monotonic - began
            committed.withLock { $0.add(seconds) }
        }
        return try body()
    }
}
