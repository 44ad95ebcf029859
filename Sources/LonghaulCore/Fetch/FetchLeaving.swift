package import LonghaulModel

/// Stage of a fetch.
package enum FetchStage: Hashable, Sendable {
    /// The part file is being opened.
    case preparing
    /// The source of an upload is compared with its digest. Nothing has been asked yet.
    case checking
    /// At least one request is out, or is about to be.
    case moving
    /// The wire is quiet and stays so: stopping, or the last checkpoint before leaving.
    case settling
    case verifying
    /// All bytes are there; made durable together with others.
    case securing
    /// Whole and durable, and others are given their copies first.
    case sharing
    case publishing
    /// Gone: nothing may follow.
    case left
}

/// Next state of the transfer, once the wire is quiet and the last checkpoint is made.
package enum FetchLeaving: Hashable, Sendable {
    case requeue
    case retry(Failure)
    /// The missing bytes are asked for when the server wants to be asked again. No failure: the
    /// answers before it were good.
    case pause(AskedPause)
    case waitForStorage(LonghaulError, needs: StorageNeed)
    case fail(LonghaulError)
    /// Another URL or credentials are needed; the session's host is asked, if it has one.
    case needInput(LonghaulError)
    case cancel(keepingBytes: Bool)

    var isCancel: Bool {
        guard case .cancel = self else { return false }
        return true
    }

    /// The transfer resumes later, with its bytes.
    var isForNow: Bool {
        switch self {
        case .requeue, .retry, .pause, .waitForStorage: true
        case .fail, .needInput, .cancel: false
        }
    }
}

/// No request before a moment, by the server's word.
package struct AskedPause: Hashable, Sendable {
    package var until: Timestamp
    package var error: LonghaulError
}

/// Demand of an event on the wire on the machine.
enum WireOutcome {
    /// Every byte is held, and no request is out.
    case finish
    case leave(FetchLeaving)
}

extension LonghaulError {
    /// Error of a transfer whose deadline has come while it runs.
    static func deadlinePassed(on frame: FetchFrame) -> LonghaulError {
        deadlinePassed(after: frame.run.hasGained(frame.bytes) ? nil : frame.target.lastError)
    }

    /// - Parameter cause: Why the last attempt gained nothing, if it did not.
    package static func deadlinePassed(after cause: LonghaulError?) -> LonghaulError {
        let reason = cause.map { " (the last error: \($0.parts.what))" } ?? ""
        return LonghaulError(
            .timedOut,
            "the deadline passed before the transfer was complete\(reason); "
                + "its bytes are kept: retry it, with a later deadline where that was fixed",
            httpStatus: cause?.httpStatus, curlCode: cause?.curlCode)
    }
}
