/// Leaves a source that is too slow.
extension FetchWire {
    /// Stops the requests where their source is too slow; ``elsewhere(_:_:)`` goes on when they
    /// have ended. Returns whether requests are on their way out for that.
    mutating func leaveSlow(_ context: FetchContext) -> Bool {
        if slowness != nil { return true }
        guard fromZero == nil, held == nil, !isEmptying, !segments.isEmpty else { return false }
        let refusesRanges = segments.contains { $0.head?.headers.refusesRanges == true }
        slowness = frame.slowness(refusesRanges: refusesRanges, context)
        if slowness != nil { frame.step.effects.append(.stop(segments.map(\.key))) }
        return slowness != nil
    }

    /// The requests of a slow source have ended.
    mutating func elsewhere(_ context: FetchContext) -> WireOutcome? {
        guard segments.isEmpty, let slowness else { return nil }
        self.slowness = nil
        switch slowness {
        case .stay: preconditionFailure("a source that is not slow is not left")
        case .tooSlow:
            return tryElsewhere(Failure.slow(frame.target.request.options.minRate), context)
        case .leave(let index):
            frame.move(toSource: index, for: Failure.slow(nil), at: context.now.monotonic)
            askNext(context)
            return nil
        }
    }
}

extension Failure {
    /// The source is slower than the user wants; `nil` = than another one was.
    static func slow(_ floor: Int64?) -> Failure {
        let bound = floor.map { "\(SizeText.shown($0))/s" } ?? "another source"
        let seconds = Int(Limits.slowSourceSeconds)
        return Failure(
            .transient,
            LonghaulError(.timedOut, "the server was slower than \(bound) for \(seconds) s"))
    }
}
