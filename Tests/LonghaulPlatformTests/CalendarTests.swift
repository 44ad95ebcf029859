import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

private let analyzer = "/usr/bin/systemd-analyze"

/// The moments of a calendar are those of systemd.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: analyzer)))
struct CalendarTests {
    static let texts = [
        "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly",
        "Mon *-*-01..07 03:00", "Mon", "mon..fri", "Monday,Sat 10:00", "Mon..Wed,Sat,Sun 10:00",
        "*:0/5", "*:7/13", "0/6:00", "2..4:00/5", "8..18/2:30", "00:00:*", "*:0/20:0/25",
        "2-29", "02-29 Mon", "*-*-31", "*-02-30", "2028-02-29", "2020-01-01", "*-*-1,15 12:00",
        "*-1,4,7-1/7 1,2:3,4:5,6", "2027..2029/2-01-01", "*-*~1", "*-*~01..07", "*-*~07/1",
        "Mon *-*~07/1", "Fri *-12~3/1 23:59:59", "*-02~03", "27-3-4 05:40", "*-*-05..20/4",
        "10:00 UTC", "monthly utc", "Sat *-*-* 24:00", "*:*/5", "12", "Mon,Foo", "1..:00",
        "*-*-0", "*-13-01", "10:60", "10:00:00:00", "10-", "-1", "5/0:00", "Mon 10:00 11:00",
    ]

    private func moments(_ text: String, _ base: String) async throws -> [String]? {
        let result = try await CLIProcess.run(
            analyzer, ["calendar", "--iterations=4", "--base-time=\(base)", text],
            environment: ["TZ": "UTC", "LC_ALL": "C"])
        if result.status != 0 { return nil }
        return result.output.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            let isMoment = line.contains("Next elapse:") || line.contains("Iter. #")
            guard isMoment, words.last == "UTC", words.count > 3 else { return nil }
            return "\(words[words.count - 3])T\(words[words.count - 2]).000Z"
        }
    }

    @Test(arguments: ["2026-11-29 17:00:00", "2027-12-31 23:59:59", "2028-02-28 12:34:56"])
    func theMomentsAreThoseOfSystemd(base: String) async throws {
        let start = try #require(RFC3339.parse(base.replacing(" ", with: "T") + "Z"))
        for text in Self.texts {
            let expected = try await moments(text, base)
            let calendar = CalendarMoments(parsing: text)
            // A zone is checked by its caller.
            let isKnown = calendar.map { $0.zone == nil || $0.zone == "UTC" } ?? false
            #expect(isKnown == (expected != nil), "\(text)")
            guard isKnown, let calendar, let expected else { continue }
            var found: [String] = []
            var now = start
            while found.count < expected.count, let next = calendar.next(after: now, .utc) {
                found.append(RFC3339.format(next))
                now = next
            }
            #expect(found == expected, "\(text)")
            if expected.isEmpty { #expect(calendar.next(after: now, .utc) == nil, "\(text)") }
        }
    }
}
