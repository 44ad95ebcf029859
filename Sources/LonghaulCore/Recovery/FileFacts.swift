/// What stands under a fetch's two names when a crash is recovered from: facts only, judged by pure code.
package struct FileFacts: Hashable, Sendable {
    package enum Entry: Hashable, Sendable {
        /// Nothing has the name.
        case missing
        /// A regular file.
        case present(FileIdentity, size: Int64)
        /// Something that is no regular file, or that cannot be looked at.
        case unusable(errno: Int32)
    }

    package var part: Entry
    package var destination: Entry

    package init(part: Entry, destination: Entry) {
        self.part = part
        self.destination = destination
    }
}
