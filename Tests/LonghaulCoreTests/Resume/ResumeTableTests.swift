import LonghaulCore
import Testing

/// The table of what each answer to a resume means, row by row.
@Suite struct ResumeTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var ask: RangeRequest
        var pinned: Validator
        var head: ResponseHead
        var decision: ResumeDecision
        var learned: OriginLesson?

        init(
            _ name: String, _ ask: RangeRequest, _ pinned: Validator, _ head: ResponseHead,
            _ decision: ResumeDecision, learned: OriginLesson? = nil
        ) {
            self.name = name
            self.ask = ask
            self.pinned = pinned
            self.head = head
            self.decision = decision
            self.learned = learned
        }

        var testDescription: String { name }
    }

    // 400 of 1000 bytes are held; `strong` is pinned unless the row says otherwise.
    static let date = "Tue, 14 Nov 2023 22:13:00 GMT"
    static let dateField = "Last-Modified: \(date)"
    static let laterField = "Date: Tue, 14 Nov 2023 22:14:00 GMT"
    static let strong = Validator(etag: "\"v1\"", length: 1000)
    static let weak = Validator(etag: "W/\"v1\"", length: 1000)
    static let dated = Validator(lastModified: date, lastModifiedIsStrong: true, length: 1000)
    static let young = Validator(lastModified: date, length: 1000)
    static let lengthOnly = Validator(length: 1000)

    static let fresh = ask(.nothingHeld, position: 0)
    static let byTag = ask(.entityTag("\"v1\""))
    static let byDate = ask(.date(date))
    static let byOverlap = ask(.overlap, overlap: 100)
    static let bySizeAndTime = ask(.sizeAndTime, overlap: 100)
    static let skipping = ask(.skipping)
    static let doubting = ask(.restarting(.overlapDiffers), position: 0)
    static let segment = ask(.entityTag("\"v1\""), position: 700, end: 800, isExtra: true)

    static func ask(
        _ proof: RangeRequest.Proof, position: Int64 = 400, end: Int64? = nil, overlap: Int64 = 0,
        isExtra: Bool = false
    ) -> RangeRequest {
        RangeRequest(
            proof: proof, position: position, end: end, overlap: overlap, isExtra: isExtra)
    }

    static let append = ResumeDecision.append(BodyPlan(position: 400, end: 1000))
    static let skip = ResumeDecision.skip(BodyPlan(skip: 400, position: 400, end: 1000))

    static func unusable(_ problem: RestartReason.PartialProblem) -> ResumeDecision {
        .restartFromZero(.partialUnusable(problem))
    }

    @Test(
        arguments: partialRows + wholeRows + statuslessRows + pageRows + lesserRows + wholePartRows
            + mirrorRows
            + asideRows + nameRows + otherRows + fileRows + errorPageRows) func row(row: Row)
    {
        let judgement = judge(row.ask, row.head, pinned: row.pinned)
        #expect(judgement.decision == row.decision)
        #expect(judgement.learned == row.learned)
    }

    /// That nobody tells the length is no way around `--max-size`.
    @Test func theLargestSizeOfWhatIsResumed() {
        let unknown = Validator(etag: "\"v1\"")
        let chunked = "Transfer-Encoding: chunked"
        let part = head(206, "Content-Range: bytes 400-999/*", Self.tagField)
        func end(_ head: ResponseHead, _ ask: RangeRequest = Self.byTag, max: Int64?) -> Int64? {
            let order = SegmentAsk(
                key: SegmentKey(fetch: FetchID(rawValue: 1), serial: 1), url: "http://h/f",
                ask: ask, pinned: unknown, maxSize: max, isParallel: false)
            guard case .accept(let plan) = order.verdict(head) else { return nil }
            return plan.end ?? .max
        }
        let whole = head(200, chunked, Self.tagField)
        #expect(end(whole, max: nil) == .max)
        #expect(end(whole, max: 600) == 600)
        #expect(end(whole, max: 400) == 400)
        #expect(end(whole, max: 399) == nil)
        #expect(end(part, max: 1000) == 1000)
        #expect(end(part, max: 999) == nil)
        let ftp = head(206, scheme: .ftp)
        #expect(end(ftp, Self.ask(.overlap, overlap: 400), max: 600) == 600)
        for answer in [whole, part] {
            let decision = judge(Self.byTag, answer, pinned: unknown, maxSize: 399).decision
            guard case .fail(let failure) = decision else {
                Issue.record("\(decision)")
                continue
            }
            #expect(failure.error.code == .tooLarge)
        }
    }

    /// Nobody takes it off: what is written would not be the file.
    @Test(arguments: ["gzip", "gzip, chunked", "x-new", "Chunked,deflate"])
    func aTransferCodingThatNobodyAskedFor(coding: String) {
        for status in [200, 206] {
            let head = head(status, Self.rest, Self.tagField, "Transfer-Encoding: \(coding)")
            guard case .fail(let failure) = judge(Self.byTag, head, pinned: Self.strong).decision
            else {
                Issue.record("\(status)")
                continue
            }
            #expect(failure.kind == .permanent && failure.error.code == .unsupported)
        }
    }

    @Test func chunkedIsNone() {
        for coding in ["Chunked", "chunked, chunked", "identity"] {
            #expect(head(200, "Transfer-Encoding: \(coding)").headers.foreignTransferCoding == nil)
        }
    }

    /// Trying again would not help.
    @Test(arguments: [("9223372036854775808", LonghaulError.Code.tooLarge), ("4x", .network)])
    func aLengthThatIsNone(text: String, code: LonghaulError.Code) {
        let answer = head(200, "Content-Length: \(text)")
        let fresh = Self.ask(.nothingHeld, position: 0)
        guard case .fail(let failure) = judge(fresh, answer, pinned: Validator()).decision else {
            Issue.record("\(judge(fresh, answer, pinned: Validator()).decision)")
            return
        }
        #expect(failure.error.code == code)
        #expect((failure.kind == .permanent) == (code == .tooLarge))
    }

    // MARK: 206

    static let tagField = "ETag: \"v1\""
    static let rest = "Content-Range: bytes 400-999/1000"

    static let partialRows = [
        Row(
            "206 as asked", byTag, strong,
            head(206, rest, tagField, "Content-Length: 600"), append),
        Row(
            "206 chunked", byTag, strong,
            head(206, rest, tagField, "Transfer-Encoding: chunked", "Content-Length: 7"), append),
        Row(
            "206 to a date without it", byDate, dated, head(206, rest), .empty(.versionMissing),
            learned: .mishandlesIfRange),
        Row(
            "206 to a plain Range without the date", byOverlap, dated,
            head(206, "Content-Range: bytes 300-999/1000"),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row("206 to a date with it", byDate, dated, head(206, rest, dateField), append),
        Row(
            "206 with fewer bytes than asked for", byTag, strong,
            head(206, "Content-Range: bytes 400-499/1000", tagField),
            .append(BodyPlan(position: 400, end: 500))),
        Row(
            "206 with total unknown, tag equal", byTag, strong,
            head(206, "Content-Range: bytes 400-999/*", tagField), append),
        Row(
            "206 whose weakened tag is equal but for that", byTag, strong,
            head(206, rest, "ETag: W/\"v1\""), .empty(.versionMissing),
            learned: .mishandlesIfRange),
        Row(
            "206 whose weakened tag is equal but for that, with overlap", byOverlap, strong,
            head(206, "Content-Range: bytes 300-999/1000", "ETag: W/\"v1\""),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row(
            "206 without the tag", byTag, strong, head(206, rest), .empty(.versionMissing),
            learned: .mishandlesIfRange),
        Row(
            "206 with another tag", byTag, strong, head(206, rest, "ETag: \"v2\""),
            .restartFromZero(.changed(.etag)), learned: .mishandlesIfRange),
        Row(
            "206 with another date", byDate, dated,
            head(206, rest, "Last-Modified: Tue, 14 Nov 2023 22:13:59 GMT"),
            .restartFromZero(.changed(.lastModified)), learned: .mishandlesIfRange),
        Row(
            "206 of a longer file", byTag, strong,
            head(206, "Content-Range: bytes 400-999/2000", tagField),
            .restartFromZero(.changed(.length)), learned: .mishandlesIfRange),
        Row(
            "206 beyond the recorded length", byTag, strong,
            head(206, "Content-Range: bytes 400-1999/2000", tagField), unusable(.end)),
        Row(
            "206 without Content-Range", byTag, strong, head(206, tagField), unusable(.rangeMissing)
        ),
        Row(
            "206 with two ranges that disagree", byTag, strong,
            head(206, rest, "Content-Range: bytes 0-999/1000", tagField),
            unusable(.rangeMalformed)),
        Row(
            "206 in another unit", byTag, strong,
            head(206, "Content-Range: lines 400-999/1000", tagField), unusable(.rangeMalformed)),
        Row(
            "206 unsatisfied", byTag, strong, head(206, "Content-Range: bytes */1000", tagField),
            unusable(.rangeMalformed)),
        Row(
            "206 from zero", byTag, strong,
            head(206, "Content-Range: bytes 0-999/1000", tagField),
            .append(BodyPlan(compare: 400, position: 0, end: 1000))),
        Row(
            "206 from the beginning of a block", byTag, strong,
            head(206, "Content-Range: bytes 256-999/1000", tagField, "Content-Length: 744"),
            .append(BodyPlan(compare: 144, position: 256, end: 1000))),
        Row(
            "206 from the beginning of a block to the end of one",
            ask(.entityTag("\"v1\""), position: 400, end: 600), strong,
            head(206, "Content-Range: bytes 256-767/1000", tagField),
            .append(BodyPlan(compare: 144, position: 256, end: 600, isCutAtEnd: true))),
        Row(
            "206 of the blocks before", byTag, strong,
            head(206, "Content-Range: bytes 256-399/1000", tagField), .empty(.rangeRefused)),
        Row(
            "206 from the beginning of a block, of another tag", byTag, strong,
            head(206, "Content-Range: bytes 256-999/1000", "ETag: \"v2\""),
            .restartFromZero(.changed(.etag)), learned: .mishandlesIfRange),
        Row(
            "overlap from the beginning of a block", byOverlap, lengthOnly,
            head(206, "Content-Range: bytes 256-999/1000"),
            .append(BodyPlan(compare: 144, position: 256, end: 1000))),
        Row(
            "segment from the beginning of a block to the end of one", segment, strong,
            head(206, "Content-Range: bytes 512-999/1000", tagField),
            .append(BodyPlan(skip: 188, position: 700, end: 800, isCutAtEnd: true))),
        Row(
            "206 that starts a byte late", byTag, strong,
            head(206, "Content-Range: bytes 401-999/1000", tagField), unusable(.start)),
        Row(
            "206 with a Content-Length of its own", byTag, strong,
            head(206, rest, tagField, "Content-Length: 599"), unusable(.length)),
        Row(
            "206 with two Content-Lengths", byTag, strong,
            head(206, rest, tagField, "Content-Length: 600", "Content-Length: 601"),
            unusable(.length)),
        Row(
            "206 in parts", byTag, strong,
            head(206, tagField, "Content-Type: multipart/byteranges; boundary=x"),
            unusable(.multipart)),
        Row(
            "206 compressed", byTag, strong, head(206, rest, tagField, "Content-Encoding: gzip"),
            .restartFromZero(.codingChanged)),
        Row(
            "206 although no range was asked for", fresh, Validator(), head(206, rest),
            unusable(.notAsked)),
        Row(
            "206 although the whole was asked for", skipping, strong, head(206, rest),
            unusable(.notAsked)),
        // Plain Range with overlap: 300…999 was asked for.
        Row(
            "overlap, length alone", byOverlap, lengthOnly,
            head(206, "Content-Range: bytes 300-999/1000"),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row(
            "overlap, weak tag equal", byOverlap, weak,
            head(206, "Content-Range: bytes 300-999/1000", "ETag: W/\"v1\""),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row(
            "overlap, weak tag other", byOverlap, weak,
            head(206, "Content-Range: bytes 300-999/1000", "ETag: W/\"v2\""),
            .restartFromZero(.changed(.etag))),
        Row(
            "overlap, total other", byOverlap, lengthOnly,
            head(206, "Content-Range: bytes 300-899/900"), .restartFromZero(.changed(.length))),
        Row(
            "overlap, total not named", byOverlap, lengthOnly,
            head(206, "Content-Range: bytes 300-999/*"), unusable(.total)),
        Row(
            "overlap, start ignored", byOverlap, lengthOnly, head(206, rest), unusable(.start)),
        Row(
            "segment of a server that mishandles If-Range, tag equal",
            ask(.overlap, position: 700, end: 800, isExtra: true), strong,
            head(206, "Content-Range: bytes 700-799/1000", tagField),
            .append(BodyPlan(position: 700, end: 800))),
        Row(
            "segment of a server that mishandles If-Range, tag left out",
            ask(.overlap, position: 700, end: 800, isExtra: true), strong,
            head(206, "Content-Range: bytes 700-799/1000"), .restartFromZero(.nothingToProve)),
        Row(
            "overlap and not a byte more", byOverlap, lengthOnly,
            head(206, "Content-Range: bytes 300-399/1000"), .empty(.rangeRefused)),
        Row(
            "overlap and there is no more", byOverlap, Validator(lastModified: date),
            head(206, "Content-Range: bytes 300-399/400", dateField),
            .append(BodyPlan(compare: 100, position: 300, end: 400))),
        // A segment in the middle.
        Row(
            "segment as asked", segment, strong,
            head(206, "Content-Range: bytes 700-799/1000", tagField),
            .append(BodyPlan(position: 700, end: 800))),
        Row(
            "segment that goes on", segment, strong,
            head(206, "Content-Range: bytes 700-999/1000", tagField, "Content-Length: 300"),
            .append(BodyPlan(position: 700, end: 800, isCutAtEnd: true))),
        Row(
            "segment that goes on, of another tag", segment, strong,
            head(206, "Content-Range: bytes 700-999/1000", "ETag: \"v2\""),
            .restartFromZero(.changed(.etag)), learned: .mishandlesIfRange),
        Row(
            "segment that goes on beyond the recorded length", segment, strong,
            head(206, "Content-Range: bytes 700-1000/*", tagField), unusable(.end)),
        Row(
            "gap that goes on, as a 200", ask(.entityTag("\"v1\""), position: 400, end: 600),
            strong,
            head(200, rest, tagField, "Content-Length: 600"),
            .append(BodyPlan(position: 400, end: 600, isCutAtEnd: true))),
        Row(
            "gap that goes on, with overlap", ask(.overlap, position: 400, end: 600, overlap: 100),
            lengthOnly, head(206, "Content-Range: bytes 300-999/1000"),
            .append(BodyPlan(compare: 100, position: 300, end: 600, isCutAtEnd: true))),
    ]

    // MARK: 200

    static let wholeRows = [
        Row(
            "fresh", fresh, Validator(), head(200, tagField, "Content-Length: 1000"),
            .fresh(strong, length: 1000)),
        Row(
            "fresh of unknown length", fresh, Validator(), head(200),
            .fresh(Validator(), length: nil)),
        Row(
            "fresh, transformed by a proxy", fresh, Validator(), head(203, "Content-Length: 5"),
            .fresh(Validator(length: 5), length: 5)),
        Row(
            "200 with the pinned tag to If-Range", byTag, strong,
            head(200, tagField, "Content-Length: 1000"), skip, learned: .mishandlesIfRange),
        Row(
            "200 with the pinned tag and no ranges", byTag, strong,
            head(200, tagField, "Content-Length: 1000", "Accept-Ranges: none"), skip,
            learned: .ignoresRanges),
        Row(
            "200 with the pinned tag, chunked", byTag, strong,
            head(200, tagField, "Transfer-Encoding: chunked"), skip, learned: .mishandlesIfRange),
        Row(
            "200 with the pinned date", byDate, dated,
            head(200, dateField, laterField, "Content-Length: 1000"), skip,
            learned: .mishandlesIfRange),
        Row(
            "200 to a plain Range with the pinned tag", byOverlap, strong,
            head(200, tagField, "Content-Length: 1000"), skip, learned: .ignoresRanges),
        Row(
            "200 to a plain Range, weak tag equal", byOverlap, weak,
            head(200, "ETag: W/\"v1\"", "Content-Length: 1000"),
            .skip(BodyPlan(skip: 0, compare: 400, position: 0, end: 1000)),
            learned: .ignoresRanges),
        Row(
            "200 where no range was asked for, tag equal", skipping, strong,
            head(200, tagField, "Content-Length: 1000"), skip),
        Row(
            "200 with all that is held", ask(.entityTag("\"v1\""), position: 1000),
            Validator(etag: "\"v1\""), head(200, tagField, "Content-Length: 1000"),
            .alreadyComplete(length: 1000), learned: .mishandlesIfRange),
        Row(
            "200 with less than is held", byTag, Validator(etag: "\"v1\""),
            head(200, tagField, "Content-Length: 300"),
            .restart(.changed(.length), Validator(etag: "\"v1\"", length: 300))),
        Row(
            "200 with another tag", byTag, strong,
            head(200, "ETag: \"v2\"", "Content-Length: 1000"),
            .restart(.changed(.etag), Validator(etag: "\"v2\"", length: 1000))),
        Row(
            "200 with the pinned tag and another length", byTag, strong,
            head(200, tagField, "Content-Length: 1001"),
            .restart(.changed(.length), Validator(etag: "\"v1\"", length: 1001))),
        Row(
            "200 without validator", byTag, strong, head(200, "Content-Length: 1000"),
            .restart(.validatorMissing, lengthOnly)),
        Row(
            "200 of the recorded length alone", byOverlap, lengthOnly,
            head(200, "Content-Length: 1000"), .restart(.validatorMissing, lengthOnly),
            learned: .ignoresRanges),
        Row(
            "200 compressed", byTag, strong, head(200, tagField, "Content-Encoding: gzip"),
            .restart(.codingChanged, Validator(etag: "\"v1\""))),
        Row(
            "200 where the bytes held are in doubt", doubting, strong,
            head(200, tagField, "Content-Length: 1000"), .restart(.overlapDiffers, strong)),
        Row(
            "segment answered with the whole, tag equal", segment, strong,
            head(200, tagField, "Content-Length: 1000"), .dropSegment),
        Row("segment answered with the whole, no tag", segment, strong, head(200), .dropSegment),
        Row(
            "segment answered with another version", segment, strong, head(200, "ETag: \"v2\""),
            .restartFromZero(.changed(.etag))),
    ]

    // MARK: Other answers

    static let otherRows = [
        Row(
            "416, all held", ask(.entityTag("\"v1\""), position: 1000), Validator(etag: "\"v1\""),
            head(416, "Content-Range: bytes */1000"), .alreadyComplete(length: 1000)),
        Row(
            "416, all held, tag repeated", ask(.overlap, position: 1000, overlap: 0),
            Validator(etag: "\"v1\""), head(416, "Content-Range: bytes */1000", tagField),
            .alreadyComplete(length: 1000)),
        Row(
            "416, all held, nothing proves the version", ask(.overlap, position: 1000, overlap: 0),
            Validator(etag: "\"v1\""), head(416, "Content-Range: bytes */1000"),
            .restartFromZero(.rangeNotSatisfiable(total: 1000))),
        Row(
            "416, all held, another tag", ask(.entityTag("\"v1\""), position: 1000),
            Validator(etag: "\"v1\""), head(416, "Content-Range: bytes */1000", "ETag: \"v2\""),
            .restartFromZero(.changed(.etag))),
        Row(
            "416 with another length", byTag, strong, head(416, "Content-Range: bytes */300"),
            .restartFromZero(.changed(.length))),
        Row(
            "416 with a shorter length, none recorded", byTag, Validator(etag: "\"v1\""),
            head(416, "Content-Range: bytes */300"),
            .restartFromZero(.rangeNotSatisfiable(total: 300))),
        Row(
            "416 without a length", byTag, strong, head(416),
            .restartFromZero(.rangeNotSatisfiable(total: nil))),
        Row(
            "416 with a range", byTag, strong, head(416, rest),
            .restartFromZero(.rangeNotSatisfiable(total: nil))),
        Row(
            "416 although bytes are left", byTag, strong, head(416, "Content-Range: bytes */1000"),
            .empty(.rangeRefused)),
        Row(
            "416 to a segment although bytes are left", segment, strong,
            head(416, "Content-Range: bytes */1000"), .dropSegment),
        Row(
            "416 without having asked", fresh, Validator(), head(416),
            .fail(FailureTable.classify(status: 416))),
        Row("412 to a resume", byTag, strong, head(412), .restartFromZero(.preconditionFailed)),
        Row(
            "412 to a first request", fresh, Validator(), head(412),
            .fail(FailureTable.classify(status: 412))),
        Row("304", byTag, strong, head(304, tagField), .empty(.notModified)),
        Row("304 to a first request", fresh, Validator(), head(304), .empty(.notModified)),
        Row("204", fresh, Validator(), head(204), .empty(.noContent)),
        Row("205", byTag, strong, head(205), .empty(.noContent)),
        Row("202", fresh, Validator(), head(202), .fail(FailureTable.classify(status: 202))),
        Row("101", fresh, Validator(), head(101), .fail(FailureTable.classify(status: 101))),
        Row("redirect", byTag, strong, head(302, "Location: /x"), .redirect),
        Row(
            "redirect that keeps the method", fresh, Validator(), head(308, "Location: /x"),
            .redirect),
        Row(
            "redirect to nowhere", fresh, Validator(), head(302),
            .fail(FailureTable.classify(status: 302))),
        Row(
            "503 with Retry-After", byTag, strong, head(503, "Retry-After: 7"),
            .fail(FailureTable.classify(status: 503, retryAfter: 7))),
        Row("404", byTag, strong, head(404), .fail(FailureTable.classify(status: 404))),
    ]

    // MARK: FTP, SFTP

    static let fileRows = [
        Row(
            "offset honoured", bySizeAndTime, young,
            head(206, "Content-Length: 700", dateField, scheme: .ftp),
            .append(BodyPlan(compare: 100, position: 300))),
        Row(
            "offset honoured, SFTP", bySizeAndTime, young,
            head(206, "Content-Length: 700", dateField, scheme: .sftp),
            .append(BodyPlan(compare: 100, position: 300, end: 1000))),
        Row(
            "more is held than SIZE says", bySizeAndTime,
            Validator(lastModified: date, length: 350),
            head(206, "Content-Length: 50", dateField, scheme: .ftp),
            .append(BodyPlan(compare: 100, position: 300))),
        Row(
            "offset honoured, another size", bySizeAndTime, young,
            head(206, "Content-Length: 701", dateField, scheme: .ftp),
            .restartFromZero(.changed(.length))),
        Row(
            "offset honoured, another time", bySizeAndTime, young,
            head(206, "Content-Length: 700", "Last-Modified: x", scheme: .sftp),
            .restartFromZero(.changed(.lastModified))),
        Row(
            "offset honoured, time not told", bySizeAndTime, young,
            head(206, "Content-Length: 700", scheme: .ftp), .restartFromZero(.nothingToProve)),
        Row(
            "offset not honoured, the same file", bySizeAndTime, young,
            head(200, "Content-Length: 1000", dateField, scheme: .ftp),
            .skip(BodyPlan(compare: 400, position: 0, end: 1000))),
        Row(
            "offset not honoured, another file", bySizeAndTime, young,
            head(200, "Content-Length: 999", dateField, scheme: .ftp),
            .restart(.changed(.length), Validator(lastModified: date, length: 999))),
    ]
}
