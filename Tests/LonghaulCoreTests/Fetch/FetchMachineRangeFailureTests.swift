import LonghaulCore
import Testing

/// Servers that fail at a range, or refuse it, and may have the whole.
@Suite struct FetchMachineRangeFailureTests {
    typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private let exact = "bytes=4194304-"

    private func holding(
        emptyAnswers: Int = 0, _ change: (inout TransferRequest) -> Void = { _ in }
    ) -> Script {
        Script(
            held: 4 * Self.mib, validator: Validator(etag: "\"v1\"", length: 10 * Self.mib),
            total: 10 * Self.mib, askedURL: "http://h/f", emptyAnswers: emptyAnswers, change)
    }

    /// Refused once, failed twice: then the whole is asked for, and what is held is passed over.
    @Test(arguments: [(400, 0), (403, 0), (406, 0), (500, 1), (501, 1), (502, 3)])
    func theWholeIsAskedFor(status: Int, emptyAnswers: Int) {
        var script = holding(emptyAnswers: emptyAnswers)
        script.answer(head(status))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.asks.count == 2 && script.ranges.last == .some(nil))
        script.answer(head(200, "ETag: \"v1\"", "Content-Length: 10485760"))
        #expect(script.machine.state.restarts == 0)
        #expect(script.machine.have.count == 4 * Self.mib)
    }

    /// What may pass is waited out, and what is about the file or its user is told.
    @Test(arguments: [
        (500, 0), (502, 2), (503, 1), (401, 0), (404, 0), (410, 0), (408, 1), (429, 1),
    ]) func theWholeIsNotAskedFor(status: Int, emptyAnswers: Int) {
        var script = holding(emptyAnswers: emptyAnswers)
        script.answer(head(status))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.asks.count == 1 && script.outcome != nil)
        #expect(script.machine.have.count == 4 * Self.mib)
    }

    /// No loop: if that brings nothing either, the failure is what it is.
    @Test(arguments: [(403, 0), (500, 1)]) func theWholeFailsToo(status: Int, emptyAnswers: Int) {
        var script = holding(emptyAnswers: emptyAnswers)
        for _ in 1...2 {
            script.answer(head(status))
            script.ended(.refused, through: 0, received: 0)
        }
        #expect(script.asks.count == 2 && script.machine.have.count == 4 * Self.mib)
        switch script.outcome {
        case .queued?: #expect(status == 500)
        case .needsInput?: #expect(status == 403)
        default: Issue.record("\(script.writes)")
        }
    }

    @Test func aMirrorIsNotAskedForTheWhole() {
        var script = holding { $0.options.mirrors = ["http://m/f"] }
        script.answer(head(404))
        script.ended(.refused, through: 0, received: 0)
        script.answer(head(403))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.asks.count == 2)
    }
}
