import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// A download that goes on with the file of another program.
@Suite struct AdoptedFileTests {
    typealias Script = FetchMachineTests.Script

    private static let held: Int64 = 1 << 20
    private static let total: Int64 = 4 << 20
    private static let start = held - Limits.overlapBytes
    private static let proof = head(
        206, "Content-Range: bytes \(start)-\(total - 1)/\(total)", "ETag: \"v1\"")

    private func script(size: Int64 = held) -> Script {
        Script {
            $0.options.continues = true
            $0.options.continued = ContinuedFile(
                path: "/d/f", device: 1, inode: 9, birth: 0, size: size, touched: 7)
        }
    }

    private func failure(_ script: Script) -> LonghaulError? {
        guard case .failed(_, let error, _)? = script.outcome else { return nil }
        return error
    }

    @Test func itIsCopiedAndThenProven() throws {
        var script = script()
        #expect(script.asks.isEmpty)
        guard case .fill(let kept)? = script.effects.first else {
            Issue.record("\(script.effects)")
            return
        }
        #expect(kept.path == "/d/f" && kept.length == Self.held)
        script.event(.filled())
        #expect(script.ranges == ["bytes=\(Self.start)-"])
        #expect(script.machine.have.count == Self.held && script.machine.state.durable.isEmpty)
        script.answer(Self.proof)
        #expect(script.machine.state.validator == nil)
        script.wrote(through: Self.held + 1, received: Limits.overlapBytes + 1)
        #expect(script.machine.state.validator?.etag == "\"v1\"")
        #expect(script.machine.state.durable.count == Self.held)
        #expect(script.machine.state.bytesTotal == Self.total)
        script.ended(through: Self.total, received: Self.total - Self.start)
        #expect(script.machine.isWhole)
    }

    @Test func aWholeFileNeedsOnlyTheProof() {
        var script = script(size: Self.total)
        script.event(.filled())
        let start = Self.total - Limits.overlapBytes
        script.answer(head(206, "Content-Range: bytes \(start)-\(Self.total - 1)/\(Self.total)"))
        script.ended(through: 0, received: Limits.overlapBytes)
        #expect(script.machine.isWhole && script.machine.state.restarts == 0)
    }

    /// A proof that was broken off: the next attempt copies anew.
    @Test func beforeTheProofNothingIsHeld() {
        var script = script()
        script.event(.filled())
        script.answer(Self.proof)
        script.ended(.stalled, through: 0, received: 100)
        guard case .queued? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(script.machine.have.isEmpty && script.machine.state.durable.isEmpty)
    }

    @Test(
        arguments: [
            (head(200, "Content-Length: 4194304"), nil),
            (head(416, "Content-Range: bytes */7"), nil),
            (head(206, "Content-Range: bytes \(start)-\(start + 9)/\(start + 10)"), nil),
            (head(206, "Content-Range: bytes \(start)-\(total - 1)/*"), nil), (head(204), nil),
        ] as [(ResponseHead, WireFailure?)])
    func whatProvesNothingFails(answer: ResponseHead, end: WireFailure?) throws {
        var script = script()
        script.event(.filled())
        script.answer(answer)
        script.ended(end ?? .refused, through: 0, received: 0)
        let error = try #require(failure(script), "\(script.writes)")
        #expect(error.code == .destinationExists)
        #expect(script.asks.count == 1 && script.machine.have.isEmpty)
    }

    /// Holes, or zeros that were written out: what stands before them is taken.
    @Test func whatStandsBeforeZerosIsTaken() {
        var script = script()
        script.event(.filled(zerosFrom: 700_000))
        #expect(script.ranges == ["bytes=\(700_000 - Limits.overlapBytes)-"])
        #expect(script.machine.have == ByteRanges(0..<700_000))
    }

    @Test func zerosAtTheBeginningAreNoFile() throws {
        var script = script()
        script.event(.filled(zerosFrom: 0))
        #expect(try #require(failure(script)).code == .destinationExists)
        #expect(script.asks.isEmpty && script.machine.have.isEmpty)
    }

    /// A bad end: less is asked for, and more compared, until it agrees.
    @Test(arguments: 1...4) func aBadEnd(steps: Int) {
        var script = script()
        script.event(.filled())
        for step in 0...steps {
            let taken = Self.held - (step == 0 ? 0 : Limits.overlapBytes << (step - 1))
            let start = taken - min(taken, step == 0 ? Limits.overlapBytes : 1 << 20)
            #expect(script.asks.count == step + 1 && script.ranges.last == "bytes=\(start)-")
            script.answer(
                head(206, "Content-Range: bytes \(start)-\(Self.total - 1)/\(Self.total)"))
            if step < steps { script.ended(.overlapDiffers, through: 0, received: 65_536) }
        }
        script.ended(through: Self.total, received: Self.total)
        #expect(script.machine.isWhole && script.machine.state.restarts == 0)
    }

    /// Nothing of it is the server's.
    @Test func anotherFile() throws {
        var script = script()
        script.event(.filled())
        for _ in 1...9 where script.outcome == nil {
            let start = script.asks.last?.ask.start ?? 0
            script.answer(
                head(206, "Content-Range: bytes \(start)-\(Self.total - 1)/\(Self.total)"))
            script.ended(.overlapDiffers, through: 0, received: 0)
        }
        #expect(try #require(failure(script)).message.contains("last bytes"))
        #expect(script.asks.count == 5 && script.machine.have.isEmpty)
    }

    @Test func aFileThatWasChangedIsLeftAlone() throws {
        var script = script()
        script.event(.fillFailed(LocalFault(code: .io, message: "stale")))
        #expect(script.asks.isEmpty)
        #expect(try #require(failure(script)).code == .destinationExists)
    }

    @Test func aPauseWaitsForTheCopy() {
        var script = script()
        script.event(.leave(.requeue))
        #expect(script.outcome == nil)
        script.event(.filled())
        guard case .queued? = script.outcome else {
            Issue.record("\(script.writes)")
            return
        }
        #expect(script.asks.isEmpty && script.machine.have.isEmpty)
    }
}
