import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What a server says of a refusal, as one line for people.
@Suite struct ServerWordsTests {
    private func head(_ status: Int = 403, _ fields: [String: String] = [:]) -> ResponseHead {
        var headers = HeaderFields()
        for (name, value) in fields { headers[name] = value }
        return ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
    }

    @Test(
        arguments: [
            ("quota is used up", "quota is used up"), ("\n  first line\r\nsecond\n", "first line"),
            (
                "<?xml version=\"1.0\"?>\n<Error><Code>A</Code>"
                    + "<Message>B &lt;c&gt;</Message></Error>",
                "A: B <c>"
            ),
            ("<Error><Code>Only</Code></Error>", "Only"),
            ("<html><head><title>Log in</title></head><body>x</body></html>", "Log in"),
            ("<!DOCTYPE html>\n<html><title>403 Forbidden</title></html>", nil),
            ("<d:error xmlns:d=\"DAV:\"><s:m>Too large</s:m><s:n>1</s:n></d:error>", "Too large 1"),
            ("{\n  \"error\": \"no such drive\"\n}", "{ \"error\": \"no such drive\" }"),
            ("a\u{1B}[2Jb\u{9B}c\u{202E}d", "a [2Jb c d"), ("wait; then again", "wait, then again"),
            ("", nil), (" \r\n", nil), ("GIF\u{0}89", nil), ("<html>no title</html>", nil),
            ("a &amp;lt; b", "a &amp,lt, b"), ("<a>a &amp;lt, b</a>", "a &lt, b"),
        ] as [(String, String?)])
    func theyAreRead(_ body: String, _ words: String?) {
        #expect(ServerWords.of(head(), Array(body.utf8)) == words)
    }

    @Test func theyAreBounded() throws {
        let long = String(repeating: "word ", count: 100_000)
        let words = try #require(ServerWords.of(head(), Array(long.utf8)))
        #expect(words.count <= Limits.answerWordsShown + 1 && words.hasSuffix("…"))
        let many = String(repeating: "<a>", count: 20_000)
        #expect(ServerWords.of(head(), Array(many.utf8)) == nil)
        #expect(ServerWords.of(head(403, ["Content-Encoding": "gzip"]), [0x61]) == nil)
    }

    /// Before the advice, so that both are found again.
    @Test func theyComeBeforeTheAdvice() {
        let failure = FailureTable.classify(upload: head())
        let quoting = failure.quoting(head(), Array("the owner; says no".utf8))
        #expect(quoting.error.parts.advice == failure.error.parts.advice)
        #expect(
            quoting.error.parts.what
                == "the server refuses the upload (403), saying: the owner, says no")
        let short = Failure(.transient, LonghaulError(.serverError, "it failed"))
        #expect(short.quoting(head(), [0x61]).error.message == "it failed, saying: a")
        #expect(short.quoting(nil, [0x61]) == short)
    }
}
