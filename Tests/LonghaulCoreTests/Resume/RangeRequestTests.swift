import LonghaulCore
import Testing

@Suite struct RangeRequestTests {
    private static let kib: Int64 = 1024
    private static let date = "Tue, 14 Nov 2023 22:13:00 GMT"
    private static let tag = Validator(etag: "\"a\"", length: 1000 * kib)
    private static let weak = Validator(etag: "W/\"a\"", length: 1000 * kib)
    private static let dated = Validator(
        lastModified: date, lastModifiedIsStrong: true, length: 1000 * kib)
    private static let young = Validator(lastModified: date, length: 1000 * kib)
    private static let lengthOnly = Validator(length: 1000 * kib)

    private enum Origin { case plain, mishandlesIfRange, ignoresRanges }

    private static func memory(_ kind: Origin) -> OriginMemory {
        var memory = OriginMemory(origin: "http://h:80")
        memory.mishandlesIfRange = kind == .mishandlesIfRange
        memory.ignoresRanges = kind == .ignoresRanges
        return memory
    }

    /// The ladder: 100 KiB are held from the start, the rest is asked for.
    private static let ladder: [(Validator?, Origin, RangeRequest.Proof, Int64)] = [
        (tag, .plain, .entityTag("\"a\""), 100),
        (dated, .plain, .date(date), 100),
        (weak, .plain, .overlap, 36),
        (young, .plain, .overlap, 36),
        (lengthOnly, .plain, .overlap, 36),
        (Validator(), .plain, .restarting(.nothingToProve), 0),
        (nil, .plain, .restarting(.nothingToProve), 0),
        // A strong date beside a weak tag may not go into If-Range (RFC 9110 §13.1.5).
        (
            Validator(etag: "W/\"a\"", lastModified: date, lastModifiedIsStrong: true), .plain,
            .overlap, 36
        ),
        (tag, .mishandlesIfRange, .overlap, 36),
        (dated, .mishandlesIfRange, .overlap, 36),
        (weak, .mishandlesIfRange, .overlap, 36),
        (Validator(), .mishandlesIfRange, .restarting(.nothingToProve), 0),
        // Who has once ignored ranges is asked for them all the same.
        (tag, .ignoresRanges, .entityTag("\"a\""), 100),
        (dated, .ignoresRanges, .date(date), 100),
        (weak, .ignoresRanges, .overlap, 36),
        (nil, .ignoresRanges, .restarting(.nothingToProve), 0),
    ]

    @Test(arguments: 0..<16) func rung(row: Int) {
        let (validator, origin, proof, startKiB) = Self.ladder[row]
        let ask = RangeRequest.plan(
            from: 100 * Self.kib, held: ByteRanges(0..<100 * Self.kib), validator: validator,
            origin: Self.memory(origin), scheme: .http)
        #expect(ask.proof == proof)
        #expect(ask.start == startKiB * Self.kib)
        #expect(ask.headers["Accept-Encoding"] == "identity")
        #expect(ask.headers["Range"] == (ask.sendsRange ? "bytes=\(startKiB * Self.kib)-" : nil))
        switch proof {
        case .entityTag(let value), .date(let value): #expect(ask.headers["If-Range"] == value)
        case .nothingHeld, .overlap, .digest, .sizeAndTime, .skipping, .restarting:
            #expect(ask.headers["If-Range"] == nil)
        }
    }

    @Test func nothingHeld() {
        for validator in [nil, Self.tag] {
            let ask = RangeRequest.plan(
                from: 0, to: 10, held: ByteRanges(), validator: validator, origin: nil,
                scheme: .http)
            #expect(ask.proof == .nothingHeld)
            #expect(ask.headers.fields.map(\.name) == ["Accept-Encoding"])
        }
    }

    @Test func aBoundedRangeEndsBeforeItsEnd() {
        let ask = RangeRequest.plan(
            from: 10, to: 20, held: ByteRanges(0..<10), validator: Self.tag, origin: nil,
            scheme: .http)
        #expect(ask.headers["Range"] == "bytes=10-19")
    }

    /// All that is held is compared: no record of the version is needed.
    @Test func aShortPrefixProvesItself() {
        let ask = RangeRequest.plan(
            from: 100, held: ByteRanges(0..<100), validator: nil, origin: nil, scheme: .http)
        #expect(ask.proof == .overlap)
        #expect(ask.start == 0 && ask.overlap == 100)
    }

    @Test func theOverlapStaysInsideWhatIsHeld() {
        var held = ByteRanges(0..<10)
        held.insert(20..<30)
        let ask = RangeRequest.plan(
            from: 30, to: 40, held: held, validator: Self.weak, origin: nil, scheme: .http)
        #expect(ask.start == 20 && ask.overlap == 10 && ask.isExtra)
    }

    /// A segment with nothing before it can be compared with nothing: only a strong validator
    /// carries it.
    @Test func segmentsNeedAStrongValidator() {
        let held = ByteRanges(0..<10)
        func ask(_ validator: Validator?, _ origin: Origin) -> RangeRequest {
            RangeRequest.plan(
                from: 500, to: 600, held: held, validator: validator, origin: Self.memory(origin),
                scheme: .http)
        }
        #expect(ask(Self.tag, .plain).proof == .entityTag("\"a\""))
        #expect(ask(Self.tag, .mishandlesIfRange).proof == .overlap)
        #expect(ask(Self.tag, .mishandlesIfRange).overlap == 0)
        #expect(ask(Self.weak, .plain).proof == .restarting(.nothingToProve))
        #expect(ask(nil, .plain).proof == .restarting(.nothingToProve))
    }

    @Test(arguments: [ResponseHead.Scheme.ftp, .sftp])
    func filesWithoutTags(scheme: ResponseHead.Scheme) {
        let held = ByteRanges(0..<100 * Self.kib)
        func ask(_ validator: Validator?) -> RangeRequest {
            RangeRequest.plan(
                from: 100 * Self.kib, held: held, validator: validator, origin: nil,
                scheme: scheme)
        }
        #expect(ask(Self.young).proof == .sizeAndTime)
        #expect(ask(Self.young).start == 36 * Self.kib)
        #expect(ask(Self.lengthOnly).proof == .overlap)
        #expect(ask(Self.lengthOnly).start == 36 * Self.kib)
        #expect(ask(nil).proof == .restarting(.nothingToProve))
        // Of the beginning, before which there is nothing to compare.
        let first = RangeRequest.plan(
            from: 0, to: 10, held: ByteRanges(10..<20), validator: Self.young, origin: nil,
            scheme: scheme)
        #expect(first.proof == .restarting(.nothingToProve))
    }

    @Test func wholeFile() {
        let held = ByteRanges(0..<10)
        let trusting = RangeRequest.wholeFile(
            because: .noBytes, held: held, trustHeld: true)
        #expect(trusting.proof == .skipping && trusting.position == 10)
        let doubting = RangeRequest.wholeFile(
            because: .overlapDiffers, held: held, trustHeld: false)
        #expect(doubting.proof == .restarting(.overlapDiffers) && doubting.position == 0)
        let empty = RangeRequest.wholeFile(
            because: .noBytes, held: ByteRanges(), trustHeld: true)
        #expect(empty.proof == .nothingHeld)
        for ask in [trusting, doubting, empty] { #expect(ask.headers["Range"] == nil) }
        // What a cache has stored brought nothing.
        #expect(
            [trusting, doubting, empty].map { $0.headers["Cache-Control"] }
                == ["no-cache", nil, "no-cache"])
    }
}
