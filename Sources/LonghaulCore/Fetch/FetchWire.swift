internal import LonghaulModel

/// A fetch on the wire: what it is for, what it holds, its requests and what they bring. It decides
/// what is asked next; when the wire is left is for the machine to say.
package struct FetchWire: Sendable {
    var frame: FetchFrame
    package internal(set) var segments: [ActiveSegment] = []
    /// A request whose body waits until what its head means has been committed.
    var held: HeldBody?
    /// The part file is about to be emptied: what is written before that has happened is lost.
    var isEmptying = false
    /// Why the next request starts from zero whatever is held.
    var fromZero: RestartReason?
    /// Why the requests that are out are being stopped: another source may be faster.
    var slowness: SourceSpeed?

    init(_ frame: FetchFrame) {
        self.frame = frame
        // A file that was about to have its name was whole, so its length is sure.
        self.frame.bytes.isLengthAdvice =
            frame.bytes.state.publication == nil && ResponseHead.Scheme(of: frame.url) == .ftp
    }

    // MARK: - Sources

    var url: String { frame.url }
    var isAtOwnOrigin: Bool { frame.isAtOwnOrigin }
    func ownMemory(_ context: FetchContext) -> OriginMemory? { frame.ownMemory(context) }

    // MARK: - Bytes

    /// Records the progress board's numbers for a request of this fetch, before any event that
    /// depends on them.
    mutating func moved(_ key: SegmentKey, written: Int64, received: Int64, now: Instant) {
        guard let index = segments.firstIndex(where: { $0.key == key }) else { return }
        let segment = segments[index]
        if received > segment.received { heard(index, at: now) }
        count(received, of: index)
        if segment.isWriting, segment.isOpen, written > segment.written {
            segments[index].written = written
            frame.bytes.prove(segments[index], for: frame.target.request, at: now)
            frame.bytes.have.insert(segment.start..<written)
            frame.bytes.learnVersion(segments[index], askedFor: frame.target.request.url)
        }
    }

    /// Counts the body bytes that a request has received by now.
    mutating func count(_ received: Int64, of index: Int) {
        let more = max(0, received - segments[index].received)
        segments[index].received += more
        frame.bytes.state.bytesFetched = frame.bytes.state.bytesFetched + more
    }

    /// Back to what is durable, under a new generation so that the board's word for the rest is
    /// void too.
    mutating func distrustWritten() {
        frame.bytes.state.generation += 1
        ignoreWritten()
        frame.save()
        frame.step.durable = true
    }

    /// Back to what is durable; requests still under way no longer count.
    mutating func ignoreWritten() {
        frame.bytes.distrust()
        for index in segments.indices {
            segments[index].judgement = nil
            segments[index].isOpen = false
        }
    }
}
