import LonghaulCore

/// Rows of errors whose page is the file.
extension ResumeTableTests {
    private static func delivering(
        _ ask: RangeRequest, retryStatus: [Int] = [], isLast: Bool = false
    ) -> RangeRequest {
        var ask = ask
        ask.errorPages = ErrorPages(retryStatus: retryStatus, isLastAttempt: isLast)
        return ask
    }

    private static func refused(_ status: Int) -> ResumeDecision {
        .fail(FailureTable.classify(status: status))
    }

    private static let errorWords = "Content-Length: 30"
    private static let pageVersion = Validator(length: 30)
    private static let errorFromZero = ResumeDecision.restart(.errorPage, pageVersion)

    static let errorPageRows = [
        Row("a page is no file by itself", fresh, Validator(), head(404, errorWords), refused(404)),
        Row(
            "the page of a 404 without its version", delivering(fresh), Validator(),
            head(404, errorWords, tagField), .fresh(pageVersion, length: 30)),
        Row(
            "a page whose length is not told", delivering(fresh), Validator(), head(400),
            .fresh(Validator(), length: nil)),
        Row(
            "in place of the bytes held", delivering(byTag), strong, head(404, errorWords),
            errorFromZero),
        Row(
            "a 403 to a range may be about the range", delivering(byTag), strong,
            head(403, errorWords), refused(403)),
        Row(
            "… and to the whole not", delivering(skipping), strong, head(403, errorWords),
            errorFromZero),
        Row(
            "a status that is tried again", delivering(fresh), Validator(), head(503, errorWords),
            refused(503)),
        Row(
            "… for the last time", delivering(fresh, isLast: true), Validator(),
            head(503, errorWords), .fresh(pageVersion, length: 30)),
        Row(
            "a status that the user has tried again", delivering(fresh, retryStatus: [404]),
            Validator(), head(404, errorWords), refused(404)),
        Row(
            "beside other requests", delivering(segment), strong, head(404, errorWords),
            refused(404)),
        Row(
            "a redirect that leads nowhere is no page", delivering(fresh), Validator(),
            head(300, errorWords), refused(300)),
    ]
}
