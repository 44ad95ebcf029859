import Testing

/// Files, lines and functions stay small enough to be read at once.
@Suite struct ShapeTests {
    private let sources = Repository.sources
    private let tests = Repository.tests

    @Test func theRepositoryIsFound() {
        #expect(sources.contains { $0.path == "Sources/LonghaulModel/Limits.swift" })
        #expect(tests.contains { $0.path == "Tests/TidyTests/ShapeTests.swift" })
    }

    @Test func files() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in sources where file.lines.count > 500 {
            complaints.add("\(file.path) has \(file.lines.count) lines, more than 500")
        }
        for file in tests where file.lines.count > 700 {
            complaints.add("\(file.path) has \(file.lines.count) lines, more than 700")
        }
    }

    @Test func mostFilesAreSmall() throws {
        let lengths = sources.map(\.lines.count).sorted()
        try #require(!lengths.isEmpty)
        #expect(lengths[lengths.count / 2] <= 150, "the median file is too long")
    }

    /// Characters, not bytes. A URL cannot be broken; text in a multi-line literal has some leeway.
    @Test func lines() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in sources + tests {
            for (index, line) in file.lines.enumerated() where line.utf8.count > 100 {
                let limit = file.isLiteralText(index) ? 120 : 100
                if line.count > limit && !contains(line, "://") {
                    complaints.add(
                        "\(file.place(index)) has \(line.count) columns, more than \(limit)")
                }
            }
        }
    }

    @Test func functions() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in sources + tests {
            for function in file.functions where function.length >= 70 {
                let place = file.place(function.line)
                complaints.add("\(place) \(function.name) has \(function.length) lines, 70 or more")
            }
        }
    }

    @Test func whiteSpace() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in sources + tests {
            for (index, line) in file.lines.enumerated() {
                if contains(line, "\t") { complaints.add("\(file.place(index)) has a tab") }
                if line.hasSuffix(" ") { complaints.add("\(file.place(index)) ends in a blank") }
            }
        }
    }

    /// Such names say nothing about what is inside, and so everything ends up there.
    @Test func names() {
        var complaints = Complaints()
        defer { complaints.report() }
        let banned = [
            "Utils", "Util", "Utilities", "Manager", "Helper", "Helpers", "Misc", "Common",
        ]
        for path in Repository.shared.files {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let stem = name.prefix { $0 != "." && $0 != "+" }
            for word in banned where stem.hasSuffix(word) {
                complaints.add("\(path): no file is called \(word)")
            }
        }
    }
}
