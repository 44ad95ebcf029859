import Foundation
import Testing

/// Messages begin with a small letter, have no full stop, and say after a semicolon what to do.
@Suite struct MessageTests {
    /// What has its own rules: sentences of the help, which the parser's types are given.
    private static let help: Set<String> = [
        "Argument", "ArgumentHelp", "CommandConfiguration", "Flag", "Option", "OptionGroup",
    ]

    /// Text that is no message: labels of what is shown to people, words of other programs, and
    /// what systemd shows.
    private static let homes = [
        "Sources/Longhaul/Engine/SystemdNotifier.swift",
        "Sources/Longhaul/JSON/Transfer+JSON.swift",
        "Sources/LonghaulCLI/Commands/Status.swift",
        "Sources/LonghaulCLI/LonghaulCommand.swift",
        "Sources/LonghaulCLI/Rendering/TransferText.swift",
        "Sources/LonghaulCLI/Rendering/WhyText.swift",
        "Sources/LonghaulModel/Conditions/PowerSupply.swift",
        "Sources/LonghaulModel/Fields/RequestField+All.swift",
        "Sources/LonghaulCore/Installation/ServiceUnits.swift",
        "Sources/LonghaulModel/Retry/FailureTable+Curl.swift",
        "Sources/LonghaulModel/URLs/Redaction.swift",
        "Sources/LonghaulPlatform/Conditions/ConditionCommands.swift",
        // aria2's words.
        "Sources/LonghaulServe/RPC/RPCEndpoint.swift",
        "Sources/LonghaulServe/RPC/RPCParameters.swift",
    ]

    @Test func everyMessageIsWrittenAlike() {
        var complaints = Complaints()
        defer { complaints.report() }
        for file in Repository.sources where !Self.homes.contains(file.path) {
            for (line, text) in Self.sentences(of: file) {
                complaints.add("\(file.place(line)) has a message that is a sentence: \(text)")
            }
        }
    }

    /// A home that no longer needs its exception loses it.
    @Test func exceptionsAreNeeded() {
        for home in Self.homes {
            let file = Repository.sources.first { $0.path == home }
            #expect(file.map { Self.sentences(of: $0).isEmpty } == false, "\(home)")
        }
    }

    @Test(arguments: [
        (#"throw LonghaulError(.io, "The disk is full")"#, true),
        (#"throw LonghaulError(.io, "the disk is full.")"#, true),
        (#"throw LonghaulError(.io, "\(disk) is full. Free some")"#, true),
        (#"throw LonghaulError(.io, "URL \(url) is full; free some (e.g. with rm)")"#, false),
        (#"@Option(help: ArgumentHelp("Only these.", valueName: "What it is"))"#, false),
    ])
    func sentencesAreTold(line: String, isOne: Bool) {
        let file = SourceFile(path: "Sources/M/F.swift", text: line)
        #expect(Self.sentences(of: file).isEmpty != isOne)
    }

    private static func sentences(of file: SourceFile) -> [(line: Int, text: String)] {
        guard file.literals.contains(where: { isSentence($0.text) }) else { return [] }
        var found: [(line: Int, text: String)] = []
        var rest = file.literals[...]
        var calls: [String] = []
        var word = ""
        var isQuoted = false
        for character in file.code.joined(separator: "\n") {
            switch character {
            case "(":
                calls.append(word)
                word = ""
            case ")": _ = calls.popLast()
            case "\"":
                isQuoted.toggle()
                if isQuoted { continue }
                guard let literal = rest.popFirst() else { return found }
                if isSentence(literal.text), help.isDisjoint(with: calls) { found.append(literal) }
            case _ where character.isLetter: word.append(character)
            default: word = ""
            }
        }
        return found
    }

    private static func isSentence(_ text: String) -> Bool {
        guard text.contains(" "), let first = text.first else { return false }
        if ("A"..."Z").contains(first) {
            let next = text.dropFirst().first { !("a"..."z").contains($0) }
            if next == " " || next == "," { return true }
        }
        if text.hasSuffix("."), let last = text.dropLast().last,
            ("a"..."z").contains(last) || ")`%>".contains(last)
        {
            return true
        }
        var pieces = text.split(separator: ". ", omittingEmptySubsequences: false).dropFirst()
        return pieces.popFirst().map { piece in
            piece.first.map { ("A"..."Z").contains($0) || "`\\".contains($0) } ?? false
        } ?? false
    }
}
