import Foundation
import Testing

/// Calls that hide a crash, a clock, chance or the outside world, and words that promise to tidy up
/// later.
@Suite struct WordTests {
    private struct Rule {
        var word: String
        /// Files or folders, by prefix, in which it is banned.
        var banned: [String]
        /// Files, by path, in which it is at home.
        var home: [String] = []
    }

    private static let decided = ["Sources/LonghaulModel/", "Sources/LonghaulCore/"]
    private static let pure = decided + ["Sources/LonghaulEngine/"]

    private static let rules = [
        Rule(word: "try!", banned: ["Sources/"]),
        Rule(word: "fatalError(", banned: ["Sources/"]),
        Rule(word: "Date()", banned: ["Sources/"]),
        Rule(
            word: "FileManager", banned: ["Sources/"],
            home: [
                "Sources/LonghaulTesting/EngineParts.swift",
                "Sources/feedreader/FeedDatabase.swift", "Sources/feedreader/FeedReader.swift",
                "Sources/photofetch/PhotoFetch.swift", "Sources/photosync/PhotoSync.swift",
                "Sources/LonghaulURLSession/BackgroundURLSession+Async.swift",
                "Sources/LonghaulURLSession/Challenge.swift",
                "Sources/LonghaulURLSession/OpenSession+Events.swift",
                "Sources/LonghaulURLSession/OpenSession.swift",
            ]),
        Rule(
            word: "SystemRandomNumberGenerator",
            banned: pure),
        Rule(
            word: "ContinuousClock", banned: pure),
        Rule(word: "Task.sleep", banned: pure),
        Rule(
            word: "getenv(", banned: ["Sources/"],
            home: [
                "Sources/LonghaulPlatform/Paths/Environment.swift",
                "Sources/LonghaulTransport/Curl/CurlGlobal.swift",
            ]),
        Rule(
            word: "print(", banned: ["Sources/"], home: ["Sources/photofetch/PhotoFetch.swift"]),
        Rule(word: "unsafeBitCast(", banned: pure),
        Rule(word: "@unchecked", banned: decided),
        Rule(
            word: "nonisolated(unsafe)", banned: decided,
            home: ["Sources/LonghaulModel/Values/CopyOnWrite.swift"]),
    ]

    private let all = Repository.sources + Repository.tests

    @Test func bannedCalls() {
        var complaints = Complaints()
        defer { complaints.report() }
        for rule in Self.rules {
            for file in all
            where rule.banned.contains(where: file.path.hasPrefix) && !rule.home.contains(file.path)
            {
                for index in file.lines(with: rule.word)
                where isWord(rule.word, in: file.code[index]) {
                    complaints.add("\(file.place(index)) uses \(rule.word)")
                }
            }
        }
    }

    /// A home that no longer needs its exception loses it.
    @Test func exceptionsAreNeeded() {
        for rule in Self.rules {
            for home in rule.home {
                let file = all.first { $0.path == home }
                #expect(file?.lines(with: rule.word).isEmpty == false, "\(home)")
            }
        }
    }

    /// Members and variables have the field's words, as types do.
    @Test func leftOverNames() {
        var complaints = Complaints()
        defer { complaints.report() }
        let names: Set<Substring> = [
            "attendant", "stay", "presence", "laneNeeds", "isLyingDown", "liesDown", "getsUp",
            "obey", "wish", "roster",
        ]
        for file in Repository.sources {
            for (index, line) in file.code.enumerated() {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                for word in words where names.contains(word) {
                    complaints.add("\(file.place(index)) names something \(word)")
                }
            }
        }
    }

    /// Chance is a parameter.
    @Test func randomness() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in all
        where ["LonghaulModel", "LonghaulCore", "LonghaulEngine"].contains(file.module) {
            let draws = [".random(", ".randomElement(", ".shuffled("]
            for index in draws.flatMap(file.lines) {
                let call = file.code[index..<min(index + 3, file.code.count)].joined()
                if !contains(call, "using:") {
                    complaints.add("\(file.place(index)) draws from nowhere")
                }
            }
        }
    }

    @Test func noPromises() {
        var complaints = Complaints()
        defer { complaints.report() }
        let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
        for path in Repository.shared.files {
            guard let text = Repository.shared.text(path),
                words.contains(where: { contains(text, $0) })
            else { continue }
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
                .enumerated()
            {
                for word in words where isWord(word, in: String(line)) {
                    complaints.add("\(path):\(index + 1) says \(word)")
                }
            }
        }
    }

    /// As a word of its own: `blueprint(` is no `print(`.
    private func isWord(_ word: String, in line: String) -> Bool {
        var rest = Substring(line)
        while let range = rest.range(of: word) {
            let before = line[..<range.lowerBound].last
            let after = line[range.upperBound...].first
            let startsWord = before.map { !$0.isLetter && !$0.isNumber && $0 != "_" } ?? true
            let endsWord =
                !(word.last?.isLetter ?? false)
                || (after.map { !$0.isLetter && !$0.isNumber } ?? true)
            if startsWord && endsWord { return true }
            rest = rest[range.upperBound...]
        }
        return false
    }
}
