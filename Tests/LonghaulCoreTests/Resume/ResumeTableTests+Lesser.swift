import LonghaulCore

/// Rows of answers with less than is held that name no version, and of wholes that come as parts.
extension ResumeTableTests {
    // MARK: Less than is held, without a version

    static let lesser = ResumeDecision.fail(.lesserWhole)
    static let comparedWhole = ResumeDecision.skip(
        BodyPlan(skip: 0, compare: 400, position: 0, end: 1000))

    static func doubted(_ validator: Validator, _ count: Int) -> Validator {
        var validator = validator
        validator.doubts = count
        return validator
    }

    static func holding(_ held: Int64, _ ask: RangeRequest) -> RangeRequest {
        var ask = ask
        ask.held = held
        return ask
    }

    static let lesserRows: [Row] = {
        let types = ["application/json", "application/xml", "text/plain", "image/png"]
        let chunked = "Transfer-Encoding: chunked"
        let empty = "Content-Length: 0"
        var rows = types.map { type in
            Row(
                "a few words of \(type)", byTag, strong,
                head(200, "Content-Type: \(type)", "Content-Length: 30"), lesser)
        }
        rows += [strong, weak, dated, young, lengthOnly, Validator(), Validator(etag: "\"v1\"")].map
        {
            Row("nothing where \($0) is pinned", byOverlap, $0, head(200, empty), lesser)
        }
        return rows + [
            Row("nothing, to a date", byDate, dated, head(203, empty), lesser),
            Row(
                "nothing to a request for the whole", skipping, strong, head(200, empty), lesser),
            Row(
                "nothing where the bytes held are in doubt", holding(400, doubting), strong,
                head(200, empty), lesser),
            Row(
                "less than the file that had a name", byTag, strong,
                head(200, "Content-Length: 999"), lesser),
            Row(
                "less than the file, and more than is held, of a file without a name", byOverlap,
                lengthOnly, head(200, "Content-Length: 999"),
                .restart(.changed(.length), Validator(length: 999))),
            Row(
                "a part of something small as a whole", holding(400, doubting), strong,
                head(206, "Content-Range: bytes 0-29/30", "Content-Length: 30"), lesser),
            Row(
                "of a length that is not told: compared", byTag, strong, head(200, chunked),
                comparedWhole),
            Row(
                "… where nothing is known of the file", skipping, Validator(), head(200, chunked),
                .skip(BodyPlan(skip: 0, compare: 400, position: 0))),
            Row(
                "… when it was found to be another", holding(400, doubting), strong,
                head(200, chunked), lesser),
            Row(
                "… in another coding", byTag, strong, head(200, chunked, "Content-Encoding: gzip"),
                lesser),
            Row(
                "a part of something small", byTag, strong,
                head(206, "Content-Range: bytes 0-29/30", "Content-Length: 30"), lesser),
            Row(
                "a part of something small, with a version", byTag, strong,
                head(206, "Content-Range: bytes 0-29/30", "ETag: \"v2\""),
                .restartFromZero(.changed(.length)), learned: .mishandlesIfRange),
            Row("once more", byTag, doubted(strong, 2), head(200, empty), lesser),
            Row(
                "too often", byTag, doubted(strong, 3), head(200, empty),
                .restart(.changed(.length), Validator(length: 0))),
            Row(
                "too often, of a length that is not told", byTag, doubted(strong, 3),
                head(200, chunked), .restart(.validatorMissing, Validator())),
            Row(
                "with a version", byTag, strong, head(200, empty, "ETag: \"v2\""),
                .restart(.changed(.length), Validator(etag: "\"v2\"", length: 0))),
            Row(
                "nothing to a segment", segment, doubted(strong, 9), head(200, chunked),
                .dropSegment),
            Row(
                "nothing at the beginning", fresh, Validator(), head(200, empty),
                .fresh(Validator(length: 0), length: 0)),
            Row(
                "a file over FTP that has become small", holding(400, doubting), lengthOnly,
                head(200, "Content-Length: 30", scheme: .ftp), lesser),
            Row(
                "a file over FTP that has become small, with its time", holding(400, doubting),
                young, head(200, "Content-Length: 30", dateField, scheme: .ftp),
                .restart(
                    .overlapDiffers, Validator(lastModified: date, length: 30))),
        ]
    }()

    // MARK: 206 to a request for the whole

    static func pastCaches(_ ask: RangeRequest) -> RangeRequest {
        var ask = ask
        ask.bypassesCaches = true
        return ask
    }

    static let wholePartRows = [
        Row(
            "206 of the whole to a first request", fresh, Validator(),
            head(206, "Content-Range: bytes 0-999/1000", tagField, "Content-Length: 1000"),
            .fresh(strong, length: 1000)),
        Row(
            "206 of the whole, chunked", fresh, Validator(),
            head(206, "Content-Range: bytes 0-999/1000", "Transfer-Encoding: chunked"),
            .fresh(lengthOnly, length: 1000)),
        Row(
            "206 of the beginning to a first request", fresh, Validator(),
            head(206, "Content-Range: bytes 0-499/1000", "Content-Length: 500"),
            .fresh(lengthOnly, length: 1000)),
        Row(
            "206 of the whole where the whole was asked for", skipping, strong,
            head(206, "Content-Range: bytes 0-999/1000", tagField), skip),
        Row(
            "206 without Content-Range to a first request", fresh, Validator(),
            head(206, "Content-Length: 1000"), unusable(.notAsked)),
        Row(
            "206 without Content-Range once more, past the caches", pastCaches(fresh), Validator(),
            head(206, "Content-Length: 1000"), .fresh(Validator(), length: nil)),
        Row(
            "206 of what may be the whole, past the caches", pastCaches(fresh), Validator(),
            head(206, "Content-Range: bytes 0-999/*", "Content-Length: 1000"), unusable(.notAsked)),
        Row(
            "206 of the whole without a unit, past the caches", pastCaches(fresh), Validator(),
            head(206, "Content-Range: 0-999/1000", "Content-Length: 1000"),
            .fresh(Validator(), length: nil)),
    ]
}
