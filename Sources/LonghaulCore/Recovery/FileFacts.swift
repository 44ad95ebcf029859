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
    /// The mount that the part file was looked at through: another one has another page cache. 0 =
    /// the kernel does not say.
    package var mount: UInt64

    package init(part: Entry, destination: Entry, mount: UInt64 = 0) {
        self.part = part
        self.destination = destination
        self.mount = mount
    }
}
