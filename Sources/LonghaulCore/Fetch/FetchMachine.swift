/// The life of one fetch from claim to leaving, as a value: events in, writes and effects out. It
/// knows no clock, no store and no wire; the engine feeds it and performs what it says. Everything
/// that decides about a user's bytes passes through here.
package enum FetchMachine: Sendable {
    case download(DownloadMachine)
    case upload(UploadMachine)

    package init(_ target: FetchTarget, _ state: FetchState, firstSerial: Int64) {
        let frame = FetchFrame(target, state, firstSerial: firstSerial)
        self =
            target.isUpload
            ? .upload(UploadMachine(frame)) : .download(DownloadMachine(frame: frame))
    }

    // MARK: - Events

    /// The first step: open the part file, or the source.
    ///
    /// - Parameters:
    ///   - resting: Sources that are to be left alone, where there are others.
    ///   - spaceIsShort: The disk is nearly full: see ``DownloadMachine``.
    package mutating func begin(
        elsewhereThan resting: Set<String> = [], spaceIsShort: Bool = false
    ) -> FetchStep {
        var step = FetchStep()
        switch consume self {
        case .download(var machine):
            machine.begin(elsewhereThan: resting, spaceIsShort: spaceIsShort)
            step = machine.wire.frame.endStep()
            self = .download(machine)
        case .upload(var machine):
            machine.begin()
            step = machine.wire.frame.endStep()
            self = .upload(machine)
        }
        step.status = status
        return step
    }

    package mutating func handle(_ event: FetchEvent, in context: FetchContext) -> FetchStep {
        var step = FetchStep()
        if stage == .left {
            step.status = status
            return step
        }
        // Moved out and in again: a copy would be made of all that the machine changes.
        switch consume self {
        case .download(var machine):
            machine.react(to: event, in: context)
            step = machine.wire.frame.endStep()
            self = .download(machine)
        case .upload(var machine):
            machine.react(to: event, in: context)
            step = machine.wire.frame.endStep()
            self = .upload(machine)
        }
        assert(stage != .moving || leaving == nil, "a fetch that is to leave stops its requests")
        step.status = status
        return step
    }

    /// Records the progress board's numbers for a request of this fetch, before any event that
    /// depends on them.
    ///
    /// Returns the body bytes ever moved for the fetch.
    @discardableResult package mutating func note(
        _ key: SegmentKey, written: Int64, received: Int64, now: Instant
    ) -> Int64 {
        switch consume self {
        case .download(var machine):
            machine.wire.moved(key, written: written, received: received, now: now)
            let fetched = machine.wire.frame.bytes.state.bytesFetched
            self = .download(machine)
            return fetched
        case .upload(var machine):
            machine.wire.count(received, of: key)
            let fetched = machine.wire.frame.bytes.state.bytesFetched
            self = .upload(machine)
            return fetched
        }
    }

    package var status: FetchStatus {
        switch self {
        case .download(let machine): machine.status
        case .upload(let machine): machine.status
        }
    }

    // MARK: - What both have

    package var frame: FetchFrame {
        switch self {
        case .download(let machine): machine.wire.frame
        case .upload(let machine): machine.wire.frame
        }
    }

    package var stage: FetchStage {
        switch self {
        case .download(let machine): machine.stage
        case .upload(let machine): machine.stage
        }
    }

    package var leaving: FetchLeaving? {
        switch self {
        case .download(let machine): machine.leaving
        case .upload(let machine): machine.leaving
        }
    }

    /// A cancel is under way, and may still be taken back.
    package var isBeingCancelled: Bool { leaving?.isCancel ?? false }

    /// Another transfer may still join. None may while the file is, or may be, under its leader's
    /// name: it is not looked for there once another transfer leads.
    package var isJoinable: Bool {
        if state.publication != nil || leaving?.isForNow == false { return false }
        return switch stage {
        case .preparing, .checking, .moving, .settling, .verifying, .securing, .sharing: true
        case .publishing, .left: false
        }
    }

    package var state: FetchState { frame.bytes.state }
    package var target: FetchTarget { frame.target }
    package var url: String { frame.url }
    package var totals: TransferTotals { frame.bytes.totals }

    package mutating func serve(_ subscribers: Subscribers) {
        switch consume self {
        case .download(var machine):
            machine.wire.frame.serve(subscribers)
            self = .download(machine)
        case .upload(var machine):
            machine.wire.frame.serve(subscribers)
            self = .upload(machine)
        }
    }

    /// The requests that are out.
    package var requests: [SegmentKey] {
        switch self {
        case .download(let machine): machine.segments.map(\.key)
        case .upload(let machine): machine.wire.requests.map(\.key)
        }
    }

    // MARK: - What one has

    package var download: DownloadMachine? {
        guard case .download(let machine) = self else { return nil }
        return machine
    }

    package var upload: UploadMachine? {
        guard case .upload(let machine) = self else { return nil }
        return machine
    }

    /// The only request, if it was made before `moment` and no answer to it has begun.
    package func unanswered(since moment: Instant) -> SegmentKey? {
        guard stage == .moving, let started = frame.run.startedMoving, started <= moment else {
            return nil
        }
        return switch self {
        case .download(let machine): machine.segments.loneUnanswered
        case .upload(let machine): machine.wire.requests.loneUnanswered
        }
    }
}

/// A request that is out.
private protocol RequestOnWire {
    var key: SegmentKey { get }
    var head: ResponseHead? { get }
    /// Body bytes that it has moved.
    var received: Int64 { get }
}

extension ActiveSegment: RequestOnWire {}
extension ActiveExchange: RequestOnWire {}

extension Array where Element: RequestOnWire {
    fileprivate var loneUnanswered: SegmentKey? {
        guard count == 1, self[0].head == nil, self[0].received == 0 else { return nil }
        return self[0].key
    }
}
