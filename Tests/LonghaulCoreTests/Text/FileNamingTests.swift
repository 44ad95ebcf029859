import LonghaulCore
import Testing

@Suite struct FileNamingTests {
    @Test(arguments: [
        ("http://h/dir/file.iso", "file.iso"),
        ("http://h/dir/file.iso?x=/other", "file.iso"),
        ("http://h/dir/", "download"),
        ("http://h", "download"),
        ("http://h/a%20b.txt", "a b.txt"),
        ("http://h/%2e%2e%2fetc%2fpasswd", "passwd"),
        ("http://h/..", "download"),
        ("http://h/.", "download"),
        ("http://h/.bashrc", "bashrc"),
        ("http://h/%2E%2Ehidden", "hidden"),
        ("http://h/a%00b", "ab"),
        ("http://h/a%0Ab%1B%5B31m", "ab[31m"),
        ("http://h/x%E2%80%AEgpj.exe", "xgpj.exe"),
        ("http://h/na%C3%AFve.txt", "naïve.txt"),
        ("http://h/%FF%FE.bin", "%FF%FE.bin"),
        ("http://h/caf%e9.txt", "caf%E9.txt"),
        ("http://h/%C3%A9t%E9.txt", "ét%E9.txt"),
        // Two names in GBK, and one that ends in the middle of a character.
        ("http://h/%C4%E3%BA%C3.zip", "%C4%E3%BA%C3.zip"),
        ("http://h/%CA%C0%BD%E7.zip", "%CA%C0%BD%E7.zip"),
        ("http://h/a%E4%BD", "a%E4%BD"),
        ("http://h/a%2F%E9%2E.txt", "%E9..txt"),
        ("http://h/100%.txt", "100%.txt"),
        ("http://h/%20%20", "download"),
        ("http://h/a%5Cb.txt", "b.txt"),
        ("http://h/CON", "CON"),
        ("ftp://h/d/file;type=i", "file"),
        ("http://h/file;type=i", "file;type=i"),
    ])
    func fromURL(url: String, name: String) throws {
        #expect(FileNaming.name(from: try URLParts(url)) == name)
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\x.doc", "x.doc"),
        ("  . .. name ", "name"),
        ("a\u{202E}b\u{2066}c\u{200B}d\u{FEFF}", "abcd"),
        ("tab\there", "tabhere"),
        ("…", "…"),
        // One character each, which begins with a dot or a blank.
        (".\u{301}bashrc", "\u{301}bashrc"), (" \u{301}x", "\u{301}x"),
    ])
    func sanitised(name: String, safe: String) {
        #expect(FileNaming.sanitised(name) == safe)
    }

    /// A letter with so many marks is one character, which does not fit.
    @Test(arguments: ["", ".pdf", ".tar.gz"]) func aLongCharacterIsCut(suffix: String) throws {
        let letter = "a" + String(repeating: "\u{301}", count: 300)
        for name in [letter, letter + "b", "b" + letter] {
            let safe = try #require(FileNaming.sanitised(name + suffix))
            #expect(safe.utf8.first == name.utf8.first && safe.hasSuffix(suffix))
            #expect(safe.utf8.count <= Limits.fileNameBytes - Limits.fileNameDecorationBytes)
        }
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abc", 2, "ab"), ("abc", 0, ""), ("äb", 1, ""), ("aä", 2, "a"),
        ("a€", 3, "a"), ("a€", 4, "a€"), ("a😀b", 4, "a"), ("a😀b", 5, "a😀"), ("", 5, ""),
        ("abc", -1, ""), ("xe\u{301}", 2, "x"), ("e\u{301}x", 2, "e"),
        // Two of these are a flag.
        (String(repeating: "\u{1F1E9}", count: 100_000), 23, "🇩🇩🇩🇩"),
        ("a" + String(repeating: "\u{1F1E9}", count: 5), 16, "a🇩🇩"),
    ])
    func cutsBetweenCharacters(text: String, bytesMax: Int, prefix: String) {
        #expect(FileNaming.prefix(text, bytesMax: bytesMax) == prefix)
    }

    @Test(arguments: ["", ".", "..", "...", "/", "a/", "\u{0}", "\u{202E}", "   ", "./."])
    func nothingLeft(name: String) {
        #expect(FileNaming.sanitised(name) == nil)
    }

    /// Whatever comes in: what comes out is one component, fits with every decoration, and hides
    /// nothing.
    @Test(arguments: 0..<20) func anyName(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pieces = [
            "a", "/", "\\", ".", "..", " ", "\u{0}", "\u{1B}", "\u{202E}", "\u{7F}", "\u{85}", "ü",
            "👩‍👩‍👧", "e\u{301}", "\u{FFFD}", "-", "~", String(repeating: "n", count: 130), ".tar.gz",
        ]
        for _ in 0..<500 {
            let count = Int.random(in: 0...12, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random)! }.joined()
            guard let name = FileNaming.sanitised(text) else { continue }
            let context: Comment = "seed \(seed): \(text.debugDescription)"
            #expect(!name.isEmpty && !name.hasPrefix(".") && !name.contains("/"), context)
            #expect(!name.contains("\\") && name.utf8.count <= 220, context)
            #expect(TerminalText.shown(name) == name, context)
            #expect(FileNaming.sanitised(name) == name, context)
        }
    }

    @Test(
        arguments: zip(
            [
                "/d/a.iso", "/d/a.HTML", "/d/a", "/d.x/a", "/d/a.", "/d/.a", "/d/get.php",
                "/d/a.tar.gz",
            ],
            [true, false, false, false, false, true, false, true]))
    func pagesAreKnownByTheirNames(path: String, isNone: Bool) {
        #expect(FileNaming.isOfNoPage(path) == isNone)
    }

    /// Some file systems drop a blank or a dot at the end.
    @Test(arguments: [" ", ".", " . ", "\u{3000}", "\u{A0}."])
    func aNameThatIsCutEndsInNeitherBlankNorDot(end: String) throws {
        for length in 190...230 {
            let name =
                String(repeating: "n", count: length) + end + String(repeating: "m", count: 99)
            let safe = try #require(FileNaming.sanitised(name))
            let last = try #require(safe.unicodeScalars.last)
            #expect(last != "." && !last.properties.isWhitespace, "\(length)")
        }
    }

    @Test func longNamesKeepTheirExtension() throws {
        let long = String(repeating: "ü", count: 200) + ".tar.gz"
        let name = try #require(FileNaming.sanitised(long))
        #expect(name.hasSuffix("ü.tar.gz"))
        #expect(name.utf8.count == 219)
    }

    @Test(arguments: [
        ("report.pdf", 1, "report (1).pdf"), ("report", 12, "report (12)"),
        ("a.tar.gz", 2, "a (2).tar.gz"), (".profile", 1, ".profile (1)"),
        (".tar.gz", 1, ".tar (1).gz"), ("a.b.c", 3, "a.b (3).c"), ("a.", 1, "a (1)."),
        (
            "Vol. 1 of the very long story that never ended", 1,
            "Vol. 1 of the very long story that never ended (1)"
        ),
    ])
    func numbersBeforeTheEnding(name: String, number: Int, numbered: String) {
        #expect(FileNaming.numbered(name, number) == numbered)
    }
}
