/// Days of the week, at least one: `Mon-Fri`, `Sat,Sun`, `Mon,Wed-Fri`.
public struct Weekdays: Hashable, Sendable {
    /// Bit 0 = Monday … bit 6 = Sunday.
    package let bits: Int

    /// Every day of the week.
    public static let all = Weekdays(bits: 0x7F)

    private static let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    private init(bits: Int) { self.bits = bits }

    /// The days whose bits are set, see ``bits``; `nil` when no bit is set.
    package init?(storedBits bits: Int) {
        guard (1...0x7F).contains(bits) else { return nil }
        self.init(bits: bits)
    }

    /// Reads names of three letters, in any case, and ranges of them, with commas between. A range
    /// may pass the end of the week: `Sat-Mon`. `nil` for anything else.
    public init?(parsing text: some StringProtocol) {
        var bits = 0
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = item.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count <= 2, let first = Weekdays.index(of: ends[0]),
                let last = Weekdays.index(of: ends[ends.count - 1])
            else { return nil }
            for day in first...(last < first ? last + 7 : last) { bits |= 1 << (day % 7) }
        }
        self.init(bits: bits)
    }

    private static func index(of name: some StringProtocol) -> Int? {
        names.firstIndex { $0.lowercased() == name.lowercased() }
    }

    /// True if the set has the day.
    ///
    /// - Parameter day: Counted from 1970-01-01, a Thursday; local.
    package func contains(day: Int64) -> Bool {
        bits >> Int((day + 3).flooredDivision(by: 7).remainder) & 1 != 0
    }
}

extension Weekdays: CustomStringConvertible {
    /// The text that ``init(parsing:)`` reads: `Mon-Fri`, `Sat,Sun`. Three days and more in a row
    /// are a range.
    public var description: String {
        var parts: [String] = []
        var day = 0
        while day < 7 {
            guard bits >> day & 1 != 0 else {
                day += 1
                continue
            }
            var last = day
            while last < 6, bits >> (last + 1) & 1 != 0 { last += 1 }
            if last - day >= 2 {
                parts.append("\(Weekdays.names[day])-\(Weekdays.names[last])")
            } else {
                parts += Weekdays.names[day...last]
            }
            day = last + 1
        }
        return parts.joined(separator: ",")
    }
}
