import LonghaulCore
import Testing

@Suite struct ProxyVariablesTests {
    @Test(
        arguments: [
            ([:], "http", nil),
            (["http_proxy": "p"], "http", "p"),
            (["http_proxy": ""], "http", nil),
            (["http_proxy": "", "all_proxy": "a"], "http", "a"),
            (["HTTP_PROXY": "p"], "http", nil),
            (["http_proxy": "p"], "https", nil),
            (["HTTPS_PROXY": "p"], "https", "p"),
            (["https_proxy": "p", "HTTPS_PROXY": "q", "all_proxy": "a"], "https", "p"),
            (["ALL_PROXY": "p"], "sftp", "p"),
            (["all_proxy": "p", "no_proxy": "a, h"], "http", nil),
            (["all_proxy": "p", "no_proxy": "", "NO_PROXY": "h"], "http", nil),
            (["all_proxy": "p", "no_proxy": "a", "NO_PROXY": "h"], "http", "p"),
        ] as [([String: String], String, String?)])
    func aVariable(variables: [String: String], scheme: String, proxy: String?) {
        let read = ProxyVariables { variables[$0] }
        #expect(read.proxy(scheme: scheme, host: "h") == proxy)
        #expect(
            read.isEmpty == !variables.keys.contains { key in
                key.lowercased() != "no_proxy" && key != "HTTP_PROXY" && variables[key] != ""
            })
    }

    /// What `curl` 7.88 does with them.
    @Test(
        arguments: [
            ("127.0.0.0/8", "127.0.0.1", true), ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1/0", "127.0.0.1", true), ("127.0.0.2/0", "127.0.0.1", false),
            ("128.0.0.0/1", "127.0.0.1", false), ("0.0.0.0/1", "127.0.0.1", true),
            ("127.0.0.1/32", "127.0.0.1", true), ("127.0.0.0/31", "127.0.0.1", true),
            ("127.0.0.1/33", "127.0.0.1", false), ("127.0.0.1/x", "127.0.0.1", true),
            ("127.0.0.2/x", "127.0.0.1", false), ("127.0.0.2/31x", "127.0.0.1", false),
            ("127.0.0.1/-1", "127.0.0.1", false), (".127.0.0.1", "127.0.0.1", false),
            ("0.0.1", "127.0.0.1", false), ("127.0.0.1:9", "127.0.0.1", false),
            ("*", "127.0.0.1", true), ("*,", "127.0.0.1", false), ("a,*", "h", false),
            ("a 127.0.0.1", "127.0.0.1", true), (" 127.0.0.1", "127.0.0.1", true),
            ("a ,127.0.0.1", "127.0.0.1", true), ("a,,127.0.0.1", "127.0.0.1", true),
            (",127.0.0.1", "127.0.0.1", true), ("\t127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.1.", true),
            ("::1", "::1", true), ("::1", "[::1]", true), ("[::1]", "[::1]", false),
            ("::/64", "::1", false), ("0::1", "::1", false), ("*", "[::1]", true),
            ("localhost", "localhost", true), ("LOCALHOST", "localhost", true),
            ("localhost.", "localhost", true), (".localhost", "localhost", true),
            ("..localhost", "localhost", false), ("localhost..", "localhost", false),
            ("localhost", "localhost.", true), ("localhost", "a.localhost", true),
            (".localhost", "a.localhost", true), ("ocalhost", "localhost", false),
            ("localhost:9", "localhost", false), ("*.localhost", "a.localhost", false),
            (".", "localhost", false), ("..", "localhost", false), (".", "localhost.", false),
            ("example.org", "anexample.org", false),
        ])
    func anException(exceptions: String, host: String, isExcepted: Bool) {
        let read = ProxyVariables { ["all_proxy": "p", "no_proxy": exceptions][$0] }
        #expect((read.proxy(scheme: "http", host: host) == nil) == isExcepted)
    }
}
