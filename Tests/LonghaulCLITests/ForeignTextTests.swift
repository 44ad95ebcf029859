import LonghaulTestSupport
import Testing

/// What is not UTF-8 cannot be kept as text: it is refused where it stands, and nothing is done
/// somewhere else instead.
@Suite struct ForeignTextTests {
    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    /// As a shell would run it in `files`: `longhaul` is the command, and `$'\xe9'` a byte.
    private func shell(_ script: String) async throws -> CLIProcess.Result {
        try await CLIProcess.run(
            "/bin/bash", ["-c", "longhaul() { \"$COMMAND\" \"$@\"; }\n" + script],
            environment: home.with(["COMMAND": try BuiltBinary.longhaul]).environment,
            directory: home.scratch("files"))
    }

    /// Nothing was recorded, and nothing was made.
    private func expectNothingDone() async throws {
        #expect(try await home.run("list", "--all", "--json").output.isEmpty)
        #expect(try await shell("ls -A").output.isEmpty)
    }

    @Test(arguments: [
        (#"enqueue http://127.0.0.1:9/f -o $'caf\xe9.bin'"#, #"'caf\xE9.bin'"#),
        (#"enqueue http://127.0.0.1:9/f -d $'d\xe9'"#, #"'d\xE9'"#),
        (#"enqueue http://127.0.0.1:9/f --directory=$'d\xe9\n'"#, #"'--directory=d\xE9\u{A}'"#),
        (#"get $'http://127.0.0.1:9/\xe9'"#, #"'http://127.0.0.1:9/\xE9'"#),
        (#"enqueue $'http://me:hunter\xe9@127.0.0.1:9/'"#, "REDACTED@127.0.0.1:9/"),
        (#"enqueue http://h/ --user $'me:hunter\xe9'"#, "the value of --user"),
        (#"enqueue http://h/ --header=$'K: hunter\xe9'"#, "the value of --header"),
        (#"enqueue --input $'\xe9'"#, #"'\xE9'"#), (#"$'caf\xe9'"#, #"'caf\xE9'"#),
        (#"list --session $'\xff'"#, #"'\xFF'"#), (#"pause $'\xe9'"#, #"'\xE9'"#),
        (#"session set s $'--h\xe9'"#, #"'--h\xE9'"#), (#"run $'\xed\xa0\x80'"#, #"\xED\xA0\x80"#),
        (#"host add h -- /bin/true $'\xe9'"#, #"'\xE9'"#), (#"--help $'\xe9'"#, #"'\xE9'"#),
    ])
    func anArgument(words: String, shown: String) async throws {
        let result = try await shell("longhaul \(words)")
        #expect(result.status == 64 && result.output.isEmpty)
        #expect(result.errors.contains(shown), "\(result.errors)")
        #expect(result.errors.contains("not UTF-8") && !result.errors.contains("hunter"))
        try await expectNothingDone()
    }

    @Test func anArgumentAsJSON() async throws {
        let result = try await shell(#"longhaul enqueue --json http://h/ -o $'caf\xe9'"#)
        #expect(result.status == 64 && result.errors.isEmpty)
        let error = try #require(try result.rows.last?["error"])
        #expect(error["code"] == .string("invalidRequest"))
        #expect(error["message"].string?.contains(#"caf\xE9"#) == true)
    }

    @Test(arguments: [
        ("LONGHAUL_HOME", "", 73), ("XDG_STATE_HOME", "unset LONGHAUL_HOME;", 73),
        ("HOME", "unset LONGHAUL_HOME; export XDG_CONFIG_HOME=$PWD", 73),
        ("LONGHAUL_CONFIG", "", 64),
        ("XDG_CONFIG_HOME", "", 64), ("HOME", "", 64),
    ])
    func aVariableThatNamesADirectory(name: String, first: String, status: Int) async throws {
        let result = try await shell(
            "\(first)\nexport \(name)=$PWD/$'caf\\xe9'; longhaul enqueue http://127.0.0.1:9/f")
        #expect(Int(result.status) == status, "\(result.output)\(result.errors)")
        #expect(result.errors.contains(name) && result.errors.contains(#"/caf\xE9'"#))
        try await expectNothingDone()
    }

    /// Who has a home that cannot be named says where things are to be.
    @Test func aVariableThatIsNotNeeded() async throws {
        let result = try await shell(
            #"HOME=$'/caf\xe9' XDG_CONFIG_HOME=$PWD longhaul enqueue http://127.0.0.1:9/f"#)
        #expect(result.status == 0 && result.output == "1\n", "\(result.errors)")
    }

    @Test func theCurrentDirectory() async throws {
        let result = try await shell(
            #"mkdir $'d\xe9' && cd $'d\xe9' && longhaul enqueue http://127.0.0.1:9/f -o x"#)
        #expect(result.status == 64)
        #expect(result.errors.contains(#"/d\xE9'"#), "\(result.errors)")
        #expect(try await home.run("list", "--all", "--json").output.isEmpty)
        let relative = try await shell(
            #"cd $'d\xe9' && LONGHAUL_HOME=state longhaul list; ls -A"#)
        #expect(relative.errors.contains(#"/d\xE9'"#) && relative.output.isEmpty)
    }

    @Test(arguments: [
        (#"http://127.0.0.1:9/\xe9"#, 1), (#"http://127.0.0.1:9/a\n\thttp://m/\xe9"#, 2),
        (#"http://127.0.0.1:9/a\n out=caf\xe9"#, 2), (#"# caf\xe9\n\n dir=\xe9\n"#, 3),
        (#"http://127.0.0.1:9/a\n header=K: hunter\xe9"#, 2),
        (#"{"url":"http://127.0.0.1:9/a"}\n{"url":"http://127.0.0.1:9/\xe9"}"#, 2),
        (#"{"url":"http://127.0.0.1:9/a","destination":"caf\xe9"}"#, 1),
        (#"{"url":"http://127.0.0.1:9/a","destination":"\\u0041\xe9"}"#, 1),
        (#"{"url":"http://127.0.0.1:9/a","meta":["\xe9"]}"#, 1),
        (#"{"url":"http://127.0.0.1:9/a","\xe9":1}"#, 1),
    ])
    func aLineOfABatch(text: String, line: Int) async throws {
        let result = try await shell("printf '\(text)' | longhaul enqueue -")
        #expect(result.status == 64, "\(result.output)\(result.errors)")
        #expect(result.errors.contains("line \(line): "), "\(result.errors)")
        #expect(result.errors.contains("not UTF-8") && !result.errors.contains("hunter"))
        try await expectNothingDone()
    }

    /// Nobody keeps a comment.
    @Test func aCommentOfABatch() async throws {
        let result = try await shell(
            #"printf '# caf\xe9\nhttp://127.0.0.1:9/a\n' | longhaul enqueue -"#)
        #expect(result.status == 0 && result.output == "1\n", "\(result.errors)")
    }

    @Test func aFileOfHeaders() async throws {
        let result = try await shell(
            #"printf 'A: b\nK: hunter\xe9\n' >../headers"#
                + "; longhaul enqueue http://127.0.0.1:9/f --header @../headers")
        #expect(result.status == 64 && result.errors.contains("line 2"), "\(result.errors)")
        #expect(result.errors.contains("not UTF-8") && !result.errors.contains("hunter"))
        try await expectNothingDone()
    }
}
