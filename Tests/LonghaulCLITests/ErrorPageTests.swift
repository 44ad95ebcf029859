import Foundation
import Longhaul
import Testing

@testable import LonghaulCLI

/// The page of errors has the exit status of a command that is refused with a code.
@Suite struct ErrorPageTests {
    @Test func exitStatuses() throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/errors.md"), encoding: .utf8)
        var column: Int?
        var count = 0
        for line in page.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if line.hasPrefix("| code |") { column = cells.firstIndex(of: "refused") }
            guard line.hasPrefix("| `"), let column else { continue }
            let error = LonghaulError(.init(rawValue: cells[0].filter { $0 != "`" }), "")
            // A code that no refusal has is an internal error.
            let status = LonghaulCLI.ExitStatus(error)
            let shown = cells[column] == "–" ? "2" : cells[column]
            #expect(shown == "\(status.rawValue)", "\(line)")
            #expect(error.recoverySuggestion != nil, "\(line)")
            count += 1
        }
        #expect(count > 25)
    }
}
