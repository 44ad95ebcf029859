/// Why bytes that were held are given up. The event `transferRestarted` tells it.
package enum RestartReason: Hashable, Sendable {
    /// The remote file is another one now.
    case changed(VersionMatch.Evidence)
    /// The whole file came, without a version.
    case validatorMissing
    /// Nothing was recorded that could prove that the remote file is still the same.
    case nothingToProve
    /// The bytes before the missing ones differ from the bytes held.
    case overlapDiffers
    case partialUnusable(PartialProblem)
    /// 416; the length that the server named.
    case rangeNotSatisfiable(total: Int64?)
    /// 412.
    case preconditionFailed
    /// The body comes in another content coding than the bytes held.
    case codingChanged
    /// Answers that brought no byte, as often as ``Limits/emptyAnswersBeforeZero``.
    case noBytes
    /// More or fewer bytes than were promised.
    case lengthDisagrees
    /// The digest of the whole file, partly fetched from a mirror, is not the expected one.
    case digestDiffers
    /// The page of an error is delivered in place of the file, or is held from an earlier attempt.
    case errorPage
    case partFileMissing
    case partFileReplaced
    case partFileShorter

    /// Fault of a 206.
    package enum PartialProblem: String, Hashable, Sendable {
        /// No Range had been sent.
        case notAsked
        case multipart
        case rangeMissing
        case rangeMalformed
        case start
        case end
        case total
        /// Content-Length is not the length of the range.
        case length
    }
}

extension RestartReason {
    /// A cache may have answered with a stored answer to another request, and would again.
    package var mayBeOfCache: Bool {
        switch self {
        case .partialUnusable, .rangeNotSatisfiable, .noBytes: true
        case .changed, .validatorMissing, .nothingToProve, .overlapDiffers, .preconditionFailed,
            .codingChanged, .lengthDisagrees, .digestDiffers, .errorPage, .partFileMissing,
            .partFileReplaced, .partFileShorter:
            false
        }
    }
}

extension RestartReason: CustomStringConvertible {
    /// A clause that follows "started again from zero: ".
    package var description: String {
        switch self {
        case .changed(.etag): "the remote file has changed (its ETag is another one)"
        case .changed(.lastModified):
            "the remote file has changed (its modification time is another one)"
        case .changed(.length): "the remote file has changed (its length is another one)"
        case .changed(.digest): "the remote file has changed (its digest is another one)"
        case .validatorMissing:
            "the server sent the whole file and nothing that tells whether it is still the same"
        case .nothingToProve:
            "nothing is known that could prove that the remote file is still the same"
        case .overlapDiffers:
            "the remote file has changed (its bytes differ from those that are kept)"
        case .partialUnusable(let problem): "the server's partial answer is unusable: \(problem)"
        case .rangeNotSatisfiable(let total?):
            "the server has no such bytes: the remote file has \(SizeText.shown(total))"
        case .rangeNotSatisfiable(nil): "the server has no such bytes"
        case .preconditionFailed: "the server refused the condition that the file is still the same"
        case .codingChanged: "the server sent the file in another content coding than before"
        case .noBytes: "the server's answers to a resume brought no byte"
        case .lengthDisagrees: "the length of what came is not what the server had promised"
        case .digestDiffers:
            "the file that came, from several sources, has another digest than is expected"
        case .errorPage: "the page of an error takes the place of the file"
        case .partFileMissing: "the part file is gone"
        case .partFileReplaced: "the part file was replaced by another file"
        case .partFileShorter: "the part file was cut off"
        }
    }
}

extension RestartReason.PartialProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAsked: "no range had been asked for"
        case .multipart: "it has several parts"
        case .rangeMissing: "it does not say which bytes it holds"
        case .rangeMalformed: "its Content-Range is malformed"
        case .start: "it starts after the byte that was asked for"
        case .end: "it goes on beyond the end of the file that was recorded"
        case .total: "it does not name the length of the file that was recorded"
        case .length: "its Content-Length is not the length of its range"
        }
    }
}
