import LonghaulCore
import Testing

/// Answers that may be an error in the place of the file: what they cost, and when they count.
@Suite struct FetchMachineDoubtTests {
    typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private let words = head(200, "Content-Type: application/json", "Content-Length: 30")
    private let chunked = head(200, "Transfer-Encoding: chunked")

    private func holding(_ validator: Validator, total: Int64? = 10 * mib) -> Script {
        Script(held: 4 * Self.mib, validator: validator, total: total, askedURL: "http://h/f")
    }

    private static let pinned: [Validator] = [
        Validator(etag: "\"v1\"", length: 10 * mib), Validator(etag: "W/\"v1\"", length: 10 * mib),
        Validator(length: 10 * mib), Validator(),
    ]

    /// Each run is begun from what the one before has recorded, as after a kill.
    @Test(arguments: pinned) func itIsBelievedWhenItHasComeAgainAndAgain(_ pinned: Validator) {
        var script = holding(pinned, total: pinned.length)
        for turn in 1...Limits.doubtsBelieved {
            script.answer(words)
            script.ended(.refused, through: 0, received: 0)
            guard case .queued? = script.outcome else {
                Issue.record("\(turn): \(script.writes)")
                return
            }
            #expect(script.machine.have.count == 4 * Self.mib && script.machine.state.restarts == 0)
            #expect(script.machine.state.validator?.doubts == turn)
            #expect(script.machine.state.fruitlessAttempts == turn)
            script = script.again()
        }
        script.answer(words)
        #expect(script.machine.state.restarts == 1 && script.machine.state.bytesTotal == 30)
    }

    @Test func bytesInBetweenBeginTheCountAnew() {
        let total = 10 * Self.mib
        var script = holding(Self.pinned[0])
        script.answer(words)
        script.ended(.refused, through: 0, received: 0)
        script = script.again()
        script.answer(
            head(206, "ETag: \"v1\"", "Content-Range: bytes \(4 * Self.mib)-\(total - 1)/\(total)"))
        script.ended(.stalled, through: 5 * Self.mib, received: Self.mib)
        #expect(script.machine.state.validator?.doubts == nil)
        #expect(script.machine.have.count == 5 * Self.mib)
    }

    /// No length: the bytes decide. These are others, and so few that the next one counts as less.
    @Test(arguments: pinned) func ofUnknownLengthAndOther(_ pinned: Validator) {
        var script = holding(pinned, total: pinned.length)
        script.answer(chunked)
        script.ended(.overlapDiffers, through: 0, received: 30)
        #expect(script.ranges.last == .some(nil) && script.asks.count == 2)
        script.answer(chunked)
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.have.count == 4 * Self.mib && script.machine.state.restarts == 0)
        #expect(script.machine.state.validator?.doubts == 1 && script.outcome != nil)
    }

    /// The beginning of the file, and less than is held; an empty one, too.
    @Test(arguments: [0, 1, 4 * mib - 1]) func ofUnknownLengthAndShort(_ count: Int64) {
        var script = holding(Self.pinned[0])
        script.answer(chunked)
        script.ended(through: 0, received: count)
        #expect(script.machine.have.count == 4 * Self.mib && script.asks.count == 1)
        #expect(script.machine.state.validator?.doubts == 1)
        #expect(script.lastError?.message.contains("less than what is held") == true)
    }

    @Test(arguments: pinned) func ofUnknownLengthAndTheSame(_ pinned: Validator) {
        var script = holding(pinned, total: pinned.length)
        script.answer(chunked)
        let total = 10 * Self.mib
        script.ended(through: total, received: total)
        #expect(script.machine.isWhole && script.machine.state.restarts == 0)
    }

    // MARK: The end of TLS

    /// The end of a body without a length was not announced: the second one there is believed.
    @Test(arguments: [Validator(), Validator(etag: "\"v1\"")])
    func anEndThatIsNotAnnounced(_ validator: Validator) {
        let tag = validator.etag.map { "ETag: \($0)" } ?? "X: y"
        var script = Script()
        script.answer(head(200, tag))
        script.ended(.unannouncedEnd, through: Self.mib, received: Self.mib)
        #expect(!script.machine.isWhole && script.machine.state.bytesTotal == nil)
        script = script.again()
        script.answer(head(200, tag))
        script.ended(.unannouncedEnd, through: Self.mib + 1, received: Self.mib + 1)
        #expect(!script.machine.isWhole)
        #expect(script.machine.have.count == Self.mib + 1)
        script = script.again()
        script.answer(head(200, tag))
        // What came was compared or skipped: nothing was written.
        script.ended(.unannouncedEnd, through: 0, received: Self.mib + 1)
        #expect(script.machine.isWhole && script.machine.state.bytesTotal == Self.mib + 1)
        #expect(script.machine.state.restarts == 0)
    }

    /// … and one that ends before that is not.
    @Test func anEndThatComesEarlier() {
        var script = holding(Validator(), total: nil)
        script.answer(head(200, "X: y"))
        script.ended(.unannouncedEnd, through: 0, received: 3 * Self.mib)
        #expect(!script.machine.isWhole && script.machine.have.count == 4 * Self.mib)
    }

    /// The range tells that there is no more.
    @Test func aRangeTellsTheEnd() {
        var script = holding(Validator(etag: "\"v1\""), total: nil)
        script.answer(head(416, "Content-Range: bytes */\(4 * Self.mib)", "ETag: \"v1\""))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.isWhole)
    }
}
