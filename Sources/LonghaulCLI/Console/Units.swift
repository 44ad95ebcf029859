import Longhaul

/// Numbers as people read them. Binary units, as `--limit-rate 10M` means them too.
enum Units {
    static func size(_ bytes: Int64) -> String { SizeText.shown(bytes) }

    static func rate(_ bytesPerSecond: Double) -> String {
        let bounded = min(max(bytesPerSecond.isFinite ? bytesPerSecond : 0, 0), 1e18)
        return size(Int64(bounded)) + "/s"
    }

    /// `1.2/2.6 GiB`: the unit once where both share it.
    static func progress(_ done: Int64, of total: Int64?) -> String {
        guard let total else { return size(done) }
        let (doneNumber, doneUnit) = SizeText.scaled(done)
        let (totalNumber, totalUnit) = SizeText.scaled(total)
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
}
