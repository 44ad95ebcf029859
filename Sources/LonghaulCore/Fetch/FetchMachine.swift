package import LonghaulModel

/// The life of one fetch from claim to leaving, as a value: events in, writes and effects out. It
/// knows no clock, no store and no wire; the engine feeds it and performs what it says. Everything
/// that decides about a user's bytes passes through here.
///
/// Each kind is behind one reference: it is large, and whoever reads a field of an enum's payload
/// copies all of it.
package enum FetchMachine: Sendable {
    case download(CopyOnWrite<DownloadMachine>)
    case upload(CopyOnWrite<UploadMachine>)

    package init(_ target: FetchTarget, _ state: FetchState, firstSerial: Int64) {
        let frame = FetchFrame(target, state, firstSerial: firstSerial)
        self =
            target.isUpload
            ? .upload(CopyOnWrite(UploadMachine(frame)))
            : .download(CopyOnWrite(DownloadMachine(frame: frame)))
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
        switch consume self {
        case .download(var machine):
            machine.value.begin(elsewhereThan: resting, spaceIsShort: spaceIsShort)
            let step = machine.value.endStep()
            self = .download(machine)
            return step
        case .upload(var machine):
            machine.value.begin()
            let step = machine.value.endStep()
            self = .upload(machine)
            return step
        }
    }

    package mutating func handle(_ event: FetchEvent, in context: FetchContext) -> FetchStep {
        // Moved out and in again: a machine that is held twice is copied before it changes.
        switch consume self {
        case .download(var machine):
            if machine.value.stage != .left { machine.value.react(to: event, in: context) }
            let step = machine.value.endStep()
            self = .download(machine)
            return step
        case .upload(var machine):
            if machine.value.stage != .left { machine.value.react(to: event, in: context) }
            let step = machine.value.endStep()
            self = .upload(machine)
            return step
        }
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
            machine.value.wire.moved(key, written: written, received: received, now: now)
            let fetched = machine.value.wire.frame.bytes.state.bytesFetched
            self = .download(machine)
            return fetched
        case .upload(var machine):
            machine.value.wire.count(received, of: key)
            let fetched = machine.value.wire.frame.bytes.state.bytesFetched
            self = .upload(machine)
            return fetched
        }
    }

    // MARK: - What both have

    /// Read by its address: it is large, and one field of it is wanted.
    package var frame: FetchFrame {
        unsafeAddress {
            switch self {
            case .download(let machine): machine.address.pointer(to: \.wire.frame)!
            case .upload(let machine): machine.address.pointer(to: \.wire.frame)!
            }
        }
    }

    package var stage: FetchStage {
        switch self {
        case .download(let machine): machine.value.stage
        case .upload(let machine): machine.value.stage
        }
    }

    package var leaving: FetchLeaving? {
        switch self {
        case .download(let machine): machine.value.leaving
        case .upload(let machine): machine.value.leaving
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

    /// Bytes per second that each of its requests may use; `nil` = unlimited. A limit holds for the
    /// transfer, whatever the number of its connections.
    package var rateShare: Int64? {
        guard let limit = frame.target.request.options.limitRate else { return nil }
        return max(1, limit / Int64(max(1, requests.count)))
    }

    package mutating func serve(_ subscribers: Subscribers) {
        switch consume self {
        case .download(var machine):
            machine.value.wire.frame.serve(subscribers)
            self = .download(machine)
        case .upload(var machine):
            machine.value.wire.frame.serve(subscribers)
            self = .upload(machine)
        }
    }

    /// The requests that are out.
    package var requests: [SegmentKey] {
        switch self {
        case .download(let machine): machine.value.segments.map(\.key)
        case .upload(let machine): machine.value.wire.requests.map(\.key)
        }
    }

    // MARK: - What one has

    package var download: DownloadMachine? {
        guard case .download(let machine) = self else { return nil }
        return machine.value
    }

    package var upload: UploadMachine? {
        guard case .upload(let machine) = self else { return nil }
        return machine.value
    }

    /// The only request, if it was made before `moment` and no answer to it has begun.
    package func unanswered(since moment: Instant) -> SegmentKey? {
        guard stage == .moving, let started = frame.run.startedMoving, started <= moment else {
            return nil
        }
        return switch self {
        case .download(let machine): machine.value.segments.loneUnanswered
        case .upload(let machine): machine.value.wire.requests.loneUnanswered
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
