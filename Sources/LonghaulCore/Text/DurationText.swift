/// Durations as people type them: `90s`, `15m`, `2h`, `7d`, and put together `2h30m`; `250ms` too.
package enum DurationText {
    /// Seconds; `nil` for anything else, a bare number included: nobody knows its unit.
    package static func parse(_ text: String) -> Double? {
        var rest = Substring(text)
        var seconds = 0.0
        var last = Double.infinity
        if rest.isEmpty { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            guard let number = Double(digits), digits.first != ".", digits.last != "."
            else { return nil }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            guard let unit = unit(name), unit < last else { return nil }
            last = unit
            seconds += number * unit
            rest = rest.dropFirst(name.count)
        }
        // A thousand years is as good as for ever, and cannot overflow a timestamp.
        return seconds <= 3.2e10 ? seconds : nil
    }

    private static func unit(_ name: Substring) -> Double? {
        switch name {
        case "d": 86_400
        case "h": 3600
        case "m": 60
        case "s": 1
        case "ms": 0.001
        default: nil
        }
    }
}
