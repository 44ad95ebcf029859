/// A file of a bundle.
package struct ManifestFile: Hashable, Sendable {
    /// Path in the bundle, checked: see `ManifestNames`.
    package var path: String
    package var url: String
    package var size: Int64?
    /// `nil` = the source has none: the file is proved by its size alone.
    package var digest: Checksum?
    /// Fields that the request needs beside the credential.
    package var headers = HeaderFields()
    /// The source's credential goes with the request.
    package var sendsCredential: Bool
    /// Name of the bytes in the layout: of the hub's cache the entity tag.
    package var name: String?

    package init(
        path: String, url: String, size: Int64? = nil, digest: Checksum? = nil,
        headers: HeaderFields = HeaderFields(), sendsCredential: Bool = false, name: String? = nil
    ) {
        self.path = path
        self.url = url
        self.size = size
        self.digest = digest
        self.headers = headers
        self.sendsCredential = sendsCredential
        self.name = name
    }
}

/// The files of one version of a source.
package struct Manifest: Hashable, Sendable {
    /// Pins the version: a commit, a digest, or a text that changes with the list. Not empty, and
    /// without characters that no file name has, but for a colon.
    package var version: String
    package var files: [ManifestFile]
    /// Symbolic links and empty directories, which a bundle has none of.
    package var passedOver = 0
    /// To be made before the list is believed; `nil` = none is required.
    package var signature: SignatureCheck?
    /// Of an image's registry.
    package var access = RegistryAccess.open
    /// Facts that the layout needs.
    package var layout = LayoutFacts.none

    package init(version: String, files: [ManifestFile]) {
        self.version = version
        self.files = files
    }
}

/// What a layout writes beside the files.
package enum LayoutFacts: Hashable, Sendable {
    case none
    /// `trees/COMMIT.json`, by which the hub's own client knows that a snapshot is whole.
    case hubTree([UInt8])
    /// The image's manifest, to the byte.
    case ociManifest([UInt8], mediaType: String)
}

/// How the blobs of an image are asked for.
package enum RegistryAccess: Hashable, Sendable {
    case open
    /// By user and password.
    case basic
    case bearer(RegistryToken)
}

/// A token of a registry, which expires while a large image is fetched.
package struct RegistryToken: Hashable, Sendable {
    /// Where tokens are given out.
    package let url: String
    /// Empty = it has not been asked for.
    package var text = ""
    /// How long it is valid from the answer on.
    package var seconds: Double = 0

    package init(url: String) {
        self.url = url
    }
}
