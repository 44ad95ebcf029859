import Longhaul

/// Numbers as people read them. Binary units, as `--limit-rate 10M` means them too.
enum Units {
    private static let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    static func size(_ bytes: Int64) -> String {
        let (number, unit) = scaled(bytes)
        return "\(number) \(unit)"
    }

    static func rate(_ bytesPerSecond: Double) -> String {
        let bounded = min(max(bytesPerSecond.isFinite ? bytesPerSecond : 0, 0), 1e18)
        return size(Int64(bounded)) + "/s"
    }

    /// `1.2/2.6 GiB`: the unit once where both share it.
    static func progress(_ done: Int64, of total: Int64?) -> String {
        guard let total else { return size(done) }
        let (doneNumber, doneUnit) = scaled(done)
        let (totalNumber, totalUnit) = scaled(total)
        if doneUnit == totalUnit { return "\(doneNumber)/\(totalNumber) \(totalUnit)" }
        return "\(doneNumber) \(doneUnit)/\(totalNumber) \(totalUnit)"
    }

    /// Rounded down: 100 means that nothing is missing.
    static func percent(_ done: Int64, of total: Int64?) -> String {
        guard let total else { return "?" }
        if total <= 0 { return "100%" }
        let part = Double(min(max(done, 0), total)) / Double(total) * 100
        return "\(done >= total ? 100 : min(99, Int(part)))%"
    }

    /// The two largest units: `45s`, `2m10s`, `3h05m`, `2d4h`.
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e10 else { return "?" }
        let whole = Int(max(0, seconds).rounded())
        switch whole {
        case ..<60: return "\(whole)s"
        case ..<3600: return "\(whole / 60)m\(twoDigits(whole % 60))s"
        case ..<86_400: return "\(whole / 3600)h\(twoDigits(whole / 60 % 60))m"
        default: return "\(whole / 86_400)d\(whole / 3600 % 24)h"
        }
    }

    /// `1,234,567`
    static func count(_ number: Int) -> String {
        let digits = Array(String(abs(number)))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    static func counted(_ number: Int, _ noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    /// One digit after the point below 100, none above.
    private static func scaled(_ bytes: Int64) -> (number: String, unit: String) {
        var unit = 0
        var value = Double(max(0, bytes))
        // 1023.95 would show as 1024.0.
        while value >= (unit == 0 ? 1024 : 1023.5), unit < names.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return ("\(Int64(value))", names[0]) }
        if value >= 99.95 { return ("\(Int64(value.rounded()))", names[unit]) }
        let tenths = Int64((value * 10).rounded())
        return ("\(tenths / 10).\(tenths % 10)", names[unit])
    }
}
