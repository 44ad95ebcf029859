/// What stands on disk under a transfer's two names, looked at once.
package struct FileFacts: Hashable, Sendable {
    package enum Entry: Hashable, Sendable {
        case missing
        case present(FileIdentity, size: Int64)
        /// It could not be looked at.
        case unusable(errno: Int32)
    }

    package var part: Entry
    package var destination: Entry

    package init(part: Entry, destination: Entry) {
        self.part = part
        self.destination = destination
    }
}
