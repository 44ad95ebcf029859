import LonghaulCore
import Testing

@Suite struct ValidatorTests {
    private let modified = "Last-Modified: Tue, 14 Nov 2023 22:13:00 GMT"

    @Test(arguments: [
        ("Date: Tue, 14 Nov 2023 22:13:01 GMT", true),
        ("Date: Tue, 14 Nov 2023 22:14:00 GMT", true),
        ("Date: Tue, 14 Nov 2023 22:13:00 GMT", false),
        ("Date: Tue, 14 Nov 2023 22:12:59 GMT", false),
        ("Date: nonsense", false),
        ("X-No-Date: 1", false),
    ])
    func strengthOfADate(date: String, isStrong: Bool) {
        let validator = Validator(head(200, modified, date))
        #expect(validator.lastModifiedIsStrong == isStrong)
        #expect(validator.lastModified == "Tue, 14 Nov 2023 22:13:00 GMT")
        #expect(validator.isStrong == isStrong)
    }

    @Test func anyTagBarsTheDateFromIfRange() {
        let date = "Date: Tue, 14 Nov 2023 22:14:00 GMT"
        #expect(Validator(head(200, modified, date)).strongDate != nil)
        #expect(Validator(head(200, modified, date, "ETag: W/\"a\"")).strongDate == nil)
        #expect(Validator(head(200, modified, date, "ETag: \"a\"")).strongDate == nil)
    }

    @Test(
        arguments: [
            (head(200, "Content-Length: 10"), 10),
            (head(200), nil),
            (head(200, "Content-Length: 10", "Transfer-Encoding: chunked"), nil),
            (head(200, "Content-Length: 10", "Content-Length: 11"), nil),
            (head(206, "Content-Length: 10", "Content-Range: bytes 5-14/15"), 15),
            (head(206, "Content-Length: 10", "Content-Range: bytes 5-14/*"), nil),
            (head(206, "Content-Length: 10"), nil),
            (head(206, "Content-Length: 10", scheme: .ftp), 15),
            (head(200, "Content-Length: 15", scheme: .sftp), 15),
        ] as [(ResponseHead, Int64?)])
    func lengthOfTheWhole(head: ResponseHead, length: Int64?) {
        #expect(Validator(head, start: 5).length == length)
    }

    @Test func uselessTagsAndDatesPinNothing() {
        let long = String(repeating: "x", count: 2000)
        #expect(Validator(head(200, "ETag: unquoted")).etag == nil)
        #expect(Validator(head(200, "ETag: \"\(long)\"")).etag == nil)
        #expect(Validator(head(200, "ETag: \"a\"", "ETag: \"b\"")).etag == nil)
        #expect(Validator(head(200, "Last-Modified: \(long)")).lastModified == nil)
        #expect(Validator(head(200)).isEmpty)
        #expect(Validator(head(200, "ETag: \"a\"", scheme: .ftp)).etag == nil)
    }

    // MARK: Comparison

    private static let strong = "\"a\""
    private static let date = "Tue, 14 Nov 2023 22:13:00 GMT"
    private static let otherDate = "Tue, 14 Nov 2023 22:13:01 GMT"
    private static let digest = "sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:"
    private static let otherDigest = "sha-256=:AU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:"

    @Test(
        arguments: [
            (Validator(), Validator(), .unknown),
            (Validator(length: 1), Validator(length: 1), .unknown),
            (Validator(length: 1), Validator(), .unknown),
            (Validator(length: 1), Validator(length: 2), .different(.length)),
            (
                Validator(etag: strong, length: 1), Validator(etag: strong, length: 2),
                .different(.length)
            ),
            (Validator(etag: strong), Validator(etag: strong), .same),
            (Validator(etag: strong), Validator(etag: "\"b\""), .different(.etag)),
            (Validator(etag: strong), Validator(etag: "W/\"a\""), .similar),
            (Validator(etag: "W/\"a\""), Validator(etag: "W/\"a\""), .similar),
            (Validator(etag: "W/\"a\""), Validator(etag: "W/\"b\""), .different(.etag)),
            (Validator(etag: strong), Validator(), .unknown),
            (Validator(), Validator(etag: strong), .unknown),
            // Farms serve one file with several dates: the tag decides.
            (
                Validator(etag: strong, lastModified: date),
                Validator(etag: strong, lastModified: otherDate), .same
            ),
            (
                Validator(etag: "W/\"a\"", lastModified: date),
                Validator(etag: "W/\"a\"", lastModified: otherDate), .different(.lastModified)
            ),
            (
                Validator(lastModified: date, lastModifiedIsStrong: true),
                Validator(lastModified: date),
                .same
            ),
            (Validator(lastModified: date), Validator(lastModified: date), .similar),
            (
                Validator(lastModified: date), Validator(lastModified: otherDate),
                .different(.lastModified)
            ),
            (
                Validator(etag: strong, lastModified: date, lastModifiedIsStrong: true),
                Validator(lastModified: date), .same
            ),
            (Validator(digest: digest), Validator(digest: digest), .same),
            (Validator(digest: digest), Validator(digest: otherDigest), .different(.digest)),
            (
                Validator(etag: strong, digest: digest),
                Validator(etag: strong, digest: otherDigest),
                .different(.digest)
            ),
        ] as [(Validator, Validator, VersionMatch)])
    func comparison(pinned: Validator, answer: Validator, match: VersionMatch) {
        #expect(pinned.match(answer) == match)
    }
}
