public import FoundationEssentials
public import LonghaulCore

// Payloads as values of the program. They are at most 64 KiB as JSON, which is checked when a
// request is submitted.

extension AppRefreshTaskRequest {
    /// A refresh, once, with a payload.
    ///
    /// - Throws: `invalidRequest` for a value that JSON cannot hold, see
    ///   ``JSONPayload/init(encoding:)``.
    public init(
        identifier: String, earliestBeginDate: Date? = nil, payload: some Encodable
    ) throws(LonghaulError) {
        self.init(identifier: identifier, earliestBeginDate: earliestBeginDate)
        self.payload = try JSONPayload(encoding: payload)
    }
}

extension ProcessingTaskRequest {
    /// Work to be done once, at once, without requirements, with a payload.
    ///
    /// - Throws: `invalidRequest` for a value that JSON cannot hold, see
    ///   ``JSONPayload/init(encoding:)``.
    public init(
        identifier: String, earliestBeginDate: Date? = nil, payload: some Encodable
    ) throws(LonghaulError) {
        self.init(identifier: identifier, earliestBeginDate: earliestBeginDate)
        self.payload = try JSONPayload(encoding: payload)
    }
}

extension ContinuedTaskRequest {
    /// Work that a person began, with a payload.
    ///
    /// - Throws: `invalidRequest` for a value that JSON cannot hold, see
    ///   ``JSONPayload/init(encoding:)``.
    public init(
        identifier: String, title: String, subtitle: String? = nil,
        strategy: SubmissionStrategy = .queue, payload: some Encodable
    ) throws(LonghaulError) {
        self.init(
            identifier: identifier, title: title, subtitle: subtitle, strategy: strategy)
        self.payload = try JSONPayload(encoding: payload)
    }
}

extension TriggerRequest {
    /// A standing request with a payload, which each of its launches gets.
    ///
    /// - Throws: `invalidRequest` for a value that JSON cannot hold, see
    ///   ``JSONPayload/init(encoding:)``.
    public init(
        identifier: String, on triggers: [TaskTrigger], kind: TaskKind = .refresh,
        payload: some Encodable
    ) throws(LonghaulError) {
        self.init(identifier: identifier, on: triggers, kind: kind)
        self.payload = try JSONPayload(encoding: payload)
    }
}

extension BackgroundTaskScheduler {
    /// Hands a wake-up with a value to any host of the queue, durably.
    ///
    /// - Parameters:
    ///   - host: The name of the host.
    ///   - identifier: Waiting wake-ups of one identifier are merged: the newest payload counts.
    ///   - payload: Handed over with it, as JSON.
    ///   - urgent: Handed over at once, also while the host is delayed after a failure.
    ///   - expires: Dropped when it was not handed over by then; `nil` = never.
    /// - Throws: `noSuchHost`; `invalidRequest` for a value that JSON cannot hold, see
    ///   ``JSONPayload/init(encoding:)``, for a payload of more than 64 KiB or an invalid
    ///   identifier; `storeUnavailable`.
    public func wake(
        host: String, identifier: String? = nil, payload: some Encodable, urgent: Bool = false,
        expires: Date? = nil
    ) async throws(LonghaulError) {
        let payload: JSONPayload? = try JSONPayload(encoding: payload)
        try await wake(
            host: host, identifier: identifier, payload: payload, urgent: urgent, expires: expires)
    }
}

extension BackgroundTask {
    /// The payload as a value of the program. A task without a payload has the value that `null`
    /// decodes to: `nil` for an optional type.
    ///
    /// - Throws: `invalidRequest` for a payload of another form, or none; the message names the
    ///   key. A handler that throws it has failed.
    public func payload<Value: Decodable>(
        as type: Value.Type = Value.self
    ) throws(LonghaulError) -> Value {
        try JSONPayload.decoded(payload, as: type)
    }
}
