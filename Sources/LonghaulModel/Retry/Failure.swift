/// The class of a failure: it decides the reaction; the error has the message for users.
package enum FailureClass: Hashable, Sendable, CaseIterable {
    /// May be gone at the next try: retried with back-off.
    case transient
    /// The disk is full: the transfer resumes when there is room again.
    case waitForStorage
    /// The bytes held are useless with the server's present file.
    case restartFromZero
    /// The transfer resumes once it is given another URL or credentials; bytes are kept.
    case needsInput
    /// Trying again cannot help; bytes are kept.
    case permanent
    /// Something on this machine has to be mended; bytes are kept.
    case localFault
}

/// A classified failure.
package struct Failure: Hashable, Sendable {
    package var kind: FailureClass
    package var error: LonghaulError
    /// Seconds that the server asked to wait; a minimum.
    package var retryAfter: Double?
    /// The failure counts against the origin: enough of them in a row cool it down for all its
    /// transfers.
    package var blamesOrigin: Bool
    /// Why bytes are given up, where `kind` is `restartFromZero`.
    package var restart: RestartReason?

    /// The server says that it is too much now, with or without a time.
    var asksForPause: Bool {
        retryAfter != nil || error.httpStatus == 429 || error.httpStatus == 503
    }

    package init(
        _ kind: FailureClass, _ error: LonghaulError, retryAfter: Double? = nil,
        blamesOrigin: Bool = false, restart: RestartReason? = nil
    ) {
        self.kind = kind
        self.error = error
        self.retryAfter = retryAfter
        self.blamesOrigin = blamesOrigin
        self.restart = restart
        switch kind {
        case .transient, .waitForStorage, .restartFromZero: self.error.retryable = true
        case .needsInput, .permanent, .localFault: self.error.retryable = false
        }
    }
}

extension Failure {
    /// The same as one that may pass, if the user says so of its status (`--retry-status`).
    package func passing(for statuses: [Int]) -> Failure {
        guard let status = error.httpStatus, statuses.contains(status) else { return self }
        switch kind {
        case .permanent, .needsInput:
            return Failure(.transient, error, retryAfter: retryAfter, blamesOrigin: true)
        default: return self
        }
    }
}

extension Failure {
    /// The file that another program has left is not proven to be the beginning of the server's.
    package static func notContinued(_ reason: RestartReason) -> Failure {
        let why =
            switch reason {
            case .overlapDiffers: "its last bytes are not those that the server has there"
            case .rangeNotSatisfiable, .changed(.length), .lengthDisagrees:
                "it is longer than the server's file"
            case .validatorMissing, .nothingToProve, .partialUnusable, .noBytes:
                "the server sends no parts of a file that could prove it"
            case .changed, .preconditionFailed, .codingChanged, .digestDiffers, .errorPage,
                .partFileMissing, .partFileReplaced, .partFileShorter:
                "\(reason)"
            }
        return notContinued(why)
    }

    package static func notContinued(_ why: String) -> Failure {
        Failure(
            .permanent,
            LonghaulError(
                .destinationExists,
                "the file that is there cannot be continued: \(why); it was left alone: choose "
                    + "another name, or move it away and leave out --continue"))
    }
}

extension Failure {
    /// An answer that is shorter than the bytes held, and names no version: see ``ResumeJudge``.
    package static let lesserWhole = Failure(
        .transient,
        LonghaulError(
            .serverError,
            "the answer is not the file but less than what is held of it, perhaps an error in "
                + "words; check the URL"))

    /// The next whole file that ends there is believed, see ``EndedRequest``.
    static let unannouncedEnd = Failure(
        .transient,
        LonghaulError(
            .network,
            "the connection ended without the sign of TLS that nothing was cut off"),
        blamesOrigin: true)
}
