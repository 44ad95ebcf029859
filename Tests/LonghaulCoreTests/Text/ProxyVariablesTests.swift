import LonghaulCore
import Testing

@Suite struct ProxyVariablesTests {
    static let rows: [([String: String], String, String?, Bool)] = [
        ([:], "http://h/f", nil, false),
        (["http_proxy": "p"], "http://h/f", nil, true),
        (["http_proxy": ""], "http://h/f", nil, false),
        (["HTTP_PROXY": "p"], "http://h/f", nil, false),
        (["http_proxy": "p"], "https://h/f", nil, false),
        (["HTTPS_PROXY": "p"], "https://h/f", nil, true),
        (["ALL_PROXY": "p"], "sftp://h/f", nil, true),
        (["all_proxy": "p", "no_proxy": "a, h"], "http://h/f", nil, false),
        (["all_proxy": "p", "no_proxy": ".example.org"], "http://a.example.org/f", nil, false),
        (["all_proxy": "p", "no_proxy": "example.org"], "http://anexample.org/f", nil, true),
        (["all_proxy": "p", "NO_PROXY": "*"], "http://h/f", nil, false),
        (["all_proxy": "p"], "http://h/f", "", false),
        ([:], "http://h/f", "http://p", true),
        (["no_proxy": "h"], "http://h/f", "http://p", false),
    ]

    @Test(arguments: 0..<14) func row(row: Int) {
        let (variables, url, named, isProxied) = Self.rows[row]
        let read = ProxyVariables { variables[$0] }
        #expect(read.apply(to: url, named: named) == isProxied, "\(variables) \(url)")
    }
}
