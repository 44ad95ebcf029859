import Foundation

/// The files of the repository that this file stands in, read once.
struct Repository {
    static let shared = Repository()
    static let sources = shared.swift(under: "Sources")
    static let tests = shared.swift(under: "Tests")

    let root: URL
    /// Relative paths of all files under the folders below, sorted.
    let files: [String]

    private init() {
        root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        var found: [String] = []
        for folder in ["Sources", "Tests", "scripts", "docs", "Fixtures", ".ci"] {
            let base = root.appending(path: folder)
            guard let walk = FileManager.default.enumerator(atPath: base.path()) else { continue }
            for case let path as String in walk {
                var isDirectory: ObjCBool = false
                let full = base.appending(path: path).path(percentEncoded: false)
                if FileManager.default.fileExists(atPath: full, isDirectory: &isDirectory),
                    !isDirectory.boolValue
                {
                    found.append(folder + "/" + path)
                }
            }
        }
        for file in ["README.md", "CHANGELOG.md", "Package.swift"]
        where FileManager.default.fileExists(
            atPath: root.appending(path: file).path(percentEncoded: false))
        {
            found.append(file)
        }
        files = found.sorted()
    }

    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(
            atPath: root.appending(path: path).path(percentEncoded: false))
    }

    func text(_ path: String) -> String? {
        try? String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Every Swift file under a folder. The code that a tutorial shows belongs to no module.
    private func swift(under folder: String) -> [SourceFile] {
        let code = files.filter {
            $0.hasPrefix(folder + "/") && $0.hasSuffix(".swift") && !contains($0, ".docc/")
        }
        return code.compactMap { path in
            text(path).map { SourceFile(path: path, text: $0) }
        }
    }

    /// Names of the folders directly under `folder`.
    func folders(under folder: String) -> Set<String> {
        Set(
            files.filter { $0.hasPrefix(folder + "/") }.compactMap { path in
                let parts = path.split(separator: "/")
                return parts.count > 2 ? String(parts[1]) : nil
            })
    }
}

/// A Swift file, and its code without comments and the contents of string literals.
struct SourceFile {
    let path: String
    let lines: [String]
    /// As many as `lines`.
    let code: [String]
    /// For each `""` of the code what stands there, and in which line.
    let literals: [(line: Int, text: String)]
    private let allCode: String

    init(path: String, text: String) {
        self.path = path
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        self.lines = lines
        var stripper = Stripper()
        var literals: [(line: Int, text: String)] = []
        code = lines.indices.map { index in
            let line = stripper.strip(lines[index])
            literals += stripper.literals[literals.count...].map { (index, $0) }
            return line
        }
        self.literals = literals
        allCode = code.joined(separator: "\n")
    }

    /// Indices of the lines whose code has this in it.
    func lines(with part: String) -> [Int] {
        contains(allCode, part) ? code.indices.filter { contains(code[$0], part) } : []
    }

    /// Whether a line stands inside a multi-line string literal.
    func isLiteralText(_ index: Int) -> Bool {
        code[index].isEmpty && !lines[index].drop { $0 == " " }.hasPrefix("//")
    }

    var module: String { String(path.split(separator: "/")[1]) }

    /// Where a line is, in the form that editors open.
    func place(_ index: Int) -> String { "\(path):\(index + 1)" }

    /// The modules that the file imports.
    var imports: [String] {
        code.compactMap { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                words[..<index].allSatisfy({ word in
                    word.hasPrefix("@")
                        || ["public", "package", "internal", "private", "fileprivate"]
                            .contains(word)
                })
            else { return nil }
            return String(words[index + 1].prefix { $0 != "." })
        }
    }
}

/// Whether a text has this in it. strstr(3), because these tests read every file many times.
func contains(_ text: String, _ part: String) -> Bool {
    text.withCString { text in part.withCString { strstr(text, $0) != nil } }
}
