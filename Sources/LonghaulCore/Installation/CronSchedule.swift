internal import LonghaulModel

/// When cron runs something: the first five fields of a line of crontab(5), or one of its names.
///
/// What cron would refuse is refused here, before anything is touched.
package struct CronSchedule: Hashable, Sendable {
    /// Five fields with one space between them, or `@hourly` and the like.
    package let text: String

    package struct Problem: Error, Hashable, CustomStringConvertible {
        package var description: String
    }

    package init(parsing text: String) throws(Problem) {
        let fields = text.split { $0 == " " || $0 == "\t" }
        if fields.count == 1, let name = fields.first, name.first == "@" {
            guard CronSchedule.names.contains(name.lowercased()) else {
                throw Problem(
                    description: "'\(name)' is none of \(CronSchedule.names.joined(separator: " "))"
                )
            }
            self.text = name.lowercased()
            return
        }
        guard fields.count == Field.all.count else {
            throw Problem(
                description:
                    "a schedule is five fields (minute, hour, day of month, month, day of week), "
                    + "as */30 * * * *, or a name, as @hourly")
        }
        for (field, text) in zip(Field.all, fields) { try field.check(text) }
        self.text = fields.joined(separator: " ")
    }

    private static let names = [
        "@reboot", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually",
    ]

    /// The five fields of a name.
    private static let fields = [
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
    ]

    /// The schedule some whole minutes later, so that the machines of a fleet do not begin at one
    /// moment. The hour stays, unless the schedule has every hour.
    ///
    /// - Parameters:
    ///   - seconds: The bound of the delay, up to an hour.
    ///   - place: The place of the machine among others, 0 ..< 1.
    package func spread(within seconds: Double, place: Double) throws(Problem) -> CronSchedule {
        guard (0...3600).contains(seconds) else {
            throw Problem(description: "a spread of cron's times is 1h at most")
        }
        let text = CronSchedule.fields[text] ?? text
        let parts = text.split(separator: " ")
        guard parts.count == Field.all.count else {
            throw Problem(description: "'\(text)' has no minute to spread")
        }
        let minutes = Field.all[0].values(parts[0])
        let isEveryHour = parts[1] == "*"
        let room = isEveryHour ? 60 : 60 - (minutes.max() ?? 0)
        let delay = Int(Double(min(Int(seconds) / 60, room)) * place)
        let later = Set(minutes.map { ($0 + delay) % 60 }).sorted()
        let field = later.count == 60 ? "*" : later.map(String.init).joined(separator: ",")
        return try CronSchedule(
            parsing: ([field] + parts.dropFirst().map(String.init)).joined(separator: " "))
    }
}

private struct Field {
    let name: String
    let range: ClosedRange<Int>
    /// Names of the values from the first one on, by their first three letters.
    var words: [String] = []

    static let all = [
        Field(name: "minute", range: 0...59),
        Field(name: "hour", range: 0...23),
        Field(name: "day of month", range: 1...31),
        Field(
            name: "month", range: 1...12,
            words: [
                "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
            ]),
        // Sunday is 0 and 7.
        Field(
            name: "day of week", range: 0...7,
            words: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ]

    /// A list of `*`, values and ranges, the latter with steps.
    func check(_ text: Substring) throws(CronSchedule.Problem) {
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(
                separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 {
                guard let step = number(parts[1]), step > 0, step <= range.upperBound + 1,
                    parts[0] == "*" || parts[0].contains("-")
                else { throw problem(item) }
            }
            if parts[0] == "*" { continue }
            let ends = parts[0].split(
                separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            var last: Int?
            for end in ends {
                guard let value = value(end), range.contains(value), value >= last ?? value else {
                    throw problem(item)
                }
                last = value
            }
        }
    }

    /// All values of a text that ``check(_:)`` has let pass.
    func values(_ text: Substring) -> Set<Int> {
        var values: Set<Int> = []
        for item in text.split(separator: ",") {
            let parts = item.split(separator: "/")
            let ends = parts[0].split(separator: "-").compactMap(value)
            let first = ends.first ?? range.lowerBound
            let last = ends.last ?? range.upperBound
            let step = parts.count == 2 ? number(parts[1]) ?? 1 : 1
            values.formUnion(stride(from: first, through: last, by: step))
        }
        return values
    }

    private func value(_ text: Substring) -> Int? {
        number(text) ?? words.firstIndex(of: text.lowercased()).map { $0 + range.lowerBound }
    }

    /// Digits alone: `Int` would take a sign too.
    private func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy(\.isASCIIDigit) ? Int(text) : nil
    }

    private func problem(_ item: Substring) -> CronSchedule.Problem {
        CronSchedule.Problem(
            description:
                "'\(item)' is no \(name); it is \(range.lowerBound) to \(range.upperBound), a "
                + "range as 1-5, a list, or * or a range with a step, as */15")
    }
}
