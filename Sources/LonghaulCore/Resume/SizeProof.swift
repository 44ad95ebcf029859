/// Whether a response that ended as its framing promised brought what its head promised. The end of
/// a response alone proves nothing: libcurl reports success for much that is short.
package enum SizeProof: Hashable, Sendable {
    /// Every promised byte is in the file.
    case complete
    /// So many promised bytes are missing.
    case short(missing: Int64)
    /// More came than was promised.
    case tooLong
    /// No length was promised; the file is as long as what came.
    case unknownLengthComplete(length: Int64)

    /// - Parameters:
    ///   - plan: Where the body went.
    ///   - bytesTotal: Length of the whole file, where it is known from anywhere.
    package static func judge(
        plan: BodyPlan, end: SegmentEnd, bytesTotal: Int64?
    ) -> SizeProof {
        if end.failure == .bodyTooLong { return .tooLong }
        // Bytes that were only compared are there too.
        let compared = min(max(end.bytesReceived - plan.skip, 0), plan.compare)
        let through = max(end.writtenThrough, plan.position + compared)
        if let bytesTotal, through > bytesTotal { return .tooLong }
        guard let promised = plan.end ?? bytesTotal else {
            // A body that ended while held bytes were still being passed over or compared proves
            // nothing.
            let needed = plan.skip.addingClamped(plan.compare)
            if end.bytesReceived < needed { return .short(missing: needed - end.bytesReceived) }
            return .unknownLengthComplete(length: through)
        }
        if through < promised { return .short(missing: promised - through) }
        return through > promised ? .tooLong : .complete
    }
}
