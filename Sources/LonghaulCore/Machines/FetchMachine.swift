package import LonghaulModel

/// The life of one fetch from claim to leaving: events in, writes and effects out. It has no clock,
/// no store and no wire; the engine feeds it and performs its effects. Every decision about a
/// user's bytes is made here.
package enum FetchMachine {
    case download(DownloadMachine)
    case upload(UploadMachine)

    package init(_ target: FetchTarget, _ state: FetchState, firstSerial: Int64) {
        let frame = FetchFrame(target, state, firstSerial: firstSerial)
        self = target.isUpload ? .upload(UploadMachine(frame)) : .download(DownloadMachine(frame))
    }

    // MARK: - Events

    /// The first step: open the part file, or the source.
    ///
    /// - Parameters:
    ///   - resting: Sources in their cool-down, which are passed over if there are others.
    ///   - spaceIsShort: The disk is nearly full: see ``DownloadMachine``.
    package func begin(
        elsewhereThan resting: Set<String> = [], spaceIsShort: Bool = false
    ) -> FetchStep {
        switch self {
        case .download(let machine):
            machine.begin(elsewhereThan: resting, spaceIsShort: spaceIsShort)
        case .upload(let machine): machine.begin()
        }
        return frame.endStep(status)
    }

    package func handle(_ event: FetchEvent, in context: FetchContext) -> FetchStep {
        if stage != .left {
            switch self {
            case .download(let machine): machine.react(to: event, in: context)
            case .upload(let machine): machine.react(to: event, in: context)
            }
        }
        return frame.endStep(status)
    }

    /// Records the progress board's numbers for a request of this fetch, before any event that
    /// depends on them.
    ///
    /// Returns the body bytes ever moved for the fetch.
    @discardableResult package func moved(
        _ key: SegmentKey, written: Int64, received: Int64, now: Instant
    ) -> Int64 {
        switch self {
        case .download(let machine):
            machine.wire.moved(key, written: written, received: received, now: now)
        case .upload(let machine): machine.wire.count(received, of: key)
        }
        return frame.bytes.state.bytesFetched
    }

    // MARK: - Common facts

    package var frame: FetchFrame {
        switch self {
        case .download(let machine): machine.frame
        case .upload(let machine): machine.frame
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

    private var status: FetchStatus {
        switch self {
        case .download(let machine): machine.status
        case .upload(let machine): machine.status
        }
    }

    /// A cancel is under way, and may still be taken back.
    package var isBeingCancelled: Bool { leaving?.isCancel ?? false }

    /// Another transfer may still join. None may while the file has, or may have, its leader's
    /// name: it is not looked for there once another transfer leads.
    package var isJoinable: Bool {
        if frame.bytes.state.publication != nil || leaving?.isForNow == false { return false }
        return switch stage {
        case .preparing, .checking, .moving, .settling, .verifying, .securing, .sharing: true
        case .publishing, .left: false
        }
    }

    package var state: FetchState { frame.bytes.state }
    package var target: FetchTarget { frame.target }
    package var url: String { frame.url }
    package var totals: TransferTotals { frame.bytes.totals }

    /// Bytes per second that each of its requests may use; `nil`: unlimited. A limit holds for the
    /// transfer, not for each connection.
    package var rateShare: Int64? {
        guard let limit = frame.target.request.options.limitRate else { return nil }
        return max(1, limit / Int64(max(1, requests.count)))
    }

    /// The requests on the wire.
    package var requests: [SegmentKey] {
        switch self {
        case .download(let machine): machine.segments.map(\.key)
        case .upload(let machine): machine.wire.requests.map(\.key)
        }
    }

    package var download: DownloadMachine? {
        guard case .download(let machine) = self else { return nil }
        return machine
    }

    package var upload: UploadMachine? {
        guard case .upload(let machine) = self else { return nil }
        return machine
    }

    /// The only request, if it was sent before `moment` and no answer to it has begun.
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

/// A request on the wire.
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
