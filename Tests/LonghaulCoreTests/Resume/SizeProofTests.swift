import LonghaulCore
import Testing

@Suite struct SizeProofTests {
    @Test(
        arguments: [
            // A response from 400 of 1000.
            (BodyPlan(position: 400, end: 1000), 1000, 600, 1000, nil, SizeProof.complete),
            (BodyPlan(position: 400, end: 1000), 999, 599, 1000, nil, .short(missing: 1)),
            (BodyPlan(position: 400, end: 1000), 400, 0, 1000, nil, .short(missing: 600)),
            (BodyPlan(position: 400, end: 1000), 1000, 601, 1000, .bodyTooLong, .tooLong),
            // A segment.
            (BodyPlan(position: 400, end: 500), 500, 100, 1000, nil, .complete),
            // The end is known from elsewhere only.
            (BodyPlan(position: 0), 1000, 1000, 1000, nil, .complete),
            (BodyPlan(position: 0), 999, 999, 1000, nil, .short(missing: 1)),
            (BodyPlan(position: 0), 1001, 1001, 1000, nil, .tooLong),
            // Unknown length.
            (BodyPlan(position: 0), 777, 777, nil, nil, .unknownLengthComplete(length: 777)),
            (BodyPlan(position: 0), 0, 0, nil, nil, .unknownLengthComplete(length: 0)),
            (BodyPlan(skip: 400, position: 400), 400, 300, nil, nil, .short(missing: 100)),
            (BodyPlan(compare: 64, position: 336), 336, 63, nil, nil, .short(missing: 1)),
            // Nothing but the overlap, and nothing more was promised.
            (BodyPlan(compare: 64, position: 336, end: 400), 336, 64, 400, nil, .complete),
            (BodyPlan(compare: 64, position: 336, end: 400), 336, 60, 400, nil, .short(missing: 4)),
            (
                BodyPlan(skip: 400, position: 400), 500, 500, nil, nil,
                .unknownLengthComplete(length: 500)
            ),
        ] as [(BodyPlan, Int64, Int64, Int64?, WireFailure?, SizeProof)])
    func proof(
        plan: BodyPlan, through: Int64, received: Int64, total: Int64?, failure: WireFailure?,
        proof: SizeProof
    ) {
        let end = SegmentEnd(failure: failure, writtenThrough: through, bytesReceived: received)
        #expect(SizeProof.judge(plan: plan, end: end, bytesTotal: total) == proof)
    }
}

@Suite struct VerdictTests {
    private let mib = Limits.holdThresholdBytes

    @Test func aLongNewBodyWaitsForItsPin() {
        func verdict(_ length: Int64?) -> HeadVerdict {
            ResumeDecision.fresh(Validator(), length: length).verdict
        }
        #expect(verdict(nil) == .hold)
        #expect(verdict(mib + 1) == .hold)
        #expect(verdict(mib) == .accept(BodyPlan(position: 0, end: mib)))
        #expect(verdict(0) == .accept(BodyPlan(position: 0, end: 0)))
    }

    @Test func others() {
        let plan = BodyPlan(position: 5, end: 9)
        #expect(ResumeDecision.append(plan).verdict == .accept(plan))
        #expect(ResumeDecision.skip(plan).verdict == .accept(plan))
        #expect(ResumeDecision.restart(.noBytes, Validator(length: 1)).verdict == .hold)
        #expect(ResumeDecision.redirect.verdict == .redirect)
        for decision: ResumeDecision in [
            .alreadyComplete(length: 1), .restartFromZero(.noBytes), .dropSegment,
            .empty(.notModified), .fail(FailureTable.classify(status: 404)),
        ] {
            #expect(decision.verdict == .refuse)
            #expect(decision.bodyPlan == nil)
        }
    }
}
