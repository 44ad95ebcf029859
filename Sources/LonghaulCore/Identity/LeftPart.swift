/// A part file that a transfer had, and which file that is.
package struct LeftPart: Hashable, Sendable {
    package var path: String
    package var identity: FileIdentity

    package init(path: String, identity: FileIdentity) {
        self.path = path
        self.identity = identity
    }
}
