import Foundation
import Testing

/// Each code of `LonghaulError` is on the page of errors, has a remedy, and is expected by a test.
@Suite struct ErrorPageTests {
    private static let page = "docs/errors.md"
    private static let types = "Sources/LonghaulModel/Errors/LonghaulError.swift"
    private static let remedies = "Sources/Longhaul/Values/LonghaulError+Localized.swift"
    private static let aria2 = "Sources/LonghaulServe/RPC/RPCStatus.swift"

    /// For each code a test that expects it of the code that makes it.
    private static let tests = [
        "timedOut": "LonghaulSimulationTests/DeadlineTests",
        "notFound": "LonghaulEndToEndTests/AnswerTests",
        "forbidden": "LonghaulTests/ForegroundTests",
        "unauthorized": "LonghaulTransportTests/FailureTests",
        "clientError": "LonghaulEndToEndTests/AnswerTests",
        "serverError": "LonghaulEndToEndTests/AnswerTests",
        "network": "LonghaulEndToEndTests/AnswerTests",
        "dns": "LonghaulEndToEndTests/LastErrorTests",
        "tls": "LonghaulEndToEndTests/ProtocolTests",
        "checksumMismatch": "LonghaulEndToEndTests/AnswerTests",
        "destinationExists": "LonghaulCoreTests/Fetch/AdoptedFileTests",
        "noSpace": "LonghaulEndToEndTests/FailureTests",
        "io": "LonghaulCoreTests/Retry/FailureTableTests",
        "permission": "LonghaulEndToEndTests/FailureTests",
        "tooLarge": "LonghaulEndToEndTests/AnswerTests",
        "unsupported": "LonghaulEndToEndTests/AnswerTests",
        "invalidRequest": "LonghaulTests/EnqueueTests",
        "sourceChanged": "LonghaulEndToEndTests/UploadTests",
        "cancelled": "LonghaulTests/DownloadTests",
        "internal": "LonghaulStoreTests/DamagedRowTests",
        "noSuchTransfer": "LonghaulStoreTests/WantTests",
        "noSuchSession": "LonghaulEndToEndTests/WordingTests",
        "noSuchHost": "LonghaulStoreTests/EventLogTests",
        "noSuchBundle": "LonghaulEndToEndTests/BundleTests",
        "noSuchFolder": "LonghaulEndToEndTests/FolderTests",
        "noSuchTask": "LonghaulStoreTests/TaskQueueTests",
        "noSuchEvent": "LonghaulStoreTests/EventLogTests",
        "notPermitted": "LonghaulTests/SchedulerTests",
        "tooManyPendingTaskRequests": "LonghaulTests/SchedulerTests",
        "immediateRunIneligible": "LonghaulTestingTests/ContinuedWorldTests",
        "unavailable": "LonghaulTests/SchedulerTests",
        "conflict": "LonghaulTests/EnqueueTests",
        "storeUnavailable": "LonghaulStoreTests/OpenTests",
        "sessionInvalidated": "LonghaulTests/PresenceTests",
        "invalidManifest": "LonghaulCoreTests/Bundles/ListedFilesTests",
    ]

    /// Every code that the type declares.
    private func declared() throws -> Set<String> {
        let text = try #require(Repository.shared.text(Self.types))
        let codes = text.matches(of: /Code\(\s*rawValue: "(\w+)"\)/).map { String($0.1) }
        #expect(codes.count > 25 && Set(codes).count == codes.count)
        return Set(codes)
    }

    /// The cells of the rows below the headings `heading`, by the code in their first cell.
    private func rows(under heading: String) throws -> [String: [String]] {
        let text = try #require(Repository.shared.text(Self.page))
        let sections = text.components(separatedBy: "\n#").filter {
            $0.drop { $0 == "#" }.hasPrefix(" \(heading)\n")
        }
        try #require(sections.count == 1, "\(heading)")
        var rows: [String: [String]] = [:]
        for line in sections[0].split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
            let code = cells[0].filter { $0 != "`" }
            #expect(rows[code] == nil, "\(code) is there twice")
            #expect(cells.allSatisfy { !$0.isEmpty }, "\(code) has an empty cell")
            rows[code] = cells
        }
        return rows
    }

    @Test func everyCodeIsOnThePage() throws {
        let transfers = try rows(under: "Errors of transfers")
        let calls = try rows(under: "Errors of calls")
        #expect(Set(transfers.keys).isDisjoint(with: calls.keys))
        let named = Set(transfers.keys).union(calls.keys)
        let declared = try declared()
        #expect(declared.subtracting(named).sorted() == [], "not on the page")
        #expect(named.subtracting(declared).sorted() == [], "not a code")
        #expect(try Set(rows(under: "What to do").keys) == Set(transfers.keys))
    }

    @Test func everyCodeHasARemedyWithoutCommands() throws {
        let file = try #require(Repository.sources.first { $0.path == Self.remedies })
        let text = try #require(Repository.shared.text(Self.remedies))
        let codes = text.matches(of: /\n +\.(\w+): "/).map { String($0.1) }
        #expect(try Set(codes) == declared())
        for literal in file.literals {
            #expect(!literal.text.contains("--") && !literal.text.contains("`"), "\(literal.text)")
        }
    }

    /// The page has the numbers of aria2 that its clients are given.
    @Test func codesOfAria2() throws {
        let text = try #require(Repository.shared.text(Self.aria2))
        let function = try #require(text.components(separatedBy: "func code(of").last)
        var numbers: [String: String] = [:]
        for match in function.matches(of: /case \.(\w+): (\d+)\n/) {
            numbers[String(match.1)] = String(match.2)
        }
        #expect(numbers.count > 5)
        for (code, cells) in try rows(under: "Errors of transfers") {
            let shown = cells.last.map { String($0.prefix { $0.isNumber }) }
            #expect(shown == numbers[code, default: "1"], "\(code)")
        }
    }

    @Test func everyCodeIsExpectedByATest() throws {
        #expect(try Set(Self.tests.keys) == declared())
        for (code, path) in Self.tests {
            let file = try #require(
                Repository.tests.first { $0.path == "Tests/\(path).swift" }, "\(path)")
            let isNamed =
                file.literals.contains { $0.text == code }
                || file.code.contains { line in
                    line.split { !$0.isLetter && $0 != "." }.contains { $0.hasSuffix(".\(code)") }
                }
            #expect(isNamed, "\(path) does not expect \(code)")
        }
    }
}
