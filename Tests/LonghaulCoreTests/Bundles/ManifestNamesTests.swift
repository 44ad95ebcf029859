import LonghaulCore
import Testing

/// Paths that a manifest may have, and patterns that choose them.
@Suite struct ManifestNamesTests {
    private func check(_ paths: [String], foldsCase: Bool = false) throws {
        let files = paths.map { ManifestFile(path: $0, url: "https://h/") }
        try ManifestNames.check(files, foldsCase: foldsCase)
    }

    @Test(arguments: [
        "", "/a", "..", "../a", "a/..", "a/../b", "./a", "a/.", "a//b", "a/", "a\nb", "a\u{7F}",
        "a\u{85}b", "\u{0}", String(repeating: "x", count: 256),
        Array(repeating: "abcdefghi", count: 300).joined(separator: "/"), "/\u{301}a",
    ])
    func aPathThatLeavesTheBundleIsRefused(_ path: String) throws {
        #expect(ManifestNames.problem(of: path) != nil)
        let error = try #require(throws: LonghaulError.self) { try check(["ok", path]) }
        #expect(error.code == .invalidManifest)
    }

    @Test(arguments: ["a", "...", "..a", "a/.b", "a\\b", " ", "-", "é/日本", "a..b/c"])
    func anOrdinaryPathIsAllowed(_ path: String) throws {
        #expect(ManifestNames.problem(of: path) == nil)
        try check(["ok", path])
    }

    @Test(arguments: [
        ["a", "a"], ["a", "a/b"], ["a/b/c/d", "x", "a/b"], ["a/b", "a/c", "a/b/c"],
    ])
    func twoFilesInOnePlaceAreRefused(_ paths: [String]) throws {
        for paths in [paths, paths.reversed()] {
            let error = try #require(throws: LonghaulError.self) { try check(paths) }
            #expect(error.code == .invalidManifest)
        }
    }

    @Test(arguments: [
        ["a/B", "A/b"], ["README", "readme"], ["é", "e\u{301}"], ["a", "A/b"],
    ])
    func namesThatAreOneOnTheDiskAreRefused(_ paths: [String]) throws {
        try check(paths)
        #expect(throws: LonghaulError.self) { try check(paths, foldsCase: true) }
    }

    @Test func neighboursAreAllowed() throws {
        try check(["a/b", "a.b", "a-", "ab", "A/b"])
        try check(["a/b", "A/c", "a.b"], foldsCase: true)
    }

    @Test func moreThanAMillionFilesAreRefused() throws {
        let file = ManifestFile(path: "a", url: "https://h/")
        let files = [ManifestFile](repeating: file, count: ManifestLimits.files + 1)
        let error = try #require(throws: LonghaulError.self) {
            try ManifestNames.check(files, foldsCase: false)
        }
        #expect(error.code == .tooLarge)
    }

    // MARK: - Patterns

    struct Row: CustomTestStringConvertible, Sendable {
        var glob: String
        var matches: [String]
        var others: [String]

        var testDescription: String { glob }
    }

    static let rows = [
        Row(glob: "*.json", matches: ["a.json", ".json"], others: ["b/a.json", "a.jsonl"]),
        Row(glob: "**/*.json", matches: ["a.json", "b/a.json", "b/c/a.json"], others: ["a.js"]),
        Row(glob: "**.json", matches: ["a.json", "b/c/a.json"], others: ["a"]),
        Row(glob: "a/**", matches: ["a/b", "a/b/c"], others: ["a", "ab/c"]),
        Row(glob: "a/", matches: ["a/b", "a/b/c"], others: ["a", "ab"]),
        Row(
            glob: "a/**/z", matches: ["a/z", "a/b/z", "a/b/c/z"], others: ["a/bz", "az", "a/z/x"]),
        Row(glob: "?.txt", matches: ["a.txt", "é.txt"], others: ["/.txt", ".txt", "ab.txt"]),
        Row(glob: "[a-cx].[!0-9]", matches: ["b.x", "x.-"], others: ["d.x", "a.5", "a./"]),
        Row(glob: "[]a]", matches: ["]", "a"], others: ["b"]),
        Row(glob: "[^/]", matches: ["a"], others: ["/"]),
        Row(glob: "\\*[*]", matches: ["**"], others: ["a*", "*"]),
        Row(glob: "a*b*c", matches: ["abc", "axxbyyc"], others: ["ab/c", "acb"]),
        Row(glob: "**", matches: ["a", "a/b"], others: []),
    ]

    @Test(arguments: rows) func aPatternMatchesTheWholePath(_ row: Row) throws {
        let globs = try GlobSet(include: [row.glob], exclude: [])
        for path in row.matches { #expect(globs.selects(path), "\(path)") }
        for path in row.others { #expect(!globs.selects(path), "\(path)") }
    }

    @Test func exclusionWins() throws {
        let globs = try GlobSet(include: ["**/*.bin", "*.md"], exclude: ["old/**"])
        #expect(globs.selects("a/b.bin"))
        #expect(globs.selects("README.md"))
        #expect(!globs.selects("old/b.bin"))
        #expect(!globs.selects("a.txt"))
        let rest = try GlobSet(include: [], exclude: ["*.md"])
        #expect(rest.selects("a.txt"))
        #expect(!rest.selects("README.md"))
    }

    @Test(arguments: ["", "[", "[]", "a[!", String(repeating: "a", count: 1_025)])
    func aBrokenPatternIsRefused(_ glob: String) throws {
        let error = try #require(throws: LonghaulError.self) {
            try GlobSet(include: [], exclude: [glob])
        }
        #expect(error.code == .invalidRequest)
    }

    /// Where ways are tried one after the other, this never ends.
    @Test func manyStarsAreNoTrap() throws {
        let globs = try GlobSet(
            include: [String(repeating: "*a**/", count: 40) + "b"], exclude: [])
        #expect(!globs.selects(String(repeating: "a", count: 500)))
    }
}
