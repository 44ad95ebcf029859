/// Meaning of an answer's head for the bytes held and for the bytes that follow the head.
package enum ResumeDecision: Hashable, Sendable {
    /// The whole file begins, nothing was held. The length, where the head tells it.
    case fresh(Validator, length: Int64?)
    /// The bytes asked for, of the pinned version.
    case append(BodyPlan)
    /// The whole file again, of the pinned version: the bytes held are skipped.
    case skip(BodyPlan)
    /// The whole file begins; the bytes held are void from the first new byte on.
    case restart(RestartReason, Validator)
    /// Every byte is held already; the file's length.
    case alreadyComplete(length: Int64)
    /// This body is useless and the bytes held are void: ask for the whole file.
    case restartFromZero(RestartReason)
    /// A parallel segment cannot be had; the bytes held and the other segments are as good as
    /// before.
    case dropSegment
    /// Ask at another URL.
    case redirect
    /// No byte comes, and nothing is wrong with those held: counts towards
    /// ``Limits/emptyAnswersBeforeZero``.
    case empty(EmptyReason)
    case fail(Failure)

    package enum EmptyReason: String, Hashable, Sendable {
        /// 304: unexpected, since no field that we sent asks for it.
        case notModified
        /// 204, 205.
        case noContent
        /// 206 to If-Range that does not say which version it is of (RFC 9110 §15.3.7 demands the
        /// ETag).
        case versionMissing
        /// The answer comes from a server that may name the version differently.
        case otherName
        /// 416, or a 206 with nothing new, although the server says that it has more bytes.
        case rangeRefused
    }
}

/// A decision, and its lesson about the origin.
package struct ResumeJudgement: Hashable, Sendable {
    package var decision: ResumeDecision
    package var learned: OriginLesson?
    /// The body belongs to the held version by length and overlap (or digest) alone: its server
    /// gives the version another name, or may.
    package var isUnderOtherName = false

    package init(_ decision: ResumeDecision, learned: OriginLesson? = nil) {
        self.decision = decision
        self.learned = learned
    }
}

/// Behaviour of an origin that an answer shows; kept in ``OriginMemory``.
package enum OriginLesson: Hashable, Sendable {
    case ignoresRanges
    case mishandlesIfRange
    /// The origin answered a range with that range.
    case honoursRanges
    /// And under If-Range.
    case honoursIfRange
    /// Upload protocol that the origin speaks; `nil` = to be found out again.
    case uploads(SpokenUploads?)
    /// The origin's certificate was accepted.
    case verified
}

extension OriginMemory {
    package mutating func learn(_ lesson: OriginLesson) {
        switch lesson {
        case .ignoresRanges: ignoresRanges = true
        case .mishandlesIfRange: mishandlesIfRange = true
        case .honoursRanges: ignoresRanges = false
        case .honoursIfRange:
            ignoresRanges = false
            mishandlesIfRange = false
        case .uploads(let spoken): uploads = spoken
        case .verified: isVerified = true
        }
    }
}

extension ResumeDecision {
    /// Treatment of the body by the transport before anything has been committed.
    ///
    /// A long new body is held back until its validator is in the store: bytes on disk without the
    /// version that they are of could not be resumed. A short one is not worth the wait: its
    /// validator is recorded if it takes long (``Limits/pinSeconds``), and until then a crash means
    /// that it is fetched again.
    package var verdict: HeadVerdict {
        switch self {
        case .fresh(_, let length):
            guard let length, length <= Limits.holdThresholdBytes else { return .hold }
            return .accept(BodyPlan(position: 0, end: length))
        case .append(let plan), .skip(let plan): return .accept(plan)
        case .restart: return .hold
        case .redirect: return .redirect
        case .alreadyComplete, .restartFromZero, .dropSegment, .empty, .fail: return .refuse
        }
    }

    /// The bytes held stay, and the body adds to them.
    package var isOfHeldVersion: Bool {
        switch self {
        case .append, .skip: true
        case .fresh, .restart, .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .empty,
            .fail:
            false
        }
    }

    /// Place in the file to which the body goes, once the engine lets it proceed; `nil` when no
    /// body is taken.
    package var bodyPlan: BodyPlan? {
        switch self {
        case .fresh(_, let length): BodyPlan(position: 0, end: length)
        case .restart(_, let validator): BodyPlan(position: 0, end: validator.length)
        case .append(let plan), .skip(let plan): plan
        case .alreadyComplete, .restartFromZero, .dropSegment, .redirect, .empty, .fail: nil
        }
    }
}
