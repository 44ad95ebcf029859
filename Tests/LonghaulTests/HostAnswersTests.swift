import LonghaulCore
import LonghaulStore
import Synchronization
import Testing

@testable import Longhaul

/// Answers of hosts, and a store that cannot always be written.
@Suite struct HostAnswersTests {
    /// Takes what it is given, or fails as it was told to.
    private final class Book: Sendable {
        private let state = Mutex((fault: LonghaulError.Code?.none, taken: [String]()))

        var taken: [String] { state.withLock(\.taken) }

        func fail(_ code: LonghaulError.Code?) { state.withLock { $0.fault = code } }

        func take(_ answer: InputAnswer, _ session: String) throws(LonghaulError) {
            let fault = state.withLock { state in
                if state.fault == nil { state.taken.append("\(session) \(answer.transfer)") }
                return state.fault
            }
            if let fault { throw LonghaulError(fault, "as told") }
        }
    }

    private func answer(_ transfer: Int) throws -> InputAnswer {
        try #require(InputAnswer(Array(#"{"transfer":\#(transfer),"action":"continue"}"#.utf8)))
    }

    private let id = LaunchID(rawValue: 1)

    private func answers(_ book: Book) -> HostAnswers {
        HostAnswers { (answer, session) throws(LonghaulError) in try book.take(answer, session) }
    }

    @Test func whatMakesNoSenseIsSaid() throws {
        let book = Book()
        let answers = answers(book)
        book.fail(.invalidRequest)
        var said: [LonghaulError.Code] = []
        let waits = try answers.accept(answer(1), of: id, session: "s") { said.append($0.code) }
        #expect(!waits && said == [.invalidRequest])
        book.fail(.storeUnavailable)
        #expect(try answers.accept(answer(2), of: id, session: "s") { said.append($0.code) })
        #expect(said.count == 1)
    }

    @Test func whatCanBeRecordedIsRecordedAtOnce() throws {
        let book = Book()
        let answers = answers(book)
        #expect(try !answers.accept(answer(1), of: id, session: "s"))
        #expect(book.taken == ["s 1"])
    }

    @Test func whatCannotIsKeptInItsOrder() throws {
        let book = Book()
        let answers = answers(book)
        book.fail(.storeUnavailable)
        #expect(try answers.accept(answer(1), of: id, session: "s"))
        book.fail(nil)
        // Said once, and not recorded before the first.
        #expect(try !answers.accept(answer(2), of: id, session: "s"))
        #expect(try !answers.accept(answer(3), of: LaunchID(rawValue: 2), session: "t"))
        #expect(book.taken == ["t 3"])
        book.fail(.storeUnavailable)
        #expect(throws: LonghaulError.self) { try answers.recordKept(of: id) }
        book.fail(nil)
        try answers.recordKept(of: id)
        #expect(book.taken == ["t 3", "s 1", "s 2"])
        try answers.recordKept(of: id)
        #expect(try !answers.accept(answer(4), of: id, session: "s"))
        #expect(book.taken.count == 4)
    }

    @Test func whatMakesNoSenseIsNotTriedAgain() throws {
        let book = Book()
        let answers = answers(book)
        book.fail(.invalidRequest)
        #expect(try !answers.accept(answer(1), of: id, session: "s"))
        book.fail(.storeUnavailable)
        #expect(try answers.accept(answer(2), of: id, session: "s"))
        book.fail(.conflict)
        try answers.recordKept(of: id)
        #expect(book.taken.isEmpty)
    }

    @Test func whatWasGivenUpIsGone() throws {
        let book = Book()
        let answers = answers(book)
        book.fail(.storeUnavailable)
        #expect(try answers.accept(answer(1), of: id, session: "s"))
        answers.drop(of: id)
        book.fail(nil)
        try answers.recordKept(of: id)
        #expect(book.taken.isEmpty)
    }
}
