/// The file of a completed transfer, as it was when that was recorded.
package struct KeptFile: Hashable, Sendable {
    package var path: String
    package var identity: FileIdentity
    package var length: Int64
    /// Any change of the file, its name or its mode since came after this moment, and the
    /// kernel has noted it (`st_ctim`, which no program can set).
    package var finishedAt: Timestamp
    package var validator: Validator
    /// Another program has left it, maybe unfinished.
    package var isOfAnother = false

    package init(
        path: String, identity: FileIdentity, length: Int64, finishedAt: Timestamp,
        validator: Validator
    ) {
        self.path = path
        self.identity = identity
        self.length = length
        self.finishedAt = finishedAt
        self.validator = validator
    }

    /// The existing file that a download continues; its version is unknown.
    package init(_ file: ContinuedFile) {
        self.init(
            path: file.path,
            identity: FileIdentity(device: file.device, inode: file.inode, birth: file.birth),
            length: file.size, finishedAt: Timestamp(milliseconds: file.touched),
            validator: Validator())
        isOfAnother = true
    }

    /// Header fields that ask for another version only (RFC 9110 §13.1). `nil` for a weak
    /// validator, which does not prove that the bytes are the same.
    package var condition: HeaderFields? {
        var fields = HeaderFields()
        if let etag = validator.etag, !etag.hasPrefix("W/") {
            fields["If-None-Match"] = etag
        } else if let date = validator.lastModified, validator.lastModifiedIsStrong {
            fields["If-Modified-Since"] = date
        } else {
            return nil
        }
        return fields
    }
}

/// A useless part file that a transfer had, with its identity. Files to delete are recorded in the
/// transaction that abandons them, and the record is removed once they are deleted: after a kill
/// the next engine deletes the rest.
package struct OrphanedPart: Hashable, Sendable {
    package var path: String
    package var identity: FileIdentity

    package init(path: String, identity: FileIdentity) {
        self.path = path
        self.identity = identity
    }
}

extension FetchState {
    /// The recorded part file; `nil` before one was made.
    package var recordedPart: OrphanedPart? {
        partIdentity.map { OrphanedPart(path: partPath, identity: $0) }
    }

    /// The recorded part file is the one that failed its digest, under its new name.
    package var isPartMovedAside: Bool { BadFile.isName(partPath) }

    /// Files to delete when the bytes are given up. The part file is under one of two names: the
    /// directory could not be synced after the rename.
    package var orphanedParts: [OrphanedPart] {
        guard let partIdentity else { return [] }
        return [partPath, publication].compactMap { $0 }.map {
            OrphanedPart(path: $0, identity: partIdentity)
        }
    }
}
