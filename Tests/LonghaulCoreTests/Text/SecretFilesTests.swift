import LonghaulCore
import Testing

/// The files of secrets, line by line.
@Suite struct SecretFilesTests {
    private func read(
        headers: String? = nil, user: String? = nil, cookies: String? = nil
    ) -> Result<RequestSecrets, SecretFileProblem> {
        let files = SecretFiles(
            headers: headers == nil ? nil : "h", user: user == nil ? nil : "u",
            cookies: cookies == nil ? nil : "c")
        let texts = ["h": headers, "u": user, "c": cookies]
        return Result { () throws(SecretFileProblem) in
            try files.secrets { path throws(SecretFileProblem) in texts[path] ?? nil }
        }
    }

    @Test(arguments: [
        (
            "Authorization: Bearer a:b\r\n\r\n# a comment\nX:  y ",
            ["Authorization=Bearer a:b", "X=y"]
        ),
        ("", []), ("\u{FEFF}A: b\n \t\nC: d", ["A=b", "C=d"]),
    ])
    func headers(_ text: String, _ expected: [String]) throws {
        #expect(
            try read(headers: text).get().fields.fields.map { "\($0.name)=\($0.value)" } == expected
        )
    }

    @Test(arguments: [("no colon", 1), ("A: b\nRange: bytes=0-", 2), ("\n\nX Y: z", 3)])
    func badHeaders(_ text: String, _ line: Int) {
        guard case .failure(.malformed("h", line: line, _)) = read(headers: text) else {
            Issue.record("\(text) is taken")
            return
        }
    }

    @Test(arguments: [
        ("me:a b:c\n", "me:a b:c"), ("\r\nme:\r\nmore", "me:"), ("\u{FEFF} \n\tme:a", "\tme:a"),
        ("\u{FEFF}me:a", "me:a"),
        // To Swift a colon with a mark is another character.
        ("me:\u{301}x\r\n", "me:\u{301}x"),
    ])
    func users(_ text: String, _ expected: String) throws {
        #expect(try read(user: text).get().user == expected)
    }

    @Test(arguments: ["", "\n", "me"])
    func badUsers(_ text: String) {
        guard case .failure(.malformed("u", _, _)) = read(user: text) else {
            Issue.record("\(text) is taken")
            return
        }
    }

    @Test(arguments: [
        (".Example.com\tTRUE\t/\tFALSE\t0\tn\tv", "www.example.COM", true),
        (".example.com\tTRUE\t/\tFALSE\t0\tn\tv", "example.com", true),
        ("example.com\tFALSE\t/\tFALSE\t0\tn", "example.com", true),
        ("example.com\tFALSE\t/\tFALSE\t0\tn\tv", "notexample.com", false),
        ("#HttpOnly_.example.com\tTRUE\t/\tFALSE\t0\tn\tv", "a.example.com", true),
    ])
    func cookies(_ line: String, _ host: String, _ isFor: Bool) throws {
        let cookies = try read(cookies: "# Netscape\n\n\(line)\n").get().cookies
        #expect(cookies.map { $0.mayGo(to: host) } == [isFor])
    }

    /// One odd line costs none of the others.
    @Test(arguments: [
        "odd\n.h\tTRUE\t/\tFALSE\t0\tn\tv", ".h\tTRUE\t/\tFALSE\t0\tn\tv\na b c\n\n",
        "\u{FEFF}.h\tTRUE\t/\tFALSE\t0\tn\tv\n\tTRUE\t/",
    ])
    func oddCookies(_ text: String) throws {
        #expect(try read(cookies: text).get().cookies.map { $0.mayGo(to: "h") } == [true])
    }

    @Test(arguments: [
        #"[{"name":"a"}]"#, "example.com TRUE / FALSE 0 n v", "\tTRUE\t/\tFALSE\t0\tn\tv",
    ])
    func badCookies(_ text: String) {
        guard case .failure(.malformed("c", line: 1, _)) = read(cookies: text) else {
            Issue.record("\(text) is taken")
            return
        }
    }

    @Test func whatIsMissingIsNamed() {
        let files = SecretFiles(user: "/none")
        #expect(throws: SecretFileProblem.missing("/none")) {
            try files.secrets { _ throws(SecretFileProblem) in nil }
        }
        #expect(SecretFileProblem.missing("/none").said == "there is no file /none")
    }
}
