package import LonghaulCore

/// What one cell said when its engine died in this same boot: bytes that are in the kernel's page
/// cache, though no checkpoint tells of them.
///
/// All numbers are absolute, so that committing them twice does no harm.
package struct Leftover: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case segment, fetch }

    package var fetch: FetchID
    /// To be compared with the fetch's own: bytes of an older generation mean nothing.
    package var generation: Int64
    /// File offset at which the segment began to write.
    package var start: Int64
    /// File offset after its last byte; `start` if it wrote none.
    package var written: Int64
    /// Body bytes received: by this request (segment) or ever (fetch).
    package var received: Int64
    package var kind: Kind
    /// The mount that the part file was opened through (fetch), see ``FileFacts/mount``.
    package var mount: UInt64

    package init(
        fetch: FetchID, generation: Int64, start: Int64, written: Int64, received: Int64,
        kind: Kind, mount: UInt64 = 0
    ) {
        self.fetch = fetch
        self.generation = generation
        self.start = start
        self.written = written
        self.received = received
        self.kind = kind
        self.mount = mount
    }
}
