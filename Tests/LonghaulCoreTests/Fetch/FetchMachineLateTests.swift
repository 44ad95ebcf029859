import LonghaulCore
import Testing

/// The file is whole, and what is wanted of it changes before it has its name.
@Suite struct FetchMachineLateTests {
    private typealias Script = FetchMachineTests.Script

    private static let checksum = Checksum(
        algorithm: .sha256, hex: String(repeating: "0", count: 64))
    private static let fault = LocalFault(code: .io, message: "EIO")

    /// Whole, and with the disk at work: its digest is looked at, or it is made durable.
    private func script(verifying: Bool) -> Script {
        var script = Script {
            guard verifying else { return }
            $0.options.checksum = Self.checksum
        }
        script.answer(head(200, "Content-Length: 5", "ETag: \"v1\""))
        script.ended(through: 5, received: 5)
        #expect(script.machine.stage == (verifying ? .verifying : .securing))
        return script
    }

    /// What comes of it when the disk has answered, whatever it answers.
    private func outcome(_ script: inout Script, _ event: FetchEvent) -> StoreWrite? {
        script.event(event)
        // The last checkpoint on the way out.
        for case .sync(let token, _, _) in script.effects { script.event(.synced(token: token)) }
        return script.outcome
    }

    /// The board has places for so many requests, and some are moved without one.
    @Test(arguments: [0, 2, 5]) func whatCameIsCountedOnce(_ seen: Int64) {
        var script = Script()
        script.answer(head(200, "Content-Length: 5", "ETag: \"v1\""))
        if seen > 0 { script.wrote(through: seen, received: seen) }
        script.ended(through: 5, received: 5)
        #expect(script.machine.state.bytesFetched == 5)
    }

    private static let answers: [(Bool, FetchEvent)] = [
        (true, .verified), (true, .verifyFailed(fault)),
        (
            true,
            .mismatched(
                Checksum(algorithm: .sha256, hex: "00"), actual: "11", keptAt: "/d/f.longhaul-bad")
        ),
        (false, .secured), (false, .secureFailed(fault)),
    ]

    /// Somebody has cut it off: what was behind is not there, whatever a checkpoint has said of it.
    @Test(arguments: [true, false], [0, 3]) func whatIsCutOffIsHeldNoMore(
        verifying: Bool, at size: Int64
    ) {
        var script = Script(
            held: 5, validator: Validator(etag: "\"v1\""), total: 5
        ) {
            if verifying { $0.options.checksum = Self.checksum }
        }
        let fault = LocalFault(cutOff: "/d/f", at: size)
        let end = outcome(&script, verifying ? .verifyFailed(fault) : .secureFailed(fault))
        guard case .failed(_, let error, _)? = end else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.bytesKept == size)
        let held = size > 0 ? ByteRanges(0..<size) : ByteRanges()
        #expect(script.machine.have == held && script.machine.state.durable == held)
        #expect((script.machine.state.validator == nil) == (size == 0))
    }

    @Test(arguments: 0..<5, [true, false])
    func aCancelIsHeeded(answer: Int, keepingBytes: Bool) {
        let (verifying, event) = Self.answers[answer]
        var script = script(verifying: verifying)
        script.event(.leave(.cancel(keepingBytes: keepingBytes)))
        #expect(script.machine.isBeingCancelled && !script.machine.isJoinable)
        #expect(script.effects.isEmpty, "the disk's answer is awaited")
        guard case .cancelled? = outcome(&script, event) else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(script.isDurable && script.machine.stage == .left)
        guard case .close(let isDeleted)? = script.effects.last else {
            Issue.record("\(script.effects)")
            return
        }
        #expect(isDeleted == !keepingBytes)
    }

    /// Begun anew with what is wanted now: another checksum for instance.
    @Test(arguments: [true, false]) func whatIsWantedOtherwiseBeginsAnew(_ verifying: Bool) {
        var script = script(verifying: verifying)
        script.event(.leave(.renew))
        #expect(script.machine.isJoinable)
        let end = outcome(&script, verifying ? .verified : .secured)
        guard case .queued(_, nil, [])? = end else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(script.machine.state.durable == ByteRanges(0..<5))
    }

    /// A pause, and an engine that leaves, come too late: the end is the shortest way out.
    @Test(arguments: [FetchDeparture.requeue, .expire]) func othersWait(_ late: FetchDeparture) {
        var script = script(verifying: true)
        script.event(.leave(late))
        script.event(.verified)
        script.event(.leave(late))
        script.event(.secured)
        #expect(script.machine.stage == .publishing)
    }

    @Test(arguments: [true, false]) func aCancelMayBeTakenBack(_ verifying: Bool) {
        var script = script(verifying: verifying)
        script.event(.leave(.cancel(keepingBytes: false)))
        script.event(.leave(.renew))
        #expect(!script.machine.isBeingCancelled)
        guard case .queued? = outcome(&script, verifying ? .verified : .secured) else {
            Issue.record("\(script.writes)")
            return
        }
    }

    private static let earlier = LonghaulError(
        .serverError, "the server failed (503); wait", httpStatus: 503)

    /// The deadline says why the last attempt gained nothing, unless this one has gained bytes.
    @Test(arguments: [false, true]) func theDeadlineHasACause(gains: Bool) throws {
        var script = Script()
        script.machine.lastError = Self.earlier
        if gains {
            script.answer(head(200, "Content-Length: 5", "ETag: \"v1\""))
            script.wrote(through: 2, received: 2)
        }
        script.event(.leave(.expire))
        script.ended(.stopped, through: gains ? 2 : 0, received: gains ? 2 : 0)
        for case .sync(let token, _, _) in script.effects { script.event(.synced(token: token)) }
        guard case .failed(_, let error, _)? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(error.code == .timedOut)
        #expect(error.message.contains("the server failed (503)") != gains)
        #expect(error.httpStatus == (gains ? nil : 503))
    }

    /// What went wrong is recorded with the wait, and forgotten when bytes have come.
    @Test(arguments: [false, true]) func theLastErrorIsRecorded(gains: Bool) throws {
        var script = Script()
        script.machine.lastError = Self.earlier
        if gains {
            script.answer(head(200, "Content-Length: 5", "ETag: \"v1\""))
            script.wrote(through: 2, received: 2)
            script.event(.leave(.requeue))
            script.ended(.stopped, through: 2, received: 2)
        } else {
            script.ended(.curl(code: 7, text: "refused", osError: 111), through: 0, received: 0)
        }
        for case .sync(let token, _, _) in script.effects { script.event(.synced(token: token)) }
        let errors = script.writes.compactMap { write -> LonghaulError?? in
            if case .lastError(_, let error) = write { .some(error) } else { nil }
        }
        #expect(errors.count == 1)
        #expect(errors.first??.curlCode == (gains ? nil : 7))
    }
}
