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
