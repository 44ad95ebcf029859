/// The end of a file that is split: a connection that has gone silent with the last part would hold
/// all of it up until the stall timeout, while others have nothing left to do.
extension FetchMachine {
    mutating func heard(_ index: Int, at now: Instant) {
        silence.heard(after: now - segments[index].heardAt)
        segments[index].heardAt = now
    }

    /// Ends one request that has been silent for too long. What it has not written is missing then
    /// like any other part and is asked for anew, all of it, by those that are free; what it has
    /// written is kept. It is no failure: nobody is blamed, and nothing is backed off.
    ///
    /// Returns whether one is on its way out: until it is, nobody can tell what is missing.
    mutating func giveUpSilent(_ context: FetchContext, _ step: inout FetchStep) -> Bool {
        if segments.contains(where: \.isGivenUp) { return true }
        guard hasEndedWell, segments.count < connectionsNow(context), mayAsk(context) else {
            return false
        }
        let now = context.now.monotonic
        let silent = segments.indices.first { index in
            let segment = segments[index]
            return silence.mayGiveUp(at: segment.written, silentFor: now - segment.heardAt)
        }
        guard let silent else { return false }
        silence.gaveUp(at: segments[silent].written)
        segments[silent].isGivenUp = true
        step.effects.append(.stop([segments[silent].key]))
        return true
    }

    /// For those who ask what was tried.
    func silenceNote(of segment: ActiveSegment, _ end: SegmentEnd) -> String? {
        guard segment.isGivenUp, end.failure == .stopped else { return nil }
        return "it was silent while others had nothing to do; what it left was asked for anew"
    }

    /// Whether the server has not asked for time, and answers others.
    private func mayAsk(_ context: FetchContext) -> Bool {
        if isToPause(context) { return false }
        switch asked(context)?.health(at: context.now.wall) {
        case .well, .probing, nil: return true
        case .cooling: return false
        }
    }
}
