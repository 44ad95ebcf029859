/// A part file that a transfer had and nobody wants any more, and which file that is. What is to be
/// deleted is recorded in the transaction that makes it nobody's, and forgotten when it is gone: an
/// engine that follows a killed one deletes the rest.
package struct OrphanedPart: Hashable, Sendable {
    package var path: String
    package var identity: FileIdentity

    package init(path: String, identity: FileIdentity) {
        self.path = path
        self.identity = identity
    }
}

extension FetchState {
    /// The part file as it is recorded; `nil` before one was made.
    package var recordedPart: OrphanedPart? {
        partIdentity.map { OrphanedPart(path: partPath, identity: $0) }
    }

    /// What is to be deleted when nobody wants its bytes. The file is under one of two names: the
    /// directory could not be synced after it had been renamed.
    package var orphanedParts: [OrphanedPart] {
        guard let partIdentity else { return [] }
        return [partPath, publication].compactMap { $0 }.map {
            OrphanedPart(path: $0, identity: partIdentity)
        }
    }
}
