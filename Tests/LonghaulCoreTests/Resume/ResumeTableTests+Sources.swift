import LonghaulCore

/// Rows that tell answers of the file's own server from those of others, and parts from wholes.
extension ResumeTableTests {
    // MARK: 200 with Content-Range

    static let statuslessRows = [
        Row(
            "200 with the range as asked", byTag, strong,
            head(200, rest, tagField, "Content-Length: 600"), append),
        Row(
            "203 with the range as asked", byTag, strong,
            head(203, rest, tagField, "Content-Length: 600"), append),
        Row(
            "200 with the range as asked, no tag", byTag, strong,
            head(200, rest, "Content-Length: 600"), .empty(.versionMissing),
            learned: .mishandlesIfRange),
        Row(
            "200 with the range as asked, another tag", byTag, strong,
            head(200, rest, "ETag: \"v2\"", "Content-Length: 600"),
            .restartFromZero(.changed(.etag)), learned: .mishandlesIfRange),
        Row(
            "200 with the overlap as asked", byOverlap, lengthOnly,
            head(200, "Content-Range: bytes 300-999/1000", "Content-Length: 700"),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row(
            "200 with another range", byTag, strong,
            head(200, "Content-Range: bytes 500-999/1000", tagField, "Content-Length: 500"),
            unusable(.start)),
        Row(
            "200 with the right length and another range", byTag, strong,
            head(200, rest, tagField, "Content-Length: 1000"), unusable(.length)),
        Row(
            "200 with a range of another file", byTag, strong,
            head(200, "Content-Range: bytes 400-999/2000", tagField),
            .restartFromZero(.changed(.length)), learned: .mishandlesIfRange),
        Row(
            "200 with a malformed range", byTag, strong,
            head(200, "Content-Range: 400-999/1000", tagField, "Content-Length: 1000"),
            unusable(.rangeMalformed)),
        Row(
            "200 with the whole, said twice", byTag, strong,
            head(
                200, "Content-Range: bytes 0-999/1000", tagField, "Content-Length: 1000"), skip,
            learned: .mishandlesIfRange),
        Row(
            "fresh, with the whole said twice", fresh, Validator(),
            head(
                200, "Content-Range: bytes 0-999/1000", tagField, "Content-Length: 1000"),
            .fresh(strong, length: 1000)),
        Row(
            "fresh, with a part of it", fresh, Validator(),
            head(200, rest, tagField, "Content-Length: 600"), unusable(.notAsked)),
        Row(
            "fresh, with what may be a part of it", fresh, Validator(),
            head(200, "Content-Range: bytes 0-999/*", "Content-Length: 1000"),
            unusable(.notAsked)),
        Row(
            "fresh, with a length that denies the range", fresh, Validator(),
            head(200, "Content-Range: bytes 0-999/1000", "Content-Length: 600"),
            unusable(.notAsked)),
        Row(
            "a part where the whole was asked for", skipping, strong,
            head(200, rest, tagField, "Content-Length: 600"), unusable(.notAsked)),
        Row(
            "a part where the bytes held are in doubt", doubting, strong,
            head(200, rest, tagField, "Content-Length: 600"), unusable(.notAsked)),
        Row(
            "segment as asked, without the status", segment, strong,
            head(
                200, "Content-Range: bytes 700-799/1000", tagField, "Content-Length: 100"),
            .append(BodyPlan(position: 700, end: 800))),
    ]

    // MARK: Pages in the place of the file

    static let html = "Content-Type: text/html; charset=utf-8"
    static let page = ResumeDecision.fail(FailureTable.foreignPage)

    static func elsewhere(_ head: ResponseHead) -> ResponseHead {
        var head = head
        head.otherOrigin = "http://portal:80"
        return head
    }

    static func noPage(_ ask: RangeRequest) -> RangeRequest {
        var ask = ask
        ask.isForNoPage = true
        return ask
    }

    static let pageRows = [
        Row("a page", byTag, strong, head(200, html, "Content-Length: 39"), page),
        Row("a page of unknown length", byTag, strong, head(200, html), page),
        Row("a page for a date", byDate, dated, head(200, html, "Content-Length: 39"), page),
        Row("a page without If-Range", byOverlap, strong, head(200, html), page),
        Row("a page where the whole was asked for", skipping, strong, head(200, html), page),
        Row(
            "a page where the bytes held are in doubt", doubting, strong,
            head(200, html, "Content-Length: 39"), page),
        Row(
            "something small of another origin", byTag, strong,
            elsewhere(head(200, "Content-Length: 39")), page),
        Row(
            "something small of its own", byTag, strong, head(200, "Content-Length: 39"), lesser),
        Row(
            "something as long of another origin", byTag, strong,
            elsewhere(head(200, "Content-Length: 1000")), otherName),
        Row(
            "a page with a version", byTag, strong,
            head(200, html, "ETag: \"v2\"", "Content-Length: 39"),
            .restart(.changed(.length), Validator(etag: "\"v2\"", length: 39))),
        Row(
            "a page with a version where the file is none", noPage(byTag), strong,
            head(200, html, "ETag: \"v2\"", "Content-Length: 39"), page),
        Row(
            "a page where the file is none and has no version", noPage(byOverlap), weak,
            head(200, html, "Content-Length: 39"), page),
        Row(
            "something larger than what is held, called a page", noPage(byTag), strong,
            head(200, html, "ETag: \"v2\"", "Content-Length: 2000"),
            .restart(.changed(.length), Validator(etag: "\"v2\"", length: 2000))),
        Row(
            "a page for a file without a version", byOverlap, weak,
            head(200, html, "Content-Length: 39"), lesser),
        Row(
            "a page at the beginning", fresh, Validator(), head(200, html, "Content-Length: 39"),
            .fresh(Validator(length: 39), length: 39)),
    ]

    // MARK: Mirrors

    static func mirror(_ ask: RangeRequest) -> RangeRequest {
        var ask = ask
        ask.isForMirror = true
        return ask
    }

    static func useless(_ reason: RestartReason) -> ResumeDecision {
        .fail(FailureTable.mirror(reason))
    }

    /// Asked for a part beside the source in use.
    static func aside(_ proof: RangeRequest.Proof, toMirror: Bool = true) -> RangeRequest {
        var ask = ask(proof, position: 700, end: 800, isExtra: true)
        ask.isAside = true
        ask.isForMirror = toMirror
        return ask
    }

    static let byDigest = aside(.digest)
    static let byEqualTag = aside(.entityTag("\"v1\""))
    static let piece = ResumeDecision.append(BodyPlan(position: 700, end: 800))
    static let redirected: Validator = {
        var validator = strong
        validator.origin = "http://node:80"
        return validator
    }()

    static let asideRows = [
        Row(
            "beside: the same tag", byEqualTag, strong,
            head(206, "Content-Range: bytes 700-799/1000", tagField), piece),
        Row(
            "beside: the same tag of a node of the own URL", byEqualTag, redirected,
            head(206, "Content-Range: bytes 700-799/1000", tagField), piece),
        Row(
            "beside: the same tag and another length", byEqualTag, strong,
            head(206, "Content-Range: bytes 700-799/1001", tagField), useless(.changed(.length))),
        Row(
            "beside: another tag", byEqualTag, strong,
            head(200, "ETag: \"v2\"", "Content-Length: 1000"), useless(.changed(.etag))),
        Row(
            "beside: the own URL has another tag", aside(.entityTag("\"v1\""), toMirror: false),
            strong, head(200, "ETag: \"v2\"", "Content-Length: 1000"),
            .restartFromZero(.changed(.etag))),
        Row(
            "beside: the digest proves what has another tag", byDigest, strong,
            head(206, "Content-Range: bytes 700-799/1000", "ETag: \"v2\""), piece),
        Row(
            "beside: another length proves no digest", byDigest, strong,
            head(206, "Content-Range: bytes 700-799/1001"), useless(.changed(.length))),
        Row(
            "beside: no length proves no digest", byDigest, strong,
            head(206, "Content-Range: bytes 700-799/*"), useless(.nothingToProve)),
        Row(
            "beside: the whole", byDigest, strong, head(200, "Content-Length: 1000"),
            .dropSegment),
    ]

    static let mirrorRows = [
        Row(
            "a mirror goes on", mirror(byOverlap), lengthOnly,
            head(206, "Content-Range: bytes 300-999/1000"),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row(
            "a mirror has another length", mirror(byOverlap), lengthOnly,
            head(206, "Content-Range: bytes 300-899/900"), useless(.changed(.length))),
        Row(
            "a mirror has the whole of another length", mirror(byOverlap), lengthOnly,
            head(200, "Content-Length: 900"), useless(.changed(.length))),
        Row(
            "a mirror knows no ranges", mirror(byOverlap), lengthOnly,
            head(200, "Content-Length: 1000"),
            .skip(BodyPlan(skip: 0, compare: 400, position: 0, end: 1000)),
            learned: .ignoresRanges),
        Row(
            "a mirror has a page", mirror(byOverlap), lengthOnly, head(200, html),
            useless(.validatorMissing)),
        Row(
            "a mirror has less", mirror(byOverlap), lengthOnly,
            head(416, "Content-Range: bytes */300"), useless(.changed(.length))),
        Row(
            "a mirror has another tag than before", mirror(byTag), strong,
            head(200, "ETag: \"v2\"", "Content-Length: 1000"), useless(.changed(.etag))),
        Row(
            "a mirror refuses the condition", mirror(byTag), strong, head(412),
            useless(.preconditionFailed)),
        Row(
            "a mirror where nothing can be proven",
            mirror(ask(.restarting(.nothingToProve), position: 0)),
            Validator(), head(200, "Content-Length: 1000"),
            .restart(.nothingToProve, lengthOnly)),
        Row(
            "a mirror at the beginning", mirror(fresh), Validator(),
            head(200, tagField, "Content-Length: 1000"), .fresh(strong, length: 1000)),
    ]
}
