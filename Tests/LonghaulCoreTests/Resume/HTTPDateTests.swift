import LonghaulCore
import Testing

@Suite struct HTTPDateTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)  // 2023-11-14T22:13:20Z

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
        ("Tue, 31 Dec 2024 23:59:60 GMT", 1_735_689_600),
        ("Friday, 01-Jan-73 00:00:00 GMT", 3_250_454_400),
        ("Friday, 01-Jan-74 00:00:00 GMT", 126_230_400),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ])
    func parsed(text: String, seconds: Int64) {
        #expect(HTTPDate.parse(text, now: now) == Timestamp(milliseconds: seconds * 1000))
    }

    @Test(arguments: [
        "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z", "Fri, 29 Feb 2023 00:00:00 GMT",
    ])
    func refused(text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test func formatted() {
        let time = Timestamp(milliseconds: 784_111_777_999)
        #expect(HTTPDate.format(time) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    /// Every day of eight centuries there and back, weekday and all.
    @Test func everyDay() {
        for day in Int64(-135_140)...157_054 {  // 1600-01-01 … 2400-01-01
            let time = Timestamp(milliseconds: day * 86_400_000)
            let civil = CivilTime(time)
            if civil.timestamp != time || !civil.isValid || !(0...6).contains(civil.weekday) {
                Issue.record("day \(day)")
            }
        }
        #expect(CivilTime(Timestamp(milliseconds: -135_140 * 86_400_000)).year == 1600)
        #expect(CivilTime(Timestamp(milliseconds: 157_054 * 86_400_000)).year == 2400)
    }

    @Test(arguments: 0..<10) func thereAndBack(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1000 {
            let seconds = Int64.random(in: 0...253_402_300_799, using: &random)
            let time = Timestamp(milliseconds: seconds * 1000)
            #expect(HTTPDate.parse(HTTPDate.format(time), now: now) == time, "seed \(seed)")
        }
    }
}
