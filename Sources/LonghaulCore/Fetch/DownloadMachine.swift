package import LonghaulModel

/// The life of a download: open the part file, ask for what is missing, and give the whole file its
/// name.
///
/// Invariants: `have` holds only bytes of the representation that `state.validator` pins;
/// `state.durable` is a part of `have`; nothing is published unless `have` covers `0..<bytesTotal`.
package struct DownloadMachine: Sendable {
    package internal(set) var wire: FetchWire
    var stage = FetchStage.preparing
    var leaving: FetchLeaving?

    init(frame: FetchFrame) {
        wire = FetchWire(frame)
    }

    // MARK: - What others see

    package var transfer: TransferID { wire.frame.target.transfer }
    package var request: TransferRequest { wire.frame.target.request }
    package var state: FetchState { wire.frame.bytes.state }
    package var have: ByteRanges { wire.frame.bytes.have }
    package var segments: [ActiveSegment] { wire.segments }
    package var held: HeldBody? { wire.held }
    package var syncing: PendingSync? { wire.frame.bytes.checkpoints.syncing }
    package var url: String { wire.url }
    package var isWhole: Bool { wire.frame.bytes.isWhole }
    package var totals: TransferTotals { wire.frame.bytes.totals }

    /// A request that leaves the wire is known to cost no byte.
    package var goesOnWhenAskedAgain: Bool {
        wire.frame.connections.goesOnWhenAskedAgain(wire.frame.bytes)
    }

    /// Leaving the wire would cost all bytes received: the server has told nothing that could prove
    /// the rest, or it sends no parts of a file.
    package func isUnresumable(_ origin: OriginMemory) -> Bool {
        guard stage == .moving, let validator = wire.frame.bytes.state.validator else {
            return false
        }
        return validator.isEmpty || origin.ignoresRanges
            || segments.contains { $0.head?.headers.refusesRanges == true }
    }

    var status: FetchStatus {
        var status = FetchStatus(
            stage, leaving, bytesFetched: wire.frame.bytes.state.bytesFetched)
        status.requests = segments.count
        status.nextTick = nextTick
        status.isWhole = isWhole && wire.fromZero == nil
        return status
    }

    mutating func endStep() -> FetchStep {
        var step = wire.frame.endStep()
        step.status = status
        return step
    }

    /// When to look again for lack of events: a checkpoint that falls due, connections to add.
    /// `nil` while off the wire.
    package var nextTick: Instant? {
        guard stage == .moving, !wire.segments.isEmpty else { return nil }
        let pause = wire.isTryingConnections ? Limits.splitTickSeconds : Limits.tickSeconds
        return wire.frame.bytes.checkpoints.nextTick(after: pause)
    }

    // MARK: - Beginning

    /// The first step: open the part file.
    ///
    /// - Parameters:
    ///   - resting: Sources that are to be left alone, where there are others.
    ///   - spaceIsShort: Where the size is not known, room for one byte is looked for: of thousands
    ///     of transfers to a full disk each would make a file, and a request.
    mutating func begin(elsewhereThan resting: Set<String>, spaceIsShort: Bool) {
        for _ in wire.frame.target.sources where resting.contains(wire.url) {
            wire.frame.bytes.nextSource(in: wire.frame.target)
        }
        let size = state.bytesTotal ?? request.expectedBytes
        let needs = size.map { max(0, $0 - have.count) } ?? (spaceIsShort ? 1 : nil)
        var order = part(needs: needs)
        order.isNeedExpected = state.bytesTotal == nil && size != nil
        wire.frame.step.effects.append(.prepare(order))
    }

    package func part(needs: Int64?) -> PartOrder {
        PartOrder(wire.frame.target, wire.frame.bytes, publication: finalDestination, needs: needs)
    }
}
