import LonghaulCore
import Testing

@Suite struct RedactionTests {
    @Test(arguments: [
        ("http://h/f", "http://h/f"),
        ("http://h/@scope/pkg?x=1&y=a@b", "http://h/@scope/pkg?x=1&y=a@b"),
        ("http://u:p@h/f", "http://REDACTED@h/f"),
        ("http://u@h:8080/f", "http://REDACTED@h:8080/f"),
        ("http://u:p@ss@h/f", "http://REDACTED@h/f"),
        ("ftp://u:p@h", "ftp://REDACTED@h"),
        ("http://u:pa/ss@h/f", "http://REDACTED@h/f"),
        ("http://u:p#x@h/f", "http://REDACTED@h/f"),
        ("http://h/a;jsessionid=12/b?x=1", "http://h/a;jsessionid=REDACTED/b?x=1"),
        ("http://h/a;v=1;sid=2?token=3", "http://h/a;v=1;sid=REDACTED?token=REDACTED"),
        ("http://h/a;v=1/b;c/d?x=1", "http://h/a;v=1/b;c/d?x=1"),
        (
            "https://b.s3/k?X-Amz-Date=1&X-Amz-Signature=abc&X-Amz-Credential=AK%2F1",
            "https://b.s3/k?X-Amz-Date=1&X-Amz-Signature=REDACTED&X-Amz-Credential=REDACTED"
        ),
        ("http://h/f?x-amz-security-TOKEN=1", "http://h/f?x-amz-security-TOKEN=REDACTED"),
        (
            "http://h/f?X-Goog-Signature=1&X-Goog-Date=2",
            "http://h/f?X-Goog-Signature=REDACTED&X-Goog-Date=2"
        ),
        ("http://h/f?Signature=1;sig=2", "http://h/f?Signature=REDACTED;sig=REDACTED"),
        ("http://h/f?access_token=a=b=c", "http://h/f?access_token=REDACTED"),
        ("http://h/f?token=&key=", "http://h/f?token=REDACTED&key=REDACTED"),
        ("http://h/f?X%2DAmz%2DSignature=1", "http://h/f?X%2DAmz%2DSignature=REDACTED"),
        ("http://h/f?keyboard=1&key=2", "http://h/f?keyboard=1&key=REDACTED"),
        ("http://h/f?token", "http://h/f?token"),
        ("http://h/f#access_token=1&x=2", "http://h/f#access_token=REDACTED&x=2"),
        ("http://h/f?a=1#token=2", "http://h/f?a=1#token=REDACTED"),
        ("no url at all", "no url at all"),
        ("", ""),
    ])
    func url(url: String, shown: String) {
        #expect(Redaction.url(url) == shown)
    }

    /// What storage services, content networks and programs call the part of a link that opens it.
    @Test(arguments: [
        // Amazon S3 and CloudFront.
        "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "AWSAccessKeyId",
        "Signature", "Policy", "Key-Pair-Id",
        // Google, Azure, Alibaba, Tencent.
        "X-Goog-Signature", "X-Goog-Credential", "GoogleAccessId", "resourcekey", "sig",
        "OSSAccessKeyId", "x-oss-credential", "auth_key", "sign", "txSecret", "wsSecret",
        // Akamai, Cloudflare, CDN77, nginx.
        "hdnts", "hdnea", "hdntl", "__token__", "__gda__", "verify", "secure", "md5",
        // Programs.
        "token", "tokens", "access_token", "accessToken", "download_token", "downloadtoken",
        "key", "apikey", "api-key", "apiKey", "x-api-key", "keyId", "passkey", "torrent_pass",
        "rlkey", "authkey", "tempauth", "auth", "oauth_verifier", "oauth_nonce", "Authorization",
        "nonce", "ticket", "jwt", "session", "session-id", "PHPSESSID", "jsessionid", "sid", "sas",
        "hmac", "client_secret", "password", "passwd", "passphrase", "pwd", "pw", "code", "otp",
        "credentials", "cookie", "bearer", "TOKEN", "user%5Btoken%5D", "%73ig",
    ])
    func aSecretByItsName(_ name: String) {
        #expect(
            Redaction.url("http://h/f?a=1&\(name)=hunter2&b=2")
                == "http://h/f?a=1&\(name)=REDACTED&b=2")
    }

    /// What a person wants to see of a link, and times and algorithms beside a signature.
    @Test(arguments: [
        "X-Amz-Date", "X-Amz-Expires", "X-Amz-Algorithm", "X-Amz-SignedHeaders", "X-Goog-Date",
        "X-Goog-SignedHeaders", "Expires", "expires", "st", "se", "sp", "sv", "sr", "spr", "skoid",
        "id", "uid", "page", "offset", "limit", "size", "sort", "q", "query", "search", "keyword",
        "keywords", "keyboard", "author", "authors", "authority", "passenger", "bypass", "compass",
        "design", "designer", "signup", "assign", "insight", "announce", "path", "file", "name",
        "user", "version", "versionId", "v", "format", "type", "lang", "download", "raw",
        "ref", "branch", "t", "e", "u", "x", "partNumber", "uploads", "response-content-type",
        "response-content-disposition", "rscd", "verified", "codec", "encode", "unicode", "country",
        "zipcode", "status", "state", "scope", "sha256", "width", "height", "quality", "dl", "alt",
    ])
    func whatIsShown(_ name: String) {
        let url = "http://h/f?\(name)=hunter2"
        #expect(Redaction.url(url) == url)
    }

    @Test func aQuestionMarkInAValue() {
        #expect(!Redaction.url("http://h/f?token=x?secret").contains("secret"))
    }

    @Test(arguments: [
        (
            "could not fetch 'http://u:p@h/f?token=t': no route",
            "could not fetch 'http://REDACTED@h/f?token=REDACTED': no route"
        ),
        (
            "see <https://u@h/> and (http://v@h/)",
            "see <https://REDACTED@h/> and (http://REDACTED@h/)"
        ),
        ("mail me@example.org, a=b", "mail me@example.org, a=b"),
        ("http://a/\nhttp://u:p@b/", "http://a/\nhttp://REDACTED@b/"),
        ("could not use u:p@h:3128, sorry", "could not use REDACTED@h:3128, sorry"),
        ("there is no file /a:b@c/d", "there is no file /a:b@c/d"),
        (
            "the proxy's name (Unsupported proxy syntax in 'u:p \"'x@h:1': bad); check it",
            "the proxy's name (Unsupported proxy syntax in 'REDACTED': bad); check it"
        ),
        ("nothing", "nothing"),
    ])
    func text(text: String, shown: String) {
        #expect(Redaction.text(text) == shown)
    }

    /// Whatever words the request's own secrets stand in.
    @Test(
        arguments: [
            ("bob:s3cret@h:99999", nil, "cannot use bob:s3cret@h:99999"),
            ("http://bob:s3 c\"r't@h", nil, "cannot use 'http://bob:s3 c\"r't@h'"),
            ("http://bob:s3%20cr@h", nil, "refused for 'bob:s3 cr'"),
            ("socks5h://s3cr3t@h", nil, "s3cr3t was refused"),
            ("http://h:1", "me:s3cret", "530 s3cret is wrong"),
            (nil, "me:s3", "530 me:s3 is wrong"),
        ] as [(String?, String?, String)])
    func itsOwnSecrets(proxy: String?, user: String?, words: String) {
        var connection = ConnectionSettings()
        connection.proxy = proxy
        connection.user = user
        let shown = Redaction.text(words, hidingSecretsOf: connection)
        #expect(!shown.contains("s3") && shown.contains("REDACTED"), "\(shown)")
        #expect(Redaction.text("no route to h", hidingSecretsOf: connection) == "no route to h")
    }

    /// A secret that is put anywhere it belongs never comes out, as URL or inside a sentence.
    @Test(arguments: 0..<20) func noSecretComesOut(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let secret = "hunter2"
        let hosts = ["h", "h:80", "[::1]", "h:bad", ""]
        let decorations = ["", "@", ":", "/", "?", "%40", "=", "ü"]
        let names = ["token", "SIG", "X-Amz-Signature", "client_secret", "Key", "x%2Dtoken"]
        for _ in 0..<500 {
            let host = hosts.randomElement(using: &random)!
            let noise = decorations.randomElement(using: &random)!
            let name = names.randomElement(using: &random)!
            let inUser = "http://u:\(noise)x\(secret)@\(host)/f"
            let inQuery = "http://\(host)/f?a=1&\(name)=\(secret)&b=2"
            for url in [inUser, inQuery] {
                #expect(!Redaction.url(url).contains(secret), "seed \(seed): \(url)")
                let sentence = "failed: \(url), sorry"
                #expect(!Redaction.text(sentence).contains(secret), "seed \(seed): \(sentence)")
            }
        }
    }
}

/// Values of fields that a server has sent.
@Suite struct FieldRedactionTests {
    @Test(arguments: [
        ("Location", "/f/a?sig=S&v=1", "/f/a?sig=REDACTED&v=1"),
        ("location", "http://me:x@h/f?token=S", "http://REDACTED@h/f?token=REDACTED"),
        ("Content-Location", "/f?X-Amz-Signature=S", "/f?X-Amz-Signature=REDACTED"),
        (
            "Link", "</a?sig=S>; rel=next, <http://h/b?key=S>; rel=\"x\"",
            "</a?sig=REDACTED>; rel=next, <http://h/b?key=REDACTED>; rel=\"x\""
        ),
        ("Link", "no brackets", "no brackets"),
        ("Refresh", "0; url=http://h/f?sig=S", "0; url=http://h/f?sig=REDACTED"),
        ("Set-Cookie", "sid=S; Path=/", "REDACTED"), ("Set-Cookie2", "S", "REDACTED"),
        ("Authorization", "Bearer S", "REDACTED"), ("X-Auth-Token", "S", "REDACTED"),
        ("X-API-Key", "S", "REDACTED"), ("Proxy-Authorization", "S", "REDACTED"),
        ("ETag", "\"a=b\"", "\"a=b\""), ("Content-MD5", "a==", "a=="),
        ("Repr-Digest", "sha-256=:a=:", "sha-256=:a=:"), ("Upload-Offset", "5", "5"),
    ])
    func valueOfAField(_ name: String, _ value: String, _ shown: String) {
        #expect(Redaction.value(value, ofField: name) == shown)
    }
}

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ([], ""), (Array("na\u{EF}ve".utf8), "na\u{EF}ve"), (Array("a\nb".utf8), "a\\u{A}b"),
        ([0x63, 0xE9, 0x2E, 0x78], "c\\xE9.x"), ([0xFF], "\\xFF"), ([0x00, 0x80], "\\u{0}\\x80"),
        // The beginning of a character at the end, half a surrogate pair, an overlong slash.
        ([0x61, 0xE2, 0x82], "a\\xE2\\x82"), ([0xED, 0xA0, 0x80, 0x61], "\\xED\\xA0\\x80a"),
        ([0xC0, 0xAF], "\\xC0\\xAF"), ([0xE2, 0x82, 0xC3, 0xA4], "\\xE2\\x82\u{E4}"),
    ])
    func bytes(bytes: [UInt8], shown: String) {
        #expect(TerminalText.shown(bytes: bytes) == shown)
    }

    @Test(arguments: [
        ("plain", "plain"),
        ("naïve — 漢字 👍", "naïve — 漢字 👍"),
        ("\u{1B}[31mred", "\\u{1B}[31mred"),
        ("a\r\nb\tc", "a\\u{D}\\u{A}b\\u{9}c"),
        ("\u{9B}31m", "\\u{9B}31m"),
        ("x\u{202E}gpj", "x\\u{202E}gpj"),
        ("\u{200B}\u{FEFF}", "\\u{200B}\\u{FEFF}"),
        ("\u{7F}", "\\u{7F}"),
        // Joiners within a word that is written with them, and in an emoji; nowhere else.
        ("می\u{200C}خواهم.pdf", "می\u{200C}خواهم.pdf"),
        ("क्\u{200D}ष", "क्\u{200D}ष"),
        ("👨\u{200D}👩\u{200D}👧 ❤\u{FE0F}\u{200D}🔥", "👨\u{200D}👩\u{200D}👧 ❤\u{FE0F}\u{200D}🔥"),
        ("pay\u{200D}pal", "pay\\u{200D}pal"),
        ("\u{200C}a م\u{200C}", "\\u{200C}a م\\u{200C}"),
        ("م\u{200C}\u{200C}م", "م\\u{200C}\\u{200C}م"),
    ])
    func shown(text: String, shown: String) {
        #expect(TerminalText.shown(text) == shown)
    }
}
