import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import LonghaulCLI

@Suite struct JSONTextTests {
    private func quoted(_ text: String) -> String {
        var json = JSONText()
        json.value(text)
        return json.text
    }

    @Test(arguments: [
        ("plain", #""plain""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{1B}[31m", #""\u001b[31m""#), ("\u{7F}", #""\u007f""#), ("\u{9B}", #""\u009b""#),
        ("\u{202E}", #""\u202e""#), ("é读👍", #""é读👍""#), ("\u{E0041}", #""\udb40\udc41""#),
        ("\0", #""\u0000""#),
    ])
    func stringsDoNothingToATerminal(_ text: String, _ json: String) throws {
        #expect(quoted(text) == json)
        #expect(try JSONValue(json) == .string(text))
    }

    @Test func numbersThatAreNoneAreUnknown() {
        var json = JSONText()
        json.object {
            $0.field("a", Int64(rate: .infinity))
            $0.field("b", Int64(rate: .nan))
            $0.field("c", 1e300)
            $0.field("d", 0.25)
            $0.field("e", Int64.min)
        }
        #expect(json.text == #"{"a":null,"b":null,"c":null,"d":0.25,"e":-9223372036854775808}"#)
    }

    @Test func whatIsNoJSONIsHandedOnAsText() {
        var json = JSONText()
        json.object {
            $0.field("good", json: " [1, {\"a\" : null}] ")
            $0.field("bad", json: "{\"a\"")
            $0.field("none", json: nil)
        }
        #expect(json.text == #"{"good":[1,{"a":null}],"bad":"{\"a\"","none":null}"#)
    }
}

@Suite struct JSONScannerTests {
    @Test(arguments: [
        ("{}", "{}"), (" [ ] ", "[]"), ("[[],{}]", "[[],{}]"), ("null", "null"), ("true", "true"),
        ("-0.5e+10", "-0.5e+10"), ("0", "0"), ("100000000000000000000", "100000000000000000000"),
        (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#), (#""\ud83d\udc4d""#, #""👍""#),
        (#""\u0041\/""#, #""A/""#), ("\t[1 ,\r\n2]", "[1,2]"),
    ])
    func takesJSON(_ text: String, _ compact: String) throws {
        let result = String(decoding: try JSONScanner.compacted(text), as: UTF8.self)
        #expect(result == compact)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "01", "+1", "1.", ".5", "1e",
        "- 1", "nul", "nulll", "tru", "\"", "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "1 2", "[1}",
        "{\"a\" 1}", "NaN", "// c\n1", "\u{FEFF}1",
    ])
    func refusesEverythingElse(_ text: String) {
        #expect(throws: JSONProblem.self) { try JSONScanner.compacted(text) }
    }

    @Test func refusesWhatIsNestedTooDeeply() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSONScanner.compacted(nested(64))
        let problem = JSONProblem(message: "more than 64 levels of nesting", byte: 66)
        #expect(throws: problem) { try JSONScanner.compacted(nested(65)) }
        #expect(throws: problem) {
            try JSONScanner.compacted(String(repeating: "[", count: 1_000_000))
        }
    }

    /// No text, and not to be taken for another one. So some programs write names of files that
    /// are not UTF-8.
    @Test(arguments: [#""\ud83d!""#, #""caf\udce9""#, #""\udc4d\ud83d""#, #"["\ud83d"]"#])
    func aLoneSurrogateIsRefused(text: String) {
        #expect(throws: JSONProblem.self) { try JSONScanner.compacted(text) }
    }
}
