/// Result of comparing two validators: whether their bytes are of the same version.
package enum VersionMatch: Hashable, Sendable {
    /// Proven equal: strong tag, strong date, or digest.
    case same
    /// All common values agree, but only weakly: a tag marked weak, a young date.
    case similar
    /// The validators name nothing in common except perhaps the length.
    case unknown
    case different(Evidence)

    package enum Evidence: String, Hashable, Sendable {
        case etag, lastModified, length, digest
    }
}

extension Validator {
    /// Compares the pinned validator with an answer's. The strongest value that both have decides;
    /// a different length always means another version.
    package func match(_ answer: Validator) -> VersionMatch {
        if let length, let other = answer.length, length != other { return .different(.length) }
        if let match = matchDigests(answer) { return match }
        if let tag = entityTag, let other = answer.entityTag {
            if tag.matchesStrongly(other) { return .same }
            // Proxies and compressing servers mark a tag weak and keep the rest.
            guard tag.matchesWeakly(other), tag.isWeak || other.isWeak else {
                return .different(.etag)
            }
            return matchDates(answer) == .different(.lastModified)
                ? .different(.lastModified) : .similar
        }
        return matchDates(answer)
    }

    private func matchDigests(_ answer: Validator) -> VersionMatch? {
        guard let mine = digest.flatMap(DigestField.checksum),
            let other = answer.digest.flatMap(DigestField.checksum),
            mine.algorithm == other.algorithm
        else { return nil }
        return mine == other ? .same : .different(.digest)
    }

    private func matchDates(_ answer: Validator) -> VersionMatch {
        guard let lastModified, let other = answer.lastModified else { return .unknown }
        guard lastModified.isExactly(other) else { return .different(.lastModified) }
        return lastModifiedIsStrong ? .same : .similar
    }
}
