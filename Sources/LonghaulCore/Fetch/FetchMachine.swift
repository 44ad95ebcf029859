/// The life of one fetch from claim to leaving, as a value: events in, writes and effects out. It
/// knows no clock, no store and no wire; the engine feeds it and performs what it says. Everything
/// that decides about a user's bytes passes through here.
///
/// Invariants: `have` holds only bytes of the representation that `state.validator` pins;
/// `state.durable` is a part of `have`; nothing is published unless `have` covers `0..<bytesTotal`.
package struct FetchMachine: Sendable {
    package internal(set) var stage: FetchStage = .preparing
    package internal(set) var leaving: FetchLeaving?
    package internal(set) var wire: FetchWire

    package init(
        transfer: TransferID, request: TransferRequest, destination: String, deadline: Timestamp?,
        state: FetchState, firstSerial: Int64
    ) {
        let target = FetchTarget(
            transfer: transfer, request: request, destination: destination, deadline: deadline)
        wire = FetchWire(target, state, firstSerial: firstSerial)
    }

    // MARK: - What others see

    // A computed property that is read through an object copies the whole machine first: what the
    // engine reads for each event, it reads in `wire`. Large values are lent, not copied.

    package var target: FetchTarget {
        _read { yield wire.target }
        _modify { yield &wire.target }
    }

    package var transfer: TransferID { wire.target.transfer }
    package var request: TransferRequest { _read { yield wire.target.request } }
    package var state: FetchState { _read { yield wire.bytes.state } }
    package var have: ByteRanges { _read { yield wire.bytes.have } }
    package var segments: [ActiveSegment] { wire.segments }
    package var held: HeldBody? { wire.held }
    package var syncing: PendingSync? { wire.bytes.checkpoints.syncing }
    package var url: String { wire.url }
    package var isWhole: Bool { wire.bytes.isWhole }
    package var totals: TransferTotals { wire.bytes.totals }

    /// A request that leaves the wire is known to cost no byte.
    package var goesOnWhenAskedAgain: Bool {
        wire.connections.goesOnWhenAskedAgain(wire.bytes)
    }

    /// Leaving the wire would cost all bytes received: the server has told nothing that could prove
    /// the rest, or it sends no parts of a file.
    package func isUnresumable(_ origin: OriginMemory) -> Bool {
        guard stage == .moving, let validator = wire.bytes.state.validator else { return false }
        return validator.isEmpty || origin.ignoresRanges
            || segments.contains { $0.head?.headers.refusesRanges == true }
    }

    /// The only request, if it was made before `moment` and no answer to it has begun.
    package func unanswered(since moment: Instant) -> SegmentKey? {
        guard stage == .moving, segments.count == 1, let started = wire.run.startedMoving,
            started <= moment, segments[0].head == nil, segments[0].received == 0
        else { return nil }
        return segments[0].key
    }

    /// When to look again for lack of events: a checkpoint that falls due, connections to add.
    /// `nil` while off the wire.
    package var nextTick: Instant? {
        guard stage == .moving, !wire.segments.isEmpty else { return nil }
        let pause = wire.isTryingConnections ? Limits.splitTickSeconds : Limits.tickSeconds
        return wire.bytes.checkpoints.nextTick(after: pause)
    }

    /// Records the progress board's numbers for a request of this fetch, before any event that
    /// depends on them.
    package mutating func note(
        _ key: SegmentKey, written: Int64, received: Int64, now: Instant
    ) {
        wire.moved(key, written: written, received: received, now: now)
    }

    // MARK: - Beginning

    /// The first source, from the one in use on, that is not among those to be left alone.
    package mutating func begin(elsewhereThan resting: Set<String>) {
        for _ in wire.target.sources where resting.contains(url) {
            wire.bytes.nextSource(in: wire.target)
        }
    }

    /// The first step: open the part file.
    ///
    /// - Parameter spaceIsShort: Where the size is not known, room for one byte is looked for: of
    ///   thousands of transfers to a full disk each would make a file, and a request.
    package mutating func begin(spaceIsShort: Bool = false) -> FetchStep {
        if wire.target.isUpload { return UploadMachine.begin(wire.target) }
        var step = FetchStep()
        step.isWhole = isWhole
        let size = state.bytesTotal ?? request.expectedBytes
        let needs = size.map { max(0, $0 - have.count) } ?? (spaceIsShort ? 1 : nil)
        var order = part(needs: needs)
        order.isNeedExpected = state.bytesTotal == nil && size != nil
        step.effects.append(.prepare(order))
        return step
    }

    package func part(needs: Int64?) -> PartOrder {
        PartOrder(wire.target, wire.bytes, publication: finalDestination, needs: needs)
    }
}
