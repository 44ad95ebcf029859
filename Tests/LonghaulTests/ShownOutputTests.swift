import Testing

@testable import Longhaul

/// Nothing secret of what a host writes is shown.
@Suite struct ShownOutputTests {
    @Test(arguments: [
        ("done\nwith all\n", "done\nwith all\n"), ("", ""),
        // An answer as documented.
        (
            #"{"transfer":1,"action":"use","url":"http://me:SECRET@h/f?a=1&token=SECRET","#
                + #""headers":{"Authorization":"Bearer SECRET","X":["SECRET"]}}"#,
            #"{"transfer":1,"action":"use","url":"http://REDACTED@h/f?a=1&token=REDACTED","#
                + #""headers":{"Authorization":"REDACTED","X":["REDACTED"]}}"#
        ),
        // Escapes hide nothing.
        (
            #"{ "url" : "http:\/\/me:SECRET@h\/?a=1\u0026sig=SECRET" }"# + "\r",
            #"{"url":"http://REDACTED@h/?a=1&sig=REDACTED"}"#
        ),
        (#"{"a":[{"headers":"SECRET"}]}"#, #"{"a":[{"headers":"REDACTED"}]}"#),
        (#"now {"url":"http://me:SECRET@h/"}"#, #"now {"url":"http://REDACTED@h/"}"#),
        // No JSON, and parts of it.
        (#"{"transfer":1,"url":"http://h/?x=1","headers":{"A":"SECR"#, "REDACTED"),
        ("…ECRET\"}}\nnext", "…REDACTED\nnext"),
        ("…ET\",\"headers\":{\"A\":\"SECRET\"}}", "…REDACTED"),
        ("…the end", "…the end"), ("{not json}", "{not json}"),
        ("I try http://me:SECRET@h/?token=SECRET", "I try http://REDACTED@h/?token=REDACTED"),
    ])
    func aLine(output: String, shown: String) {
        #expect(ShownOutput.text(output) == shown)
    }

    @Test func anArgument() {
        let argv = ["/bin/h", "--base=http://me:SECRET@h/", "plain"]
        #expect(
            ShownOutput.arguments(argv) == ["/bin/h", "--base=http://REDACTED@h/", "plain"])
    }
}
