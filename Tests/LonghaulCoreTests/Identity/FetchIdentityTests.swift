import LonghaulCore
import Testing

@Suite struct FetchIdentityTests {
    private func identity(_ edit: (inout TransferRequest) -> Void) -> FetchIdentity? {
        var request = TransferRequest(url: "https://h/f", destination: .file("/d/f"))
        edit(&request)
        return FetchIdentity(request)
    }

    private static let sum = Checksum(algorithm: .md5, hex: String(repeating: "a", count: 32))

    /// Each of these makes it another request.
    static let decisive: [(String, @Sendable (inout TransferRequest) -> Void)] = [
        ("another path", { $0.url = "https://h/g" }),
        ("Accept", { $0.options.headers["Accept"] = "text/html" }),
        ("Accept-Language", { $0.options.headers["Accept-Language"] = "de" }),
        ("Cookie", { $0.options.headers["Cookie"] = "a=1" }),
        ("Authorization", { $0.options.headers["Authorization"] = "Bearer x" }),
        ("a field of its own", { $0.options.headers["X-Tenant"] = "7" }),
        ("user", { $0.options.user = "u:p" }),
        ("user information", { $0.url = "https://u:p@h/f" }),
        ("netrc", { $0.options.netrc = true }),
        ("proxy", { $0.options.proxy = "http://proxy" }),
        (
            "proxy of the environment",
            { $0.options.proxyVariables = ProxyVariables { _ in "http://proxy" } }
        ),
        ("trust", { $0.options.caCertificate = "/ca.pem" }),
        ("no trust at all", { $0.options.insecure = true }),
        ("no private addresses", { $0.options.privateAddresses = .refuse }),
        ("client certificate", { $0.options.clientCertificate = "/c.pem" }),
        ("client key", { $0.options.clientKey = "/k.pem" }),
        ("digest", { $0.options.checksum = sum }),
        ("largest size", { $0.options.maxSize = 10 }),
        ("mirror", { $0.options.mirrors = ["http://m/f"] }),
        ("an upload", { $0.options.upload = UploadOptions() }),
        (
            "another file",
            { request in
                request.options.upload = UploadOptions()
                request.destination = .file("/d/g")
            }
        ),
        (
            "a form",
            { request in
                request.options.upload = UploadOptions()
                request.options.upload?.formField = "f"
            }
        ),
    ]

    @Test func whatMakesAnother() throws {
        let plain = try #require(identity { _ in })
        var seen: Set<FetchIdentity> = [plain]
        for (what, edit) in Self.decisive {
            let other = try #require(identity(edit))
            #expect(seen.insert(other).inserted, "\(what)")
        }
    }

    /// None of these does.
    static let ownAffairs: [(String, @Sendable (inout TransferRequest) -> Void)] = [
        ("spelling", { $0.url = "HTTPS://H:443/x/../f#top" }),
        ("destination", { $0.destination = .file("/elsewhere/g") }),
        ("session", { $0.session = "s" }),
        ("priority", { $0.priority = .low }),
        ("discretionary", { $0.isDiscretionary = true }),
        ("window", { $0.schedule.windows = TimeWindows(parsing: "01:00-06:00") }),
        ("earliest", { $0.earliestBegin = Timestamp(milliseconds: 1) }),
        ("deadline", { $0.deadline = .after(seconds: 1) }),
        ("expected size", { $0.expectedBytes = 5 }),
        ("rate", { $0.options.limitRate = 5 }),
        ("connections", { $0.options.connections = .exactly(2) }),
        ("retries", { $0.options.retries = 2 }),
        ("stall", { $0.options.stallTimeout = 2 }),
        ("if exists", { $0.options.ifExists = .overwrite }),
        ("remote name", { $0.options.remoteName = true }),
        ("metadata", { $0.options.metadata = "1" }),
        ("trace", { $0.options.headers["Traceparent"] = "00-1-2-00" }),
        ("hop by hop", { $0.options.headers["Connection"] = "close" }),
        ("yield", { $0.options.yields = false }),
    ]

    @Test func whatDoesNot() throws {
        let plain = try #require(identity { _ in })
        for (what, edit) in Self.ownAffairs { #expect(identity(edit) == plain, "\(what)") }
    }

    @Test func fieldsAreComparedAsHTTPDoes() {
        let one = identity {
            $0.options.headers = HeaderFields([
                .init(name: "X-A", value: "1"), .init(name: "Accept", value: " a "),
                .init(name: "x-a", value: "2"),
            ])
        }
        let two = identity {
            $0.options.headers = HeaderFields([
                .init(name: "accept", value: "a"), .init(name: "x-a", value: "1"),
                .init(name: "X-a", value: "2"),
            ])
        }
        let swapped = identity {
            $0.options.headers = HeaderFields([
                .init(name: "accept", value: "a"), .init(name: "x-a", value: "2"),
                .init(name: "X-a", value: "1"),
            ])
        }
        #expect(one == two && one != swapped)
    }

    @Test func methodAndBodyCount() {
        let request = TransferRequest(url: "https://h/f", destination: .file("/d/f"))
        #expect(FetchIdentity(request) != FetchIdentity(request, method: "POST"))
        #expect(
            FetchIdentity(request, method: "POST")
                != FetchIdentity(request, method: "POST", bodyDigest: Self.sum))
        #expect(FetchIdentity(TransferRequest(url: "x", destination: .file("/f"))) == nil)
    }
}
