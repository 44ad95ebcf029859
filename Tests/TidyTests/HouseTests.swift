import Testing

/// The shape of the whole. Each limit is a ratchet: it stands where the code stands, and a change
/// that makes the figure smaller lowers it in the same commit.
@Suite struct HouseTests {
    private static let modules = Dictionary(grouping: Repository.sources, by: \.module)

    /// Folders of a module that name each other's types, directly or through others: the largest
    /// such group. 1 = the folders are layers.
    private static let largestKnot = [
        "Longhaul": 1, "LonghaulCLI": 1, "LonghaulCore": 1, "LonghaulEngine": 1,
        "LonghaulHTTPTypes": 1,
        "LonghaulModel": 1, "LonghaulPlatform": 1, "LonghaulSimulatedWire": 1, "LonghaulStore": 1,
        "LonghaulTesting": 1,
        "LonghaulTransport": 1,
        "LonghaulServe": 1, "LonghaulServiceLifecycle": 1, "LonghaulURLRequest": 1,
        "LonghaulURLSession": 1, "feedreader": 1,
        "longhaul-aria2c": 1, "longhaul-serve": 1, "photofetch": 1, "photosync": 1,
    ]

    @Test func foldersAreLayers() throws {
        for (module, files) in Self.modules {
            let limit = try #require(Self.largestKnot[module], "no limit for \(module)")
            let knot = FolderGraph(files).largestKnot
            #expect(
                knot.count <= limit,
                "\(module): \(knot.sorted().joined(separator: ", ")) name each other's types")
        }
    }

    /// With all extensions.
    @Test func typesAreOfASizeToLiveIn() {
        var complaints = Complaints()
        defer { complaints.report() }
        for (module, files) in Self.modules {
            let spans = files.flatMap(\.typeSpans)
            let own = Set(spans.filter { $0.kind == .type }.map(\.name))
            for (name, parts) in Dictionary(grouping: spans, by: \.name) where own.contains(name) {
                let lines = parts.reduce(0) { $0 + $1.lines.count }
                if lines > 600 {
                    complaints.add("\(module): \(name) has \(lines) lines, more than 600")
                }
            }
        }
    }

    /// Records and options only store, and may have as many as they need.
    private static let manyProperties = [
        "ActiveSegment": 17, "YieldControl": 16,
    ]

    private static let records: Set<String> = [
        "BackgroundURLSessionTaskTransactionMetrics", "BundleRecord", "BundleSettings",
        "FetchState",
        "SetCommand", "StoredBundle", "StoredTask", "Transfer", "TransferChange", "TransferOptions",
        "TransferWork", "UploadOptions", "UploadState",
    ]

    @Test func typesOwnFewThings() {
        var complaints = Complaints()
        defer { complaints.report() }
        for span in Repository.sources.flatMap(\.typeSpans)
        where span.kind == .type && !Self.records.contains(span.name) {
            let limit = Self.manyProperties[span.name] ?? 15
            if span.storedProperties > limit {
                complaints.add(
                    "\(span.name) stores \(span.storedProperties) properties, more than \(limit)")
            }
        }
    }

    /// A file of a few lines is a public type, an entry point or the bounds that a module shares,
    /// or belongs into another room.
    @Test func fewFilesAreCrumbs() {
        let crumbs = Repository.sources.filter { file in
            file.lines.count < 40 && !contains(file.path, "/Limits")
                && !file.code.contains { contains($0, "public ") }
                && !file.code.contains { contains($0, "@main") || contains($0, "Command {") }
        }
        #expect(crumbs.count <= 5, "\(crumbs.map(\.path))")
    }

    /// A machine collects the consequences of an event in its frame. Only what extends a finished
    /// step is handed one.
    @Test func machinesCollectTheirStep() {
        let places = Repository.sources.flatMap { file in
            file.lines(with: "inout FetchStep").map(file.place)
        }
        #expect(places.count <= 3, "\(places)")
    }

    @Test func verbsMeanOneThing() {
        let limits = ["take": 1, "look": 2, "note": 3, "tell": 3, "handle": 3]
        for (verb, limit) in limits.sorted(by: { $0.key < $1.key }) {
            let places = Repository.sources.flatMap { file in
                file.lines(with: "func \(verb)(").map(file.place)
            }
            #expect(places.count <= limit, "\(verb) is the name of \(places.count) functions")
        }
    }

    /// Processes, types and files are no persons.
    @Test func commentsNameTheirSubject() {
        let persons: Set<Substring> = ["who", "whoever", "nobody", "somebody", "anybody"]
        var found = 0
        var comments = 0
        for file in Repository.sources {
            for line in file.lines where line.drop(while: { $0 == " " }).hasPrefix("//") {
                comments += 1
                found += line.lowercased().split(whereSeparator: { !$0.isLetter })
                    .count { persons.contains($0) }
            }
        }
        #expect(Double(found) * 1000 <= 5 * Double(comments), "\(found) in \(comments) lines")
    }

    @Test func linesOfDocumentsCanBeRead() {
        var found: [String: Int] = [:]
        for path in Repository.shared.files where path.hasPrefix("docs/") && path.hasSuffix(".md") {
            var isFenced = false
            for line in (Repository.shared.text(path) ?? "").split(separator: "\n") {
                if line.hasPrefix("```") { isFenced.toggle() }
                if !isFenced, !line.hasPrefix("|"), line.count > 120 {
                    found[path, default: 0] += 1
                }
            }
        }
        let total = found.values.reduce(0, +)
        #expect(total <= 2, "\(total) lines have more than 120 columns: \(found)")
    }

    /// What is impossible by our own code is said where it would be seen.
    @Test func invariantsAreAsserted() {
        for (module, least) in ["LonghaulCore": 3.0, "LonghaulEngine": 3.0] {
            let files = Self.modules[module] ?? []
            let lines = files.reduce(0) { $0 + $1.lines.count }
            let assertions = files.flatMap(\.code).count { line in
                ["precondition(", "preconditionFailure(", "assert(", "assertionFailure("]
                    .contains { contains(line, $0) }
            }
            #expect(
                Double(assertions) * 1000 >= least * Double(lines),
                "\(module): \(assertions) assertions in \(lines) lines")
        }
    }

    /// A bound that one file uses stands at the head of that file.
    @Test func boundsInLimitsAreShared() {
        let homes = Repository.sources.filter { contains($0.path, "/Limits") }
        let names = homes.flatMap(\.code).compactMap { line in
            line.split(separator: " ").drop { $0 != "static" }.dropFirst(2).first
                .map { $0.prefix { $0.isLetter || $0.isNumber } }
        }
        let files = (Repository.sources + Repository.tests).map { file in
            Set(file.code.joined(separator: " ").split { !$0.isLetter && !$0.isNumber })
        }
        // The file of the definition is one of them.
        let single = names.filter { name in files.count { $0.contains(name) } == 2 }
        #expect(single.count <= 35, "\(single.count) bounds of one file in Limits: \(single)")
    }
}

/// Which folders of a module name types that others of its folders define.
struct FolderGraph {
    private var edges: [String: Set<String>] = [:]

    /// The folders whose types each folder names.
    var uses: [String: Set<String>] { edges }

    init(_ files: [SourceFile]) {
        var homes: [String: Set<String>] = [:]
        for file in files {
            for span in file.typeSpans where span.kind == .type && !span.isPrivate {
                homes[span.name, default: []].insert(Self.folder(of: file))
            }
        }
        for file in files {
            let folder = Self.folder(of: file)
            let own = Set(file.typeSpans.filter(\.isPrivate).map(\.name))
            // A type nested in what the file declares may have the name of another folder's.
            for name in file.namedTypes.subtracting(own).subtracting(file.nestedTypes) {
                guard let home = homes[name], home.count == 1, let target = home.first,
                    target != folder
                else { continue }
                edges[folder, default: []].insert(target)
            }
        }
    }

    private static func folder(of file: SourceFile) -> String {
        file.path.split(separator: "/").dropFirst(2).dropLast().joined(separator: "/")
    }

    /// Folders that reach each other.
    var largestKnot: Set<String> {
        let reach = Dictionary(uniqueKeysWithValues: edges.keys.map { ($0, reached(from: $0)) })
        let knots = reach.map { folder, others in
            others.filter { reach[$0]?.contains(folder) == true }
        }
        return knots.max { $0.count < $1.count } ?? []
    }

    private func reached(from folder: String) -> Set<String> {
        var seen: Set<String> = []
        var open = Array(edges[folder] ?? [])
        while let next = open.popLast() {
            if seen.insert(next).inserted { open += edges[next] ?? [] }
        }
        return seen
    }
}
