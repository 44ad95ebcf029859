import Foundation
import Testing

/// The documents speak of what is there.
@Suite struct DocumentTests {
    private let documents = Repository.shared.files.filter { $0.hasSuffix(".md") }
    private let modules = [
        "CLI": "LonghaulCLI", "Core": "LonghaulCore", "Engine": "LonghaulEngine",
        "Model": "LonghaulModel", "Platform": "LonghaulPlatform", "Store": "LonghaulStore",
        "Serve": "LonghaulServe", "Transport": "LonghaulTransport",
        "Longhaul": "Longhaul", "CLonghaul": "CLonghaul",
    ]

    /// Every relative link leads somewhere, also within a document.
    @Test func links() {
        var complaints = Complaints()
        defer { complaints.report() }
        for path in documents {
            let folder = path.split(separator: "/").dropLast().joined(separator: "/")
            for target in links(in: Repository.shared.text(path) ?? "") {
                if target.contains("://") || target.hasPrefix("mailto:") { continue }
                let file = target.prefix { $0 != "#" }
                let full =
                    file.isEmpty
                    ? path : resolved(folder.isEmpty ? String(file) : "\(folder)/\(file)")
                if !Repository.shared.exists(full) { complaints.add("\(path) links to \(target)") }
                let anchor = target.dropFirst(file.count + 1)
                if !anchor.isEmpty, full.hasSuffix(".md"), !anchors(of: full).contains(anchor) {
                    complaints.add("\(path) links to \(target), which has no such heading")
                }
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

    /// Each attack has tests, and they are there.
    @Test(arguments: ["serve", "threats"]) func attacks(page: String) throws {
        let text = try #require(Repository.shared.text("docs/internals/\(page).md"))
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|", omittingEmptySubsequences: false) }
            .filter { $0.count == 5 }
        #expect(rows.count > 10)
        var tests: Set<String> = []
        for line in Repository.tests.flatMap({ file in file.code }) {
            let parts = line.split(separator: "func ")
            if parts.count > 1 { tests.insert(String(parts[1].prefix { $0 != "(" })) }
        }
        for row in rows where row[1] != " attack " {
            let named = codeSpans(in: String(row[3]))
            #expect(!named.isEmpty && named.allSatisfy(tests.contains), "\(row[3])")
        }
    }

    /// A restart of a server must not end the jobs and hosts that it has begun.
    @Test func unitsOfAnEngineEndItAlone() throws {
        let package = "scripts/package.d/longhaul-serve.service"
        for path in [package, "docs/serve.md"] {
            let text = try #require(Repository.shared.text(path))
            #expect(text.contains("[Service]") && text.contains("\nKillMode=process\n"), "\(path)")
        }
    }

    /// Each script has its line in CONTRIBUTING.md.
    @Test func scriptsAreDescribed() throws {
        let text = try #require(Repository.shared.text("CONTRIBUTING.md"))
        for path in Repository.shared.files where path.hasPrefix("scripts/") {
            let name = path.dropFirst("scripts/".count)
            if name.contains("/") || name.contains(".") { continue }
            #expect(text.contains("\n| `\(path)"), "CONTRIBUTING.md does not list \(path)")
        }
    }

    /// A decision is known by its number.
    @Test func decisionsAreNumbered() throws {
        let paths = documents.filter { $0.hasPrefix("docs/decisions/") }.sorted()
        #expect(paths.count > 10)
        for (index, path) in paths.enumerated() {
            let text = try #require(Repository.shared.text(path))
            #expect(text.hasPrefix("# \(index + 1). "), "\(path)")
        }
    }

    /// Files and folders of the sources by the short names that the documents use:
    /// `Core/Resume/….swift`.
    @Test func filesOfTheSources() {
        var complaints = Complaints()
        defer { complaints.report() }
        for path in documents where path != "CHANGELOG.md" {
            for word in codeSpans(in: Repository.shared.text(path) ?? "") {
                let parts = word.split(separator: "/", maxSplits: 1)
                guard parts.count == 2, let module = modules[String(parts[0])],
                    parts[1].allSatisfy({ $0.isLetter || "/+.".contains($0) })
                else { continue }
                if !Repository.shared.exists("Sources/\(module)/\(parts[1])") {
                    complaints.add("\(path) names \(word)")
                }
            }
        }
    }

    /// The page names every file that knows the condition `saver`, as the next one needs the same.
    @Test func filesOfACondition() throws {
        let page = try #require(Repository.shared.text("docs/internals/changing.md"))
        let files = Repository.sources.filter { file in
            file.code.contains { $0.contains(/\b(saver|savesPower|fullPower)\b/) }
        }
        #expect(files.count <= 10)
        for file in files {
            let name = file.path.split(separator: "/").last ?? ""
            #expect(page.contains("\(name)`"), "\(file.path)")
        }
    }

    /// The page counts the files that it names, and each of them is there.
    @Test func lifeOfAURLCountsItsFiles() throws {
        let text = try #require(Repository.shared.text("docs/internals/life-of-a-url.md"))
        var files: Set<String> = []
        for row in text.split(separator: "\n") where row.hasPrefix("| ") {
            let cells = row.split(separator: "|")
            guard Int(cells[0].trimmingCharacters(in: .whitespaces)) != nil else { continue }
            var module = ""
            var folder = ""
            for name in codeSpans(in: String(cells[1])) {
                var parts = name.split(separator: "/").map(String.init)
                if let found = modules[parts[0]] {
                    module = "Sources/\(found)"
                    parts[0] = module
                } else {
                    parts.insert(parts.count > 1 ? module : folder, at: 0)
                }
                folder = parts.dropLast().joined(separator: "/")
                let path = parts.joined(separator: "/")
                #expect(Repository.shared.exists(path), "\(path)")
                files.insert(path)
                if cells[1].contains("`\(name)` and its extensions") {
                    let type = path.dropLast(".swift".count)
                    files.formUnion(Repository.shared.files.filter { $0.hasPrefix("\(type)+") })
                }
            }
        }
        #expect(text.contains("These are \(files.count) files"), "\(files.count)")
    }

    /// The folders of a module stand in the documented order: none names a type of a later one.
    @Test func layersAreAsDocumented() throws {
        let text = try #require(Repository.shared.text("docs/ARCHITECTURE.md"))
        for module in [
            "LonghaulModel", "LonghaulCore", "LonghaulPlatform", "LonghaulStore",
            "LonghaulTransport", "LonghaulEngine", "Longhaul", "LonghaulCLI", "LonghaulServe",
        ] {
            let row = try #require(
                text.split(separator: "\n").first { $0.hasPrefix("| `\(module)` |") }, "\(module)")
            let layers = row.split(separator: "<").map { codeSpans(in: String($0)) }
            var rank: [String: Int] = [:]
            for (index, layer) in layers.enumerated() {
                for folder in layer { rank[folder] = index }
            }
            let files = Repository.sources.filter { $0.module == module }
            for folder in rank.keys where folder != module {
                let path = "Sources/\(module)/\(folder)/"
                #expect(files.contains { $0.path.hasPrefix(path) }, "there is no \(path)")
            }
            for (folder, targets) in FolderGraph(files).uses where !folder.isEmpty {
                let own = String(folder.split(separator: "/")[0])
                for target in targets where !target.isEmpty {
                    let other = String(target.split(separator: "/")[0])
                    if own == other { continue }
                    let below = try #require(rank[other], "\(module): \(other) has no layer")
                    let above = try #require(rank[own], "\(module): \(own) has no layer")
                    #expect(below < above, "\(module): \(folder) names types of \(target)")
                }
            }
        }
    }

    /// An option is an entry of the table of request fields, as `changing.md` says: the places that
    /// walk the table name no field, except where one has a meaning of its own.
    @Test func anOptionIsOneEntry() throws {
        let own: Set<String> = [
            // The destination has it, too.
            "JSONRequest.swift remoteName",
            // It depends on whether the transfer is discretionary.
            "Subscribers+Merged.swift yields",
            // They are adopted under conditions.
            "IntentDecision.swift maxSize", "IntentDecision.swift mirrors",
            "IntentDecision.swift remoteName",
            // Such a download shows its answer.
            "Transfer+JSON.swift deliversErrorPages",
            // A conflict of one file of many is passed over, unless it is to fail.
            "UploadBatch.swift onDuplicate",
        ]
        let walkers = [
            "LonghaulCLI/Options/", "LonghaulCLI/Rendering/", "Longhaul/Input/JSONRequest",
            "LonghaulCLI/Commands/SetCommand", "LonghaulCLI/Commands/Upload", "Longhaul/JSON/",
            "Longhaul/Configuration/", "LonghaulCore/Sharing/Subscribers+Merged",
            "LonghaulEngine/Intents/IntentDecision",
        ]
        let table = "Sources/LonghaulModel/Fields/RequestField+All.swift"
        let entries = try #require(Repository.sources.first { $0.path == table })
        let properties = Set(entries.code.flatMap { names(after: "options", in: $0) })
        #expect(properties.count > 20)
        var found: Set<String> = []
        for file in Repository.sources
        where walkers.contains(where: { file.path.hasPrefix("Sources/" + $0) }) {
            let name = file.path.split(separator: "/").last ?? ""
            for property in file.code.flatMap({ self.names(after: "options", in: $0) })
            where properties.contains(property) {
                found.insert("\(name) \(property)")
            }
        }
        #expect(found == own)
    }

    /// `name` of each `options.name` and `options(\.name)`.
    private func names(after word: Substring, in line: some StringProtocol) -> [Substring] {
        let words = String(line).split { !$0.isLetter && !$0.isNumber }
        return zip(words, words.dropFirst()).filter { $0.0 == word }.map(\.1)
    }

    /// Each column has its meaning above it, where it is made.
    @Test func columnsAreExplained() throws {
        var complaints = Complaints()
        defer { complaints.report() }
        let folder = "Sources/LonghaulStore/Schema/"
        for path in Repository.shared.files where path.hasPrefix(folder) {
            let text = try #require(Repository.shared.text(path))
            var before = ""
            for whole in text.split(separator: "\n") {
                let line = whole.trimmingCharacters(in: .whitespaces)
                defer { before = line }
                let words = line.split(separator: " ")
                guard words.count > 1, let first = words.first?.first, first.isLowercase,
                    ["INTEGER", "TEXT", "REAL", "INTEGER,", "TEXT,", "REAL,"].contains(words[1])
                else { continue }
                if !before.hasPrefix("-- ") { complaints.add("\(path): \(line)") }
            }
        }
    }

    @Test func everyModuleIsDescribed() throws {
        let text = try #require(Repository.shared.text("docs/ARCHITECTURE.md"))
        for module in Repository.shared.folders(under: "Sources") {
            #expect(text.contains(module), "docs/ARCHITECTURE.md does not speak of \(module)")
        }
    }

    /// The headings of a document, as links name them.
    private func anchors(of path: String) -> Set<Substring> {
        let lines = (Repository.shared.text(path) ?? "").split(separator: "\n")
        return Set(
            lines.filter { $0.hasPrefix("#") }.map { line in
                let words = line.drop { $0 == "#" }.dropFirst().lowercased()
                return Substring(
                    words.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                        .replacing(" ", with: "-"))
            })
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
