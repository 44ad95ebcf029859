/// A completed file in the place of a transfer.
extension FetchMachine {
    mutating func filled(_ step: inout FetchStep) {
        guard stage == .moving, segments.isEmpty, have.isEmpty, let kept else { return }
        self.kept = nil
        fromZero = nil
        state.validator = kept.validator
        state.validator?.length = kept.length
        state.bytesTotal = kept.length
        state.askedURL = request.url
        have = ByteRanges(0..<kept.length)
        state.durable = have
        step.writes.append(.save(state))
        finish(&step)
    }

    /// The file is not what it was, or cannot be read: asked for as if there were none.
    mutating func fillFailed(
        _ fault: LocalFault, _ context: FetchContext, _ step: inout FetchStep
    ) {
        guard stage == .moving, segments.isEmpty, kept != nil else { return }
        kept = nil
        if fault.code == .noSpace {
            failedLocally(fault, context, &step)
        } else {
            askNext(context, &step)
        }
    }
}
