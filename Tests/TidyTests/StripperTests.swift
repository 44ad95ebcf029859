import Testing

/// The rules are only as good as what they see.
@Suite struct StripperTests {
    @Test(arguments: [
        ("let a = 1 // try! this", "let a = 1 "),
        ("let a = \"fatalError(\"", "let a = \"\""),
        ("let a = \"a\\\"b // c\" + d", "let a = \"\" + d"),
        ("let a = \"x\\(f(\"y\", z))w\"; b", "let a = \"\"; b"),
        ("let a = #\"raw \" \\\"# + b", "let a = \"\" + b"),
        ("a /* b */ c", "a  c"),
        ("#expect(a)", "#expect(a)"),
        ("", ""),
    ])
    func line(line: String, code: String) {
        var stripper = Stripper()
        #expect(stripper.strip(line) == code)
    }

    @Test func severalLines() {
        let text = "let a = \"\"\"\n  try! { }\n  \"\"\"\nb /* c\nd\ne */ f"
        let file = SourceFile(path: "Sources/M/a.swift", text: text)
        #expect(file.code == ["let a = ", "", "", "b ", "", " f"])
    }

    @Test func imports() {
        let text = """
            import A
            internal import B
            @_exported public import C
            @testable import D
            import struct E.F
            let important = 1
            // import G
            """
        let file = SourceFile(path: "Sources/M/a.swift", text: text)
        #expect(file.imports == ["A", "B", "C", "D", "struct"])
    }

    @Test func functions() {
        let text = """
            struct A {
                func one() -> Int { 1 }
                func two(
                    a: Int
                ) {
                    if a > 1 {
                        b()
                    }
                }
                init?(x: Int) {
                    y = x
                }
                func requirement()
            }
            """
        let file = SourceFile(path: "Sources/M/a.swift", text: text)
        #expect(file.functions.map(\.name) == ["one", "two", "init"])
        #expect(file.functions.map(\.length) == [1, 7, 3])
    }
}
