package import LonghaulCore

/// The disk, as the engine sees it. Orders are carried out outside the engine's thread, orders of
/// one fetch in sequence; the outcome of each comes back as an ``EngineInput``. The simulation
/// replaces it with a disk that loses unsynced bytes.
package protocol FilePort: Sendable {
    func submit(_ orders: [FileOrder])

    /// Assigns the place where a request of this fetch writes; takes a cell on the progress board.
    /// The part file must be open.
    func target(for fetch: FetchID, generation: Int64, start: Int64) -> SegmentTarget?

    /// Gives the cell back once the request has ended.
    func release(_ target: SegmentTarget, of fetch: FetchID)

    func written(_ target: SegmentTarget) -> Int64
    func received(_ target: SegmentTarget) -> Int64

    /// Shows other processes how fast the fetch moves, in bytes per second.
    func publish(rate: Double, fetched: Int64, of fetch: FetchID)

    /// Nothing is under way: files kept open for the next file are closed.
    func rest()

    // MARK: Recovery; before anything else, and blocking.

    /// Cells that an engine which was killed in this boot left on the progress board.
    func leftovers() -> [BoardLeftover]

    /// Forgets the leftovers, once they are committed.
    func resetBoard()

    /// `madeOn`: the part file's disk, where it is known. `expecting`: which file it is.
    func facts(
        part: String, destination: String, madeOn: MountedDisk?, expecting: FileIdentity?
    ) -> FileFacts

    /// Makes the file's content durable. When that fails, the leftovers of the fetch are void for
    /// every later engine, too.
    func sync(part: String, of fetch: FetchID, expecting identity: FileIdentity) -> LocalFault?

    /// Gives a part file its name again that was moved aside for its digest, when it was to get
    /// this destination: that was not recorded.
    func takeBack(_ part: OrphanedPart, from destination: String)

    /// Removes a part file that was made for the transfer since then and never recorded: not the
    /// one that was.
    func clearPart(
        of: TransferID, _ partSuffix: Int, beside: String, madeSince: Timestamp,
        sparing: OrphanedPart?)

    /// Makes the names in the directory of this path durable. `part` is a name that the same file
    /// may still have besides, and loses.
    func syncDirectory(of path: String, without part: OrphanedPart?) -> LocalFault?
}

/// An order to the disk.
package enum FileOrder: Sendable {
    indirect case prepare(FetchID, PartOrder, fetched: Int64)
    /// The file that an upload sends, opened for reading. It is never changed and never deleted.
    case openSource(FetchID, path: String, fetched: Int64)
    /// The open file that an upload follows is looked at.
    case lookAtSource(FetchID)
    case reserve(FetchID, bytes: Int64)
    case truncate(FetchID, generation: Int64)
    case sync(FetchID, token: Int64, digests: [Checksum.Algorithm], through: Int64)
    indirect case verify(FetchID, [Checksum], length: Int64, destination: String)
    case digest(FetchID, Range<Int64>, Checksum.Algorithm)
    /// Secures one batch: see group commit in the documentation of the engine.
    case secure([(FetchID, length: Int64)])
    case publish([(FetchID, PublicationOrder)])
    /// Copy a file into the empty part file, if the file is unchanged.
    indirect case fill(FetchID, KeptFile)
    /// Copies of the fetch's whole part file; each is durable when it is reported. Every one is
    /// answered once, that of a fetch that was closed meanwhile with a failure.
    case copy(FetchID, [CopyOrder], length: Int64)
    case close(FetchID, deletingPart: Bool)
    /// The part file of a transfer that is no longer wanted; only if it is still the same file.
    /// When `delete` or `close` has removed it, that is reported.
    indirect case delete(OrphanedPart)
}

/// The entry of the board about a fetch whose engine was killed.
package struct BoardLeftover: Hashable, Sendable {
    package var fetch: FetchID
    /// `nil` for the fetch's own cell, which counts `received` only.
    package var generation: Int64?
    package var written: Range<Int64>
    package var received: Int64
    /// The mount that the part file was written through, by the fetch's own cell, see
    /// ``FileFacts/mount``.
    package var mount: UInt64

    package init(
        fetch: FetchID, generation: Int64?, written: Range<Int64>, received: Int64,
        mount: UInt64 = 0
    ) {
        self.mount = mount
        self.fetch = fetch
        self.generation = generation
        self.written = written
        self.received = received
    }
}
