import NIOHTTP1
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// What is admitted, by its header alone; and small rules of aria2's.
@Suite struct GatekeeperTests {
    private func verdict(
        _ fields: [(String, String)], secret: String? = nil, origins: Set<String> = [],
        isForPage: Bool = false
    ) throws -> Gatekeeper.Verdict {
        let keeper = Gatekeeper(
            secret: try secret.map { try Secret($0) }, allowedOrigins: origins)
        return keeper.verdict(HTTPHeaders(fields), proven: false, target: isForPage ? .page : .data)
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:6800", "127.0.0.1:6800", "[::1]:6800", "10.0.0.1", "a.localhost",
        "[2001:DB8::1]:6800", "127.0.0.2",
    ])
    func hostsOfItsOwn(host: String) throws {
        #expect(try verdict([("Host", host)]) == .admitted)
        #expect(
            try verdict([("Host", host), ("Origin", "http://" + host)]) == .admitted)
    }

    @Test(arguments: [
        "", "example.org", "127.0.0.1.example.org", "1.2.3.4.5", "[::1", "a:b", "127.evil.example",
        // Addresses that lead here, but that browsers do not count as local.
        "0.0.0.0", "0.0.0.0:6800", "0.1.2.3", "[::]", "[::]:6800", "[::ffff:127.0.0.1]:6800",
        "[::ffff:0.0.0.0]", "[::ffff:7f00:1]", "[::FFFF:192.168.1.2]", "[::127.0.0.1]",
        // No address in brackets, and spellings that only some resolvers know.
        "[anything]", "[]", "[127.0.0.1]", "[::1%25lo]", "[::1]x", "127.1", "0x7f.1", "0x7f.0.0.1",
        "0177.0.0.1", "2130706433", "127.0.0.01", "+127.0.0.1", "127.0.0.1:+80", "localhost:99999",
    ])
    func hostsOfOthers(host: String) throws {
        for isForPage in [false, true] {
            #expect(try verdict([("Host", host)], isForPage: isForPage) != .admitted)
        }
        #expect(try verdict([("Host", host)], secret: "abc", isForPage: true) != .admitted)
    }

    /// A link leads to the page, from wherever it is followed, and to nothing else.
    @Test(arguments: ["none", "same-origin", "same-site", "cross-site"])
    func linksOpenThePageAlone(site: String) throws {
        let fields = [("Host", "localhost:6800"), ("Sec-Fetch-Site", site)]
        let links: [[(String, String)]] = [
            [("Sec-Fetch-Mode", "navigate")], [("Sec-Fetch-Dest", "document")],
            [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")],
        ]
        for link in links {
            #expect(try verdict(fields + link, isForPage: true) == .admitted)
            #expect(try verdict(fields + link, secret: "abc", isForPage: true) == .admitted)
            #expect(try verdict(fields + link) != .admitted)
        }
        for frame in ["iframe", "frame", "embed", "object"] {
            for mode in ["navigate", "nested-navigate", "no-cors"] {
                let framed = [("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", frame)]
                #expect(try verdict(fields + framed, isForPage: true) != .admitted)
                #expect(try verdict(fields + framed) != .admitted)
            }
        }
    }

    @Test func theRemedyForAForeignNameIsNamed() throws {
        func reason(_ host: String, _ secret: String?) throws -> String {
            guard case .foreign(let reason) = try verdict([("Host", host)], secret: secret) else {
                return ""
            }
            return reason
        }
        #expect(try reason("NAS:6800", "abc").contains("--allow-origin http://nas:6800"))
        #expect(try reason("nas.lan", "abc").hasSuffix("--allow-origin http://nas.lan"))
        for host in ["0.0.0.0:6800", "a b", ""] {
            #expect(try !reason(host, "abc").contains("--allow-origin"), "\(host)")
        }
        #expect(try !reason("evil.example", nil).contains("--allow-origin"))
        let host = ("Host", "nas:6800")
        #expect(try verdict([host], origins: ["http://nas:6800"]) == .admitted)
        #expect(try verdict([host], origins: ["http://nas"]) == .admitted)
        #expect(try verdict([host], origins: ["http://nas2"]) != .admitted)
    }

    @Test(arguments: [
        ("https://ariang.example", "https://ariang.example"),
        ("HTTPS://AriaNg.Example/", "https://ariang.example"),
        (" https://a.example:443 ", "https://a.example"), ("http://a:80/", "http://a"),
        ("http://a:443", "http://a:443"), ("http://[::1]:8080/", "http://[::1]:8080"),
        ("moz-extension://0B1C-2d", "moz-extension://0b1c-2d"), ("*", "*"),
    ])
    func originsAsPeopleTypeThem(text: String, origin: String) throws {
        var options = ServeOptions(directories: ["/d"])
        try options.allow(origin: text)
        #expect(options.allowedOrigins == [origin])
        let sent = text.trimmingBlanks
        let found = try verdict(
            [("Host", "localhost"), ("Origin", sent)], origins: options.allowedOrigins)
        #expect(found == .admitted)
    }

    @Test(arguments: [
        "", "a.example", "https://", "https:a.example", "https://a.example/app", "https://u@a",
        "https://a?b", "https://a:x", "https://a:99999", "https://*.example", "https://a b",
        "https://\u{FC}.example", "null", "file://", "://a", "https://[::1", "https://a,https://b",
    ])
    func whatIsNotAnOrigin(text: String) {
        var options = ServeOptions(directories: ["/d"])
        let error = #expect(throws: LonghaulError.self) { try options.allow(origin: text) }
        #expect(error?.code == .invalidRequest)
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("[::1]:1", true), ("::1:1", true), ("localhost:1", true),
        ("127.3.4.5:1", true), ("1", true), ("0.0.0.0:1", false), ("[::]:1", false),
        ("10.0.0.1:1", false), ("[::ffff:127.0.0.1]:1", false),
    ])
    func addressesToListenAt(text: String, isLoopback: Bool) throws {
        var options = ServeOptions(directories: ["/d"])
        try options.listen(text)
        #expect(options.isLoopback == isLoopback && options.port == 1)
    }

    @Test(arguments: [
        "127.evil.example:1", "evil.example:1", "127.1:1", "0x7f.0.0.1:1", "[localhost]x:1", ":1",
        "[]:1", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1:+1", "",
    ])
    func whatIsNotAnAddress(text: String) {
        var options = ServeOptions(directories: ["/d"])
        let error = #expect(throws: LonghaulError.self) { try options.listen(text) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func aHostIsNamedOnce() throws {
        #expect(try verdict([]) != .admitted)
        #expect(try verdict([("Host", "localhost"), ("Host", "localhost")]) != .admitted)
    }

    @Test func secrets() throws {
        let host = ("Host", "localhost")
        #expect(try verdict([host], secret: "abc") == .unproven)
        #expect(
            try verdict([host, ("Authorization", "bearer abc")], secret: "abc") == .admitted)
        for wrong in ["", "ab", "abcabc", "abd", "abc "] {
            let found = try verdict([host, ("Authorization", "Bearer \(wrong)")], secret: "abc")
            #expect(found != .admitted, "\(wrong)")
        }
        #expect(throws: LonghaulError.self) { try Secret("") }
        // A wrong one is a guess, also where the body may have the right one.
        let keeper = Gatekeeper(secret: try Secret("abc"), allowedOrigins: [])
        let guess = HTTPHeaders([host, ("Authorization", "Bearer x")])
        #expect(keeper.verdict(guess, proven: true) == .disproven)
        #expect(keeper.verdict(guess, proven: false, target: .page) == .admitted)
    }

    @Test(arguments: [
        ("abc\n", "abc"), ("abc\r\n", "abc"), ("\u{FEFF}abc\r\nmore\r\n", "abc"), ("abc", "abc"),
        (" a b \t\n", "a b"), ("\u{FEFF}\n", ""), ("\r\nabc", ""), ("\u{E4}\r", "\u{E4}"),
    ])
    func firstLines(text: String, secret: String) {
        #expect(SecretFile.firstLine(of: Array(text.utf8)) == secret)
        #expect(SecretFile.firstLine(of: [0xFF, 0xFE, 0x61, 0]) == nil)
    }

    @Test func offsetsBelowZeroCountFromTheEnd() {
        let list = ["A", "B", "C", "D", "E"]
        #expect(RPCSlice.of(list, offset: 0, count: 2) == ["A", "B"])
        #expect(RPCSlice.of(list, offset: 3, count: 9) == ["D", "E"])
        #expect(RPCSlice.of(list, offset: -1, count: 2) == ["E", "D"])
        #expect(RPCSlice.of(list, offset: -4, count: 9) == ["B", "A"])
        #expect(RPCSlice.of(list, offset: -6, count: 1) == [])
        #expect(RPCSlice.of(list, offset: 0, count: -1) == [])
    }

    @Test(arguments: [
        ("/a/Video.mkv", "%video%", true), ("/a/b", "%b", true), ("/a/b", "b%", false),
        ("abc", "a_c", true), ("abc", "a_", false), ("", "%", true), ("aXbXc", "%x%c", true),
    ])
    func patterns(text: String, pattern: String, matches: Bool) throws {
        #expect(try LikePattern(pattern).matches(text) == matches)
    }

    @Test func gidsFollowFromIDsUnlessTheyAreChosen() throws {
        #expect(GID.text(TransferID(rawValue: 255), chosen: nil) == "00000000000000ff")
        for own in ["00000000000000ff", "ff", "000000ffffffffff"] {
            #expect(try GID(own).id?.rawValue == Int64(own, radix: 16))
            #expect(try GID(own).chosen == nil)
        }
        for chosen in ["0000010000000000", "FFFFFFFFFFFFFFFF"] {
            #expect(try GID(chosen).chosen == chosen.lowercased())
            #expect(try GID(chosen).id == nil)
            #expect(try GID.choice(chosen) == chosen.lowercased())
        }
        #expect(try GID("0").id == nil)
        for wrong in ["", "g", "-1", "00000000000000001"] {
            #expect(throws: LonghaulError.self) { try GID(wrong) }
            #expect(throws: LonghaulError.self) { try GID.choice(wrong) }
        }
        #expect(throws: LonghaulError.self) { try GID.choice("000000ffffffffff") }
    }
}
