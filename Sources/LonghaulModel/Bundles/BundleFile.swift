/// How a file's bytes are known to be right.
package enum BundleProof: String, Codable, Sendable, CaseIterable {
    case digest, size
}

/// A file of a version of a bundle. Raw values of the state are stored: never renumber.
package struct BundleFile: Hashable, Sendable {
    package enum State: Int, Sendable, CaseIterable {
        /// Has to be fetched, found or copied.
        case waiting = 0
        /// A transfer fetches it.
        case recorded = 1
        /// Durable under its name.
        case complete = 2
        case failed = 3
    }

    /// The place in the manifest.
    package var number: Int64
    package var entry: ManifestFile
    package var state = State.waiting
    package var transfer: TransferID?
    /// ``SourceVersion/text`` of the complete file: tells whether it was changed since.
    package var stamp: String?
    /// Fetches that ended with a wrong digest.
    package var mismatches = 0
    /// A file that is in the way is replaced.
    package var replaces = false
    package var error: LonghaulError?

    package init(number: Int64, _ entry: ManifestFile) {
        self.number = number
        self.entry = entry
    }

    /// `nil` = the source tells neither digest nor size.
    package var proof: BundleProof? {
        if entry.digest != nil { return .digest }
        return entry.size == nil ? nil : .size
    }
}

/// The version of a bundle that is ready, or is being fetched.
package struct BundleVersion: Hashable, Sendable {
    /// The number of its row.
    package var id: Int64
    /// The pin: a commit, a digest, a tag with the digest of its list.
    package var name: String
    /// Files and bytes of the manifest; a file of unknown size counts as 0 bytes until it is here.
    package var files: Int
    package var bytes: Int64
    package var complete = 0
    package var failed = 0
    package var bytesComplete: Int64 = 0
    /// Links and empty directories of the manifest.
    package var passedOver = 0
    /// All files are proved by digests.
    package var isProved = false
    package var signedBy: String?
    /// JSON of the globs that have selected its files.
    package var selection = ""
    package var readyAt: Timestamp?
    /// What the layout needs of the manifest, besides its files.
    package var facts: String?

    package var isDone: Bool { complete == files }

    package init(id: Int64, name: String, files: Int, bytes: Int64) {
        self.id = id
        self.name = name
        self.files = files
        self.bytes = bytes
    }
}
