import LonghaulCore
import Testing

@Suite struct RefusedCredentialsTests {
    private func credentials(
        _ url: String = "https://h/a", changedAt: Timestamp? = nil,
        _ change: (inout TransferRequest) -> Void = { _ in }
    ) -> Credentials? {
        var request = TransferRequest(url: url, destination: .file("/d/f"))
        change(&request)
        return Credentials(of: request) { _ in changedAt }
    }

    /// Equal ones are refused alike; a link that has expired has none.
    @Test func whatTellsThemApart() {
        let named = credentials { $0.options.user = "me:a" }
        #expect(named == credentials("https://h/b") { $0.options.user = "me:a" })
        #expect(named != credentials { $0.options.user = "me:b" })
        #expect(credentials("https://me:a@h/a") != credentials("https://me:b@h/a"))
        let bearer = credentials { $0.options.headers["Authorization"] = "Bearer 1" }
        #expect(bearer != credentials { $0.options.headers["Authorization"] = "Bearer 2" })
        #expect(credentials { $0.options.headers["X-Api-Key"] = "1" } != nil)
        #expect(credentials { $0.options.netrc = true } != nil)
        #expect(credentials { $0.options.proxy = "http://me:a@p:1" } != nil)
        let old = credentials(changedAt: receivedAt) { $0.options.userFrom = "/s" }
        #expect(old != credentials(changedAt: receivedAt + 1) { $0.options.userFrom = "/s" })
        for plain in [
            credentials(), credentials("https://h/a?X-Amz-Signature=1"),
            credentials { $0.options.headers["Referer"] = "https://h/" },
            credentials { $0.options.proxy = "http://p:1" },
        ] { #expect(plain == nil) }
    }

    @Test func aFewRefusalsAreEnough() throws {
        let mine = try #require(credentials { $0.options.user = "me:a" })
        let other = try #require(credentials { $0.options.user = "me:b" })
        var refused = RefusedCredentials()
        let words = "the server refuses the credentials (401); give the right ones"
        var enough = [mine, mine].map { refused.refused($0, saying: words) }
        #expect(enough == [false, false])
        refused.accepted(mine)
        enough = [mine, other, mine, other].map { refused.refused($0, saying: words) }
        #expect(enough == [false, false, false, false])
        #expect(refused.obstacle(to: mine) == nil)
        enough = [mine, mine].map { refused.refused($0, saying: words) }
        #expect(enough == [true, false])
        let obstacle = try #require(refused.obstacle(to: mine))
        #expect(obstacle.hasPrefix("the server refuses the credentials (401), 4 times"))
        #expect(refused.obstacle(to: other) == nil)
        refused.forget()
        #expect(refused.isEmpty && refused.obstacle(to: mine) == nil)
    }

    @Test(arguments: [
        ("unauthorized", true), ("forbidden", true), ("notFound", false), ("completed", false),
        ("clientError", false), ("stopped", false),
    ])
    func whatCounts(outcome: String, counts: Bool) {
        let record = AttemptRecord(
            number: 1, startedAt: receivedAt, endedAt: receivedAt, url: "ftp://h/a", bytes: 0,
            httpStatus: nil, httpVersion: nil, outcome: outcome, message: nil)
        #expect(record.isRefusedAccess == counts)
    }
}
