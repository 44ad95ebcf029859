import LonghaulCore
import Testing

/// Rows of answers that call the version otherwise than what is held. An entity tag is about one
/// resource (RFC 9110 §8.8.3): at another origin, and at servers with tags of their own, length and
/// overlap decide.
extension ResumeTableTests {
    static let otherTag = "ETag: \"v2\""
    static let otherName = ResumeDecision.empty(.otherName)
    static let overlapRest = "Content-Range: bytes 300-999/1000"
    static let compared = ResumeDecision.append(BodyPlan(compare: 100, position: 300, end: 1000))

    /// Pinned when a redirect had led to that origin.
    static func given(_ validator: Validator, by origin: String) -> Validator {
        var validator = validator
        validator.origin = origin
        return validator
    }

    /// An answer of the server that a redirect led to.
    static func at(_ host: String, _ answer: ResponseHead) -> ResponseHead {
        var answer = answer
        answer.otherOrigin = "http://\(host):80"
        return answer
    }

    static func naming(_ names: RangeRequest.Names, _ ask: RangeRequest) -> RangeRequest {
        var ask = ask
        ask.names = names
        return ask
    }

    static let atM = given(strong, by: "http://m:80")
    static let named = Validator(etag: "\"v1\"", lastModified: date, length: 1000)

    static let nameRows = originRows + tagRows + digestRows + dialectRows

    private static let originRows = [
        Row("its own mirror again", byTag, atM, at("m", head(206, rest, tagField)), append),
        Row(
            "its own mirror again, of another tag", byTag, atM,
            at("m", head(200, otherTag, "Content-Length: 1000")),
            .restart(
                .changed(.etag),
                given(Validator(etag: "\"v2\"", length: 1000), by: "http://m:80"))),
        Row(
            "another mirror with the whole", byTag, atM,
            at("n", head(200, otherTag, "Content-Length: 1000")), otherName),
        Row(
            "another mirror with the whole of a length not told", byTag, atM,
            at("n", head(200, otherTag, "Transfer-Encoding: chunked")), otherName),
        Row(
            "another mirror with the whole of another length", byTag, atM,
            at("n", head(200, otherTag, "Content-Length: 900")),
            .restart(
                .changed(.length),
                given(Validator(etag: "\"v2\"", length: 900), by: "http://n:80"))),
        Row(
            "a mirror on another port", byTag, atM,
            at("m:81", head(200, otherTag, "Content-Length: 1000")), otherName),
        Row(
            "another mirror that knows no If-Range", byTag, atM,
            at("n", head(206, rest, otherTag)), otherName),
        Row(
            "another mirror that by chance says the same tag", byTag, atM,
            at("n", head(206, rest, tagField)), otherName),
        Row(
            "another mirror asked by date", byDate, given(dated, by: "http://m:80"),
            at("n", head(206, rest, dateField)), otherName),
        Row(
            "a mirror where the first answer was its own", byTag, strong,
            at("n", head(200, otherTag, "Content-Length: 1000")), otherName),
        Row(
            "its own where the first answer was a mirror's", byTag, atM,
            head(200, otherTag, "Content-Length: 1000"), otherName),
        Row(
            "a mirror's part by overlap", byOverlap, atM, at("n", head(206, overlapRest)),
            compared),
        Row(
            "a mirror's part by overlap, of another tag", byOverlap, atM,
            at("n", head(206, overlapRest, otherTag)), compared),
        Row(
            "a mirror's part by overlap, of another length", byOverlap, atM,
            at("n", head(206, "Content-Range: bytes 300-899/900", otherTag)),
            .restartFromZero(.changed(.length))),
        Row(
            "a mirror's part by overlap that tells no length", byOverlap, atM,
            at("n", head(206, "Content-Range: bytes 300-999/*", otherTag)), unusable(.total)),
        Row(
            "a mirror's whole of the recorded length", byOverlap, atM,
            at("n", head(200, otherTag, "Content-Length: 1000")),
            .skip(BodyPlan(skip: 0, compare: 400, position: 0, end: 1000)),
            learned: .ignoresRanges),
        Row(
            "a mirror's whole where ranges failed", skipping, atM,
            at("n", head(200, otherTag, "Content-Length: 1000")),
            .skip(BodyPlan(skip: 0, compare: 400, position: 0, end: 1000))),
        Row(
            "a mirror where no length is known", byTag,
            given(Validator(etag: "\"v1\""), by: "http://m:80"),
            at("n", head(206, rest, tagField)), .restartFromZero(.nothingToProve)),
        Row(
            "a mirror's part by overlap where no length is known", byOverlap,
            given(Validator(etag: "\"v1\""), by: "http://m:80"),
            at("n", head(206, overlapRest, tagField)), .restartFromZero(.nothingToProve)),
        Row(
            "a mirror that has no more", ask(.entityTag("\"v1\""), position: 1000),
            given(Validator(etag: "\"v1\""), by: "http://m:80"),
            at("n", head(416, "Content-Range: bytes */1000")),
            .restartFromZero(.rangeNotSatisfiable(total: 1000))),
        Row(
            "a segment at another mirror", segment, atM,
            at("n", head(200, otherTag, "Content-Length: 1000")), .dropSegment),
        Row(
            "a page where a redirect leads", byTag, atM,
            at("n", head(200, html, "Content-Length: 39")), page),
    ]

    private static let tagRows = [
        Row(
            "another tag of the same date", byTag, named,
            head(200, otherTag, dateField, "Content-Length: 1000"),
            .restart(
                .changed(.etag),
                Validator(etag: "\"v2\"", lastModified: date, length: 1000))),
        Row(
            "another tag of the same date once more", naming(.compare, byTag), named,
            head(200, otherTag, dateField, "Content-Length: 1000"), otherName),
        Row(
            "another tag of another date", naming(.compare, byTag), named,
            head(
                200, otherTag, "Last-Modified: Tue, 14 Nov 2023 22:13:59 GMT",
                "Content-Length: 1000"), otherName),
        Row(
            "another tag without a date", naming(.compare, byTag), strong,
            head(200, otherTag, "Content-Length: 1000"), otherName),
        Row(
            "another tag of the same date and another length", naming(.compare, byTag), named,
            head(200, otherTag, dateField, "Content-Length: 1001"),
            .restart(
                .changed(.length),
                Validator(etag: "\"v2\"", lastModified: date, length: 1001))),
        Row(
            "another tag of the same date, by overlap", naming(.compare, byOverlap), named,
            head(206, overlapRest, otherTag, dateField), compared),
        Row(
            "a weak tag of the same date, by overlap", naming(.compare, byOverlap),
            Validator(etag: "W/\"v1\"", lastModified: date, length: 1000),
            head(206, overlapRest, "ETag: W/\"v2\"", dateField), compared),
    ]

    /// Content-Range as it should not be: begun anew in vain for it, it counts no more.
    private static let dialectRows: [Row] = {
        let fields = [
            "300-999/1000", "bytes=300-999/1000", "octets 300-999/1000", "bytes 300-/1000",
            "bytes 300 999 1000", "bytes 300-1000/1001", "bytes 300-999/1007",
            "bytes 300-1007/1000",
            "bytes 300-999:1000",
        ]
        let compare = naming(.compare, byOverlap)
        let count = "Content-Length: 700"
        var rows = fields.map { field in
            Row(
                "the rest with \(field)", compare, strong,
                head(206, "Content-Range: \(field)", count, otherTag), compared)
        }
        rows += fields.prefix(5).map { field in
            Row(
                "the rest with \(field), chunked", compare, lengthOnly,
                head(206, "Content-Range: \(field)", "Transfer-Encoding: chunked"), compared)
        }
        return rows + [
            Row("the rest without Content-Range", compare, strong, head(206, count), compared),
            Row(
                "the whole as a part without Content-Range", compare, strong,
                head(206, "Content-Length: 1000"),
                .append(BodyPlan(compare: 400, position: 0, end: 1000))),
            Row(
                "the rest under If-Range", naming(.compare, byTag), strong,
                head(206, "Content-Range: 400-999/1000", "Content-Length: 600", otherTag),
                otherName),
            Row(
                "the rest of a shorter file", compare, lengthOnly,
                head(206, "Content-Range: 300-899/900", "Content-Length: 600"),
                unusable(.rangeMalformed)),
            Row(
                "the rest of a longer file", compare, lengthOnly,
                head(206, "Content-Range: bytes 300-1099/1100", "Content-Length: 800"),
                unusable(.end)),
            Row(
                "without length and range", compare, lengthOnly,
                head(206, "Transfer-Encoding: chunked"), unusable(.rangeMissing)),
            Row(
                "the rest, never begun anew for it", byOverlap, strong,
                head(206, "Content-Range: 300-999/1000", count), unusable(.rangeMalformed)),
            Row(
                "the whole without a version", compare, lengthOnly,
                head(200, "Content-Length: 1000"),
                .skip(BodyPlan(skip: 0, compare: 400, position: 0, end: 1000)),
                learned: .ignoresRanges),
        ]
    }()

    private static let digestRows = [
        Row(
            "another tag where a digest decides", naming(.compare, byTag), strong,
            head(200, otherTag, "Content-Length: 1000"), otherName),
        Row(
            "another date where a digest decides", naming(.compare, byDate), dated,
            head(
                200, "Last-Modified: Tue, 14 Nov 2023 22:13:59 GMT", "Content-Length: 1000"),
            otherName),
        Row(
            "another tag where a digest decides, by overlap", naming(.compare, byOverlap),
            strong, head(206, overlapRest, otherTag), compared),
        Row(
            "another length where a digest decides", naming(.compare, byTag), strong,
            head(200, otherTag, "Content-Length: 900"),
            .restart(.changed(.length), Validator(etag: "\"v2\"", length: 900))),
        Row(
            "the same tag where a digest decides", naming(.compare, byTag), strong,
            head(206, rest, tagField), append),
    ]
}
