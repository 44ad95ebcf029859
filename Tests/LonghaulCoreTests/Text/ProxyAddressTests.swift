import LonghaulCore
import Testing

@Suite struct ProxyAddressTests {
    @Test(arguments: [
        "", "h", "h:3128", "http://h:3128", "HTTPS://h", "http://h:3128/", "socks4://10.0.0.1:1080",
        "socks://h", "socks4a://h:65535", "socks5://[::1]:1080", "socks5h://[fe80::1%25eth0]",
        "socks5h://localhost/run/socks", "bob:s3cret@h:1", "http://bob:s3%2Fc%zz@h:1",
        "http://bob:s3\"c'r^t@h:1", "http://bob:s@cret@h", "http://b\u{FC}cher.example:1",
    ])
    func good(text: String) {
        #expect(throws: Never.self) { try ProxyAddress.check(text) }
    }

    @Test(arguments: [
        ("127.0.0.1:3128", true), ("socks5://[::1]:1080", true), ("http://u:p@localhost:8", true),
        ("socks5h://localhost/run/socks", true), ("http://h:3128", false), ("", false),
    ])
    func isOfThisMachine(text: String, isLoopback: Bool) {
        #expect(ProxyAddress.isLoopback(text) == isLoopback)
    }

    @Test(
        arguments: [
            ("foo://bob:s3cret@h:1", .unsupportedScheme), ("ftp://h:1", .unsupportedScheme),
            ("://h", .unsupportedScheme),
            ("http://", .missingHost), ("http://bob:s3cret@", .missingHost),
            ("http://:3128", .missingHost),
            ("bob:s3cret@h:99999", .badPort), ("http://h:0", .badPort), ("h:port", .badPort),
            ("http://[::1", .badHost), ("http://h\\:1", .badHost),
            ("http://bob:s3cr t@h:1", .badCharacter), ("bob:s3cr%00t@h:1", .badCharacter),
            ("bob:s3cr\n@h:1", .badCharacter),
            ("http://bob:s3cr/t@h:1", .badUser), ("bob:s3cr#t@h:1", .badUser),
            ("http://bob:1?s3cret@h:1", .badUser), ("bob:p://s3cret@h", .badUser),
            (String(repeating: "h", count: 100_000), .tooLong),
        ] as [(String, ProxyProblem)])
    func bad(text: String, problem: ProxyProblem) {
        #expect(throws: problem) { try ProxyAddress.check(text) }
        #expect(!"\(problem)".contains("s3c"))
    }
}
