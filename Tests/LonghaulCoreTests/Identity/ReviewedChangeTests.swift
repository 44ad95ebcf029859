import LonghaulCore
import Testing

/// Secrets that a change would show to others.
@Suite struct ReviewedChangeTests {
    private typealias Edit = @Sendable (inout TransferRequest) -> Void

    /// What a client says, and what becomes of the request by it.
    private func exposed(
        by change: Edit, of secret: Edit, url: String? = nil
    ) -> [String] {
        var before = TransferRequest(url: "https://a.example/f", destination: .file("/d/f"))
        secret(&before)
        var after = before
        var given = TransferRequest(url: "", destination: .file(""))
        change(&after)
        change(&given)
        if let url {
            after.url = url
            given.url = url
        }
        return ReviewedChange(before: before, after: after, given: given).exposedSecrets
    }

    private static let secrets: [(name: String, set: Edit)] = [
        ("user", { $0.options.user = "u:p" }),
        ("userFrom", { $0.options.userFrom = "/d/u" }),
        ("headersFrom", { $0.options.headersFrom = "/d/h" }),
        ("cookies", { $0.options.cookiesFrom = "/d/c" }),
        ("cert", { $0.options.clientCertificate = "/d/cert" }),
        ("key", { $0.options.clientKey = "/d/key" }),
        ("netrc", { $0.options.netrc = true }),
        ("the header Authorization", { $0.options.headers["Authorization"] = "Bearer x" }),
        ("the header X-Key", { $0.options.headers["X-Key"] = "x" }),
        ("the header Referer", { $0.options.headers["Referer"] = "https://p.example/?sig=1" }),
        (
            "the keys for S3",
            {
                $0.options.s3 = S3Access()
                $0.options.s3?.profile = S3Profile(
                    name: "p", credentialsFile: "/d/c", configFile: "/d/k")
            }
        ),
    ]

    private static let ways: [Edit] = [
        { $0.options.proxy = "http://proxy.example:1" },
        { $0.options.insecure = true },
        { $0.options.caCertificate = "/d/ca.pem" },
        { $0.options.mirrors = ["https://b.example/f"] },
    ]

    @Test(arguments: [
        "https://b.example/f", "http://a.example/f", "https://a.example:444/f", "odd",
    ])
    func anotherOriginGetsNoSecret(url: String) {
        for (name, secret) in Self.secrets {
            #expect(exposed(by: { _ in }, of: secret, url: url) == [name], "\(name)")
        }
    }

    @Test func anotherWayGetsNoSecret() {
        for (name, secret) in Self.secrets {
            for way in Self.ways { #expect(exposed(by: way, of: secret) == [name], "\(name)") }
        }
    }

    /// What is said again, or taken away, or is no secret.
    @Test func othersAreFree() {
        for (name, secret) in Self.secrets where name != "the keys for S3" {
            let again: Edit = {
                secret(&$0)
                $0.options.insecure = true
            }
            #expect(exposed(by: again, of: secret).isEmpty, "\(name)")
        }
        let url = "https://b.example/f"
        #expect(exposed(by: { $0.options.user = nil }, of: { $0.options.user = "u:p" }).isEmpty)
        for (field, value) in [("User-Agent", "x"), ("Accept", "*/*"), ("Referer", "https://p/")] {
            #expect(
                exposed(by: { _ in }, of: { $0.options.headers[field] = value }, url: url).isEmpty)
        }
        // The same origin, written in another way.
        let secret = Self.secrets[0].set
        for url in ["https://a.example/g", "HTTPS://A.example:443/f"] {
            #expect(exposed(by: { _ in }, of: secret, url: url).isEmpty, "\(url)")
        }
        #expect(exposed(by: { $0.options.limitRate = 1 }, of: secret).isEmpty)
        #expect(exposed(by: { $0.options.mirrors = ["https://a.example/g"] }, of: secret).isEmpty)
    }

    /// The signature of a stored URL is hidden, too.
    @Test func theURLIsASecret() {
        let signed: Edit = { $0.url = "https://a.example/f?X-Amz-Signature=abc" }
        for way in Self.ways {
            #expect(exposed(by: way, of: signed) == ["the URL's own"])
            #expect(exposed(by: way, of: { _ in }).isEmpty)
        }
        let mirror: Edit = { $0.options.mirrors = ["https://u:p@b.example/f"] }
        #expect(exposed(by: { $0.options.insecure = true }, of: mirror) == ["the URL's own"])
    }

    @Test(arguments: [
        (HTTPAuthentication.digest, HTTPAuthentication.basic, true), (.digest, .any, true),
        (.negotiate, .basic, true), (.basic, .digest, false), (.basic, .basic, false),
    ])
    func aPasswordStaysHidden(
        old: HTTPAuthentication, new: HTTPAuthentication, isExposed: Bool
    ) {
        let secret: Edit = {
            $0.options.user = "u:p"
            $0.options.authentication = old
        }
        let found = exposed(by: { $0.options.authentication = new }, of: secret)
        #expect(found == (isExposed ? ["user"] : []))
    }

    @Test func totalsHaveTheirNames() {
        let totals: [LifetimeTotal] = [
            .received, .sent, .attempts, .restarts, .failures(.notFound), .waits(.backoff),
        ]
        for total in totals { #expect(LifetimeTotal(name: total.name) == total) }
        for odd in ["", "odd", "waits.odd", "received.x", "failures"] {
            #expect(LifetimeTotal(name: odd) == nil, "\(odd)")
        }
    }
}
