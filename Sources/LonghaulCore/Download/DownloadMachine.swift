package import LonghaulModel

/// The life of a download: open the part file, request the missing bytes, and rename the whole
/// file.
///
/// Invariants: `have` holds only bytes of the representation that `state.validator` pins;
/// `state.durable` is a part of `have`; nothing is published unless `have` covers `0..<bytesTotal`.
package final class DownloadMachine {
    package let frame: FetchFrame
    let wire: DownloadWire
    var state = DownloadStage.preparing(leaving: nil)

    init(_ frame: FetchFrame) {
        self.frame = frame
        wire = DownloadWire(frame)
    }

    var stage: FetchStage { state.kind }
    var leaving: FetchLeaving? { state.leaving }

    // MARK: - Facts for others

    package var segments: [ActiveSegment] { wire.segments }
    package var goesOnWhenAskedAgain: Bool { wire.goesOnWhenAskedAgain }

    /// Leaving the wire would cost all bytes received: no validator could prove the rest, or the
    /// server sends no parts of a file.
    package func isUnresumable(_ origin: OriginMemory) -> Bool {
        guard state == .moving, let validator = frame.bytes.state.validator else { return false }
        return validator.isEmpty || origin.ignoresRanges
            || segments.contains { $0.head?.headers.refusesRanges == true }
    }

    var status: FetchStatus {
        var status = FetchStatus(stage, leaving, bytesFetched: frame.bytes.state.bytesFetched)
        status.requests = segments.count
        status.nextTick = nextTick
        status.isWhole = frame.bytes.isWhole && wire.fromZero == nil
        return status
    }

    /// The next moment to act without an event: a checkpoint falls due, or another connection may
    /// be added. `nil` while off the wire.
    package var nextTick: Instant? {
        guard state == .moving, !segments.isEmpty else { return nil }
        let pause = wire.isTryingConnections ? Limits.splitTickSeconds : Limits.tickSeconds
        return frame.bytes.checkpoints.nextTick(after: pause)
    }

    // MARK: - The part file

    /// The first step: open the part file.
    ///
    /// - Parameters:
    ///   - resting: Sources in their cool-down, which are passed over if there are others.
    ///   - spaceIsShort: If the size is unknown, room for one byte is required. Otherwise each of
    ///     thousands of transfers to a full disk would make a file, and a request.
    func begin(elsewhereThan resting: Set<String>, spaceIsShort: Bool) {
        for _ in frame.target.sources where resting.contains(frame.url) {
            frame.bytes.nextSource(in: frame.target)
        }
        let total = frame.bytes.state.bytesTotal
        let size = total ?? frame.target.request.expectedBytes
        let needs = size.map { max(0, $0 - frame.bytes.have.count) } ?? (spaceIsShort ? 1 : nil)
        var order = frame.part(needs: needs)
        order.isNeedExpected = total == nil && size != nil
        frame.step.effects.append(.prepare(order))
    }

    // MARK: - Leaving

    func depart(_ departure: FetchDeparture, _ context: FetchContext) {
        switch state {
        case .left, .publishing: return
        case .verifying, .securing:
            // So near the end, to continue is the shortest way out, unless the file is unwanted.
            if departure == .requeue || departure == .expire { return }
        case .sharing: if departure == .expire { return }
        case .preparing, .checking, .moving, .settling: break
        }
        switch departure {
        case .requeue, .renew:
            // A failure that is being settled has more to say than "back to the queue".
            if leaving == nil || leaving?.isCancel == true { leave(.requeue, context) }
        case .cancel(let keepingBytes): leave(.cancel(keepingBytes: keepingBytes), context)
        case .expire: leave(.fail(.deadlinePassed(on: frame)), context)
        }
    }

    /// Leaves the wire, after the order of the disk that is under way.
    func leave(_ reason: FetchLeaving, _ context: FetchContext) {
        switch state {
        case .preparing: state = .preparing(leaving: reason)
        case .checking: state = .checking(leaving: reason)
        case .verifying: state = .verifying(leaving: reason)
        case .securing: state = .securing(leaving: reason)
        case .moving, .settling, .sharing, .publishing, .left: settle(reason, context)
        }
    }

    /// Stops the requests, makes the last checkpoint, and leaves.
    func settle(_ reason: FetchLeaving, _ context: FetchContext) {
        let wasMoving = state == .moving
        // The throughput tells the next run how long the file needs in one go.
        if reason == .requeue, let origin = frame.ownMemory(context), isUnresumable(origin) {
            wire.sources.noteThroughput(context)
        }
        state = .settling(reason)
        wire.held = nil
        if segments.isEmpty {
            quiet(context)
        } else if wasMoving {
            frame.step.effects.append(.stop(segments.map(\.key)))
        }
    }

    /// The wire is quiet: one last checkpoint, then out.
    func quiet(_ context: FetchContext) {
        guard case .settling(let reason) = state, segments.isEmpty,
            frame.bytes.checkpoints.syncing == nil
        else { return }
        frame.bytes.dropAdopted()
        if frame.bytes.have != frame.bytes.state.durable {
            frame.sync()
        } else {
            exit(reason, context)
        }
    }

    func exit(_ reason: FetchLeaving, _ context: FetchContext) {
        state = .left(reason)
        frame.exit(reason, context)
    }

    /// Leaves for a failure of the disk, whose order is over. A cancel takes precedence.
    func failedLocally(_ fault: LocalFault, _ context: FetchContext) {
        if let end = fault.cutAt { frame.cutOff(at: end) }
        let reason = unlessCancelled(frame.leaving(after: fault))
        let isOpening = stage == .preparing || stage == .checking
        isOpening ? leave(reason, context) : settle(reason, context)
    }

    func unlessCancelled(_ reason: FetchLeaving) -> FetchLeaving {
        leaving.flatMap { $0.isCancel ? $0 : nil } ?? reason
    }
}
