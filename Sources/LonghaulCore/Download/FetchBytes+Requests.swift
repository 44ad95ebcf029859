internal import LonghaulModel

/// The next requests for missing bytes.
extension FetchBytes {
    /// The first request of a round.
    ///
    /// - Parameters:
    ///   - fromZero: Why the whole file is requested although bytes are held.
    ///   - readFrom: Where a program reads, if its bytes are requested first.
    ///   - origin: The memory of the source that is asked.
    func nextAsk(
        fromZero: RestartReason?, readFrom: Int64?, origin: OriginMemory,
        scheme: ResponseHead.Scheme
    ) -> RangeRequest {
        if let adopted {
            var ask = RangeRequest(
                proof: .overlap, position: adopted, overlap: min(adopted, adoptedOverlap))
            ask.isAdopting = true
            return ask
        }
        if let fromZero = fromZero ?? (isErrorPage && !have.isEmpty ? .errorPage : nil) {
            return RangeRequest.wholeFile(
                because: fromZero, held: have,
                // Answers without a byte say nothing against those that are held.
                trustHeld: fromZero == .noBytes || fromZero == .partialUnusable(.notAsked),
                heldCoding: state.contentCoding)
        }
        let gap = nextMissing(from: readFrom) ?? firstGap
        let end = gap.end ?? (closesRanges ? state.bytesTotal : nil)
        return ask(from: gap.start, to: end, origin: ways(of: origin), scheme: scheme)
    }

    /// The request for a range of them; `nil` = to the end of the file.
    func ask(
        from start: Int64, to end: Int64?, origin: OriginMemory?, scheme: ResponseHead.Scheme
    ) -> RangeRequest {
        var ask = RangeRequest.plan(
            from: start, to: end, held: have, validator: state.validator, origin: origin,
            scheme: scheme)
        if ask.proof != .nothingHeld { ask.heldCoding = state.contentCoding }
        // A cache may hold the bytes with the wrong digest.
        ask.bypassesCaches = state.isDigestRefuted
        return ask
    }

    /// The memory of the origin, as the next request uses it. The behaviour of a proxy is not
    /// remembered: after an answer that brought nothing the next rung of the ladder is tried all
    /// the same.
    func ways(of origin: OriginMemory) -> OriginMemory {
        var ways = origin
        if state.emptyAnswers > 0 {
            ways.mishandlesIfRange = true
        } else if have.count <= Limits.ifRangeTrialBytes {
            ways.mishandlesIfRange = false
        }
        return ways
    }
}
