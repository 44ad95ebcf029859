#if Tracing
internal import LonghaulCore
internal import Tracing

/// Spans for the tracer of the program: the trait `Tracing` of the package.
/// `docs/beside-a-server.md` explains them.
///
/// An engine has no context of a caller: a request is made hours after the call that asked for it,
/// often by another process. So each span is a separate trace.
enum AttemptSpans {
    /// A span for each ended request. It is reported once the request is committed, with the
    /// moments of its start and end. URLs and messages are redacted.
    static func record(_ writes: [StoreWrite]) {
        for case .attempt(let id, let attempt) in writes { record(attempt, of: id) }
    }

    private static func record(_ attempt: AttemptRecord, of id: TransferID) {
        let span = InstrumentationSystem.tracer.startSpan(
            "longhaul.attempt", context: .topLevel, ofKind: .client,
            at: instant(attempt.startedAt))
        var attributes: SpanAttributes = [:]
        attributes["longhaul.transfer.id"] = id.rawValue
        attributes["longhaul.attempt.number"] = attempt.number
        attributes["longhaul.attempt.outcome"] = attempt.outcome
        attributes["longhaul.body.bytes"] = attempt.bytes
        attributes["url.full"] = Redaction.url(attempt.url)
        attributes["http.response.status_code"] = attempt.httpStatus
        span.attributes = attributes
        if !attempt.isWell {
            let message = attempt.message.map { Redaction.text($0) }
            span.setStatus(SpanStatus(code: .error, message: message))
        }
        span.end(at: instant(attempt.endedAt))
    }

    private static func instant(_ time: LonghaulCore.Timestamp) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(
            nanosecondsSinceEpoch: UInt64(clamping: time.milliseconds) &* 1_000_000)
    }
}
#endif
