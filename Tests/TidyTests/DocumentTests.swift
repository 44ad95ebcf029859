import Foundation
import Testing

/// The documents speak of what is there.
@Suite struct DocumentTests {
    private let documents = Repository.shared.files.filter { $0.hasSuffix(".md") }

    /// Every relative link leads somewhere.
    @Test func links() {
        var complaints = Complaints()
        defer { complaints.report() }
        for path in documents {
            let folder = path.split(separator: "/").dropLast().joined(separator: "/")
            for target in links(in: Repository.shared.text(path) ?? "") {
                let file = target.prefix { $0 != "#" }
                if file.isEmpty || target.contains("://") || target.hasPrefix("mailto:") {
                    continue
                }
                let full = resolved(folder.isEmpty ? String(file) : "\(folder)/\(file)")
                if !Repository.shared.exists(full) { complaints.add("\(path) links to \(target)") }
            }
        }
    }

    /// Every path that a document names in code is there.
    @Test func paths() {
        var complaints = Complaints()
        defer { complaints.report() }
        for path in documents where path != "CHANGELOG.md" {
            for word in codeSpans(in: Repository.shared.text(path) ?? "")
            where word.hasPrefix("Sources/") || word.hasPrefix("Tests/")
                || word.hasPrefix("scripts/")
            {
                let file = word.prefix { $0 != " " && $0 != ":" }
                if file.contains("*") || file.contains("…") { continue }
                if !Repository.shared.exists(String(file)) {
                    complaints.add("\(path) names \(word)")
                }
            }
        }
    }

    @Test func everyModuleIsDescribed() throws {
        let text = try #require(Repository.shared.text("docs/ARCHITECTURE.md"))
        for module in Repository.shared.folders(under: "Sources") {
            #expect(text.contains(module), "docs/ARCHITECTURE.md does not speak of \(module)")
        }
    }

    private func links(in text: String) -> [String] {
        text.components(separatedBy: "](").dropFirst().map { String($0.prefix { $0 != ")" }) }
    }

    private func codeSpans(in text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    private func resolved(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }
}
