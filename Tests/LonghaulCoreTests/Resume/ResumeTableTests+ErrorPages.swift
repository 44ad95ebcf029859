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

    private static func failed(_ status: Int) -> ResumeDecision {
        .fail(FailureTable.classify(status: status))
    }

    private static let words = "Content-Length: 30"
    private static let page = Validator(length: 30)
    private static let fromZero = ResumeDecision.restart(.errorPage, page)

    static let errorPageRows = [
        Row("a page is no file by itself", fresh, Validator(), head(404, words), failed(404)),
        Row(
            "the page of a 404 without its version", delivering(fresh), Validator(),
            head(404, words, tagField), .fresh(page, length: 30)),
        Row(
            "a page whose length is not told", delivering(fresh), Validator(), head(400),
            .fresh(Validator(), length: nil)),
        Row("in place of the bytes held", delivering(byTag), strong, head(404, words), fromZero),
        Row(
            "a 403 to a range may be about the range", delivering(byTag), strong,
            head(403, words), failed(403)),
        Row("… and to the whole not", delivering(skipping), strong, head(403, words), fromZero),
        Row(
            "a status that is tried again", delivering(fresh), Validator(), head(503, words),
            failed(503)),
        Row(
            "… for the last time", delivering(fresh, isLast: true), Validator(),
            head(503, words), .fresh(page, length: 30)),
        Row(
            "a status that the user has tried again", delivering(fresh, retryStatus: [404]),
            Validator(), head(404, words), failed(404)),
        Row(
            "beside other requests", delivering(segment), strong, head(404, words), failed(404)),
        Row(
            "a redirect that leads nowhere is no page", delivering(fresh), Validator(),
            head(300, words), failed(300)),
    ]
}
