import Foundation
import Testing

@testable import LonghaulSimulation

/// The reference model of the queue can fail, shrinks what fails, and is what its page says.
@Suite struct ModelTests {
    // MARK: - Rules

    struct Cell: Sendable, CustomTestStringConvertible {
        let verb: ModelVerb
        let state: ModelState
        /// Of the one that it is done to: the last is that of an upload.
        let url: Int

        var testDescription: String { "\(verb) of \(state), URL \(url)" }
    }

    static let cells = ModelVerb.allCases.flatMap { verb in
        ModelState.allCases.flatMap { state in
            [3, 4].map { Cell(verb: verb, state: state, url: $0) }
        }
    }

    /// Each rule holds, and the same script finds a model that has it wrong.
    @Test(arguments: cells) func everyRuleIsSeen(cell: Cell) throws {
        let script = Self.script(leadingTo: cell) + Self.command(cell.verb)
        #expect(try ModelDraw.complaint(1, script) == nil)
        var rules = ModelRules.documented
        rules[cell.verb, cell.state] = Self.wrong(cell)
        #expect(try ModelDraw.complaint(1, script, rules: rules) != nil)
    }

    private static func wrong(_ cell: Cell) -> ModelRule {
        switch ModelRules.documented[cell.verb, cell.state] {
        case .becomes, .removed: .refused
        case .refused: cell.verb == .remove ? .removed : .becomes(.waiting)
        }
    }

    private static func script(leadingTo cell: Cell) -> [ModelStep] {
        let enqueue = ModelCommand.enqueue(ModelRequest(label: 0, url: cell.url, file: 3))
        let commands: [ModelCommand] =
            switch cell.state {
            case .waiting: [.conditions(.offline, power: true), enqueue]
            case .running: [enqueue, .sleep(seconds: 2)]
            case .paused: [enqueue, want(.pause)]
            case .completed: [enqueue, .rest]
            case .failed: [.answer(url: cell.url, .missing), enqueue, .rest]
            case .cancelling: [enqueue, want(.cancel)]
            case .cancelled: [enqueue, want(.cancel), .rest]
            }
        return commands.map { ModelStep(command: $0) }
    }

    private static func command(_ verb: ModelVerb) -> [ModelStep] {
        let command: ModelCommand =
            switch verb {
            case .set: .set(0, .priority(0))
            case .remove: .remove(0)
            case .pause, .resume, .now, .cancel, .retry: want(verb)
            }
        return [command, .rest].map { ModelStep(command: $0) }
    }

    private static func want(_ verb: ModelVerb) -> ModelCommand {
        .want(verb, .one(0), keepBytes: false)
    }

    // MARK: - Faults

    /// Seeds find the fault, and a few commands of one are enough. The other faults are found as
    /// these are, and take longer to shrink.
    @Test(arguments: [ModelFault.losesAcknowledgement, .repeatsEvent, .resumesCancelled])
    func faultsAreFoundAndShrunk(fault: ModelFault) throws {
        let seed = try #require(
            try (1...300).first { seed in
                try ModelDraw.complaint(seed, ModelDraw.script(of: seed), fault: fault) != nil
            })
        let script = try ModelDraw.smallest(seed, fault: fault)
        #expect(try ModelDraw.complaint(seed, script) == nil)
        #expect(try ModelDraw.complaint(seed, script, fault: fault) != nil)
        #expect(script.count <= 6, "\(script)")
    }

    // MARK: - Shrinking

    /// Chunks go, then single commands, then arguments.
    @Test func shrinksToWhatFails() {
        var request = ModelRequest(label: 3, url: 2, file: 1)
        request.power = true
        request.deadline = 60
        request.session = "s"
        var script = (0..<30).map { ModelStep(command: .sleep(seconds: $0 + 1)) }
        script.insert(ModelStep(command: .enqueue(request)), at: 11)
        script.insert(ModelStep(command: .powerCut(after: 9)), at: 23)
        var shrinker = ModelShrinker { script in
            let needsPower = script.firstIndex { step in
                if case .enqueue(let request) = step.command { request.power } else { false }
            }
            let crash = script.firstIndex { step in
                if case .kill(let effects) = step.command {
                    effects >= 4
                } else {
                    step.command == .powerCut(after: 9)
                }
            }
            guard let needsPower, let crash else { return false }
            return needsPower < crash
        }
        var least = ModelRequest(label: 3, url: 0, file: 0)
        least.power = true
        #expect(
            shrinker.shrink(script).map(\.command) == [.enqueue(least), .kill(after: 4)])
    }

    /// A script that does not fail any more when it is made smaller stays.
    @Test func keepsWhatIsNeeded() {
        let script = [3, 1, 2].map { ModelStep(command: .acknowledge($0, alone: true)) }
        var shrinker = ModelShrinker { $0 == script }
        #expect(shrinker.shrink(script) == script)
    }

    // MARK: - The page

    /// `LONGHAUL_WRITE_PAGES=1` writes the tables into the page.
    @Test func thePageHasTheTables() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/internals/model.md").standardizedFileURL
        var page = try String(contentsOf: path, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for table in ModelPage.tables {
            let start = try #require(page.firstIndex(of: table[0]), "\(table[0])")
            let end = page[start...].firstIndex { !$0.hasPrefix("|") } ?? page.endIndex
            if ProcessInfo.processInfo.environment["LONGHAUL_WRITE_PAGES"] != nil {
                page.replaceSubrange(start..<end, with: table)
                try page.joined(separator: "\n").write(to: path, atomically: true, encoding: .utf8)
            } else {
                #expect(Array(page[start..<end]) == table)
            }
        }
    }
}
