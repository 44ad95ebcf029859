/// The layout of the two cells through which the transport tells how far it has written: plain
/// memory, mapped from a file in the state directory, so that after `kill -9` (same boot) the next
/// engine still finds what the kernel holds in its page cache.
///
/// Each is 64 bytes of native `UInt64`: the cell at `SegmentTarget.cell` belongs to the segment,
/// its word `fetchCell` holds the address of the fetch's. The transport, one thread, stores
/// `written` after each `pwrite` and adds to both `received` words; nobody else writes them while
/// the request runs.
package enum ProgressCell {
    package static let size = 64
    // Word indices.
    /// Fetch id; 0 = free. Stored last when a cell is taken, cleared first when it is freed.
    package static let fetch = 0
    /// The fetch's generation: bytes of an older one mean nothing.
    package static let generation = 1
    /// The mount that the fetch's part file was opened through (fetch cells only); see
    /// ``FileFacts/mount``.
    package static let mount = 1
    /// File offset where the segment starts writing.
    package static let start = 2
    /// File offset after the last byte written.
    package static let written = 3
    /// Body bytes received. In the segment's cell for this request, in the fetch's cell ever.
    package static let received = 4
    /// Address of the fetch's cell (segment cells only; valid in the process that took it).
    package static let fetchCell = 5
    /// 1 = segment, 2 = fetch.
    package static let kind = 6
    /// Bytes per second, as the engine last measured them (fetch cells only).
    package static let rate = 7
    /// ``YieldReport/packed`` of the connections that the segment is moved over; 0 = none (segment
    /// cells only).
    package static let yielding = 7
}
