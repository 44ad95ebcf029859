internal import Configuration
internal import LonghaulCore

/// A value of the file, as what it may be taken for; `nil` = it is something else.
struct ConfigurationValue {
    let snapshot: JSONSnapshot
    let name: String
    /// As it is written.
    let raw: String

    var text: String? {
        if case .string(let text) = content(.string) { return text }
        return nil
    }

    /// JSON's words only: the library takes numbers too.
    var flag: Bool? {
        guard raw == "true" || raw == "false", case .bool(let flag) = content(.bool) else {
            return nil
        }
        return flag
    }

    var texts: [String]? {
        if case .stringArray(let texts) = content(.stringArray) { return texts }
        return nil
    }

    /// And it takes true and false for numbers.
    func number(in range: ClosedRange<Int>) -> Int? {
        guard raw.utf8.allSatisfy(\.isASCIIDigit), case .int(let number) = content(.int),
            range.contains(number)
        else { return nil }
        return number
    }

    var seconds: Double? { text.flatMap(DurationText.parse) }

    /// A number, or a text with a unit.
    var rate: Int64? {
        let rate = text.map { SizeText.parse($0) } ?? number(in: 1...Int.max).map(Int64.init)
        return rate.flatMap { $0 > 0 ? $0 : nil }
    }

    private func content(_ type: ConfigType) -> ConfigContent? {
        let key = AbsoluteConfigKey(name.split(separator: ".").map(String.init))
        return (try? snapshot.value(forKey: key, type: type))?.value?.content
    }
}
