internal import LonghaulCore

extension UserConfiguration {
    /// A key of the file: the values that it takes, in words, and what it does. `false` = the value
    /// is not one of those.
    struct Key: Sendable {
        var name: String
        var allowed: String
        var set: @Sendable (ConfigurationValue, inout UserConfiguration) -> Bool
    }

    static let keys: [Key] = [
        Key(name: "autostart", allowed: "true or false") { value, all in
            value.flag.map { all.autostart = $0 } != nil
        },
        Key(name: "defaults.connections", allowed: "auto, or \(range(connections))") { value, all in
            if value.text == "auto" {
                all.defaults.connections = .automatic
                return true
            }
            return value.number(in: connections).map {
                all.defaults.connections = .exactly($0)
            } != nil
        },
        Key(name: "defaults.deadline", allowed: duration + ", and more than 0s") { value, all in
            value.seconds.flatMap { $0 > 0 ? $0 : nil }.map {
                all.defaults.deadline = .after(seconds: $0)
            } != nil
        },
        Key(name: "defaults.ifExists", allowed: "fail, skip, overwrite or rename") { value, all in
            value.text.flatMap { ExistingFilePolicy(rawValue: $0) }.map {
                all.defaults.ifExists = $0
            } != nil
        },
        Key(name: "defaults.limitRate", allowed: size) { value, all in
            value.rate.map { all.defaults.limitRate = $0 } != nil
        },
        Key(name: "defaults.priority", allowed: "high, normal or low") { value, all in
            value.text.flatMap { Priority(name: $0) }.map { all.defaults.priority = $0 } != nil
        },
        Key(name: "defaults.retries", allowed: "a number") { value, all in
            value.number(in: 0...Int(Int32.max)).map { all.defaults.retries = $0 } != nil
        },
        Key(name: "defaults.stallTimeout", allowed: duration + ", and more than 0s") {
            value, all in
            value.seconds.flatMap { $0 > 0 ? $0 : nil }.map { all.defaults.stallTimeout = $0 }
                != nil
        },
        Key(name: "defaults.waiveAfter", allowed: duration) { value, all in
            value.seconds.map { all.defaults.waiveAfter = $0 } != nil
        },
        Key(name: "defaults.yield", allowed: "true or false") { value, all in
            value.flag.map { all.defaults.yields = $0 } != nil
        },
        Key(name: "limits.perOrigin", allowed: range(places)) { value, all in
            value.number(in: places).map { all.limits.perOrigin = $0 } != nil
        },
        Key(name: "limits.rate", allowed: size) { value, all in
            value.rate.map { all.limits.rates.bytesPerSecond = $0 } != nil
        },
        Key(
            name: "limits.rates",
            allowed: "a list of windows and rates, as [\"08:00-18:00 2M\", \"22:00-06:00 none\"]"
        ) { value, all in
            value.texts.flatMap(parts).map { all.limits.rates.parts = $0 } != nil
        },
        Key(name: "limits.running", allowed: range(places)) { value, all in
            value.number(in: places).map { all.limits.running = $0 } != nil
        },
    ]

    private static let connections = 1...Limits.segmentsPerFetch
    /// The transport has room for so many.
    private static let places = 1...64
    private static let duration = "a duration, as 90s, 15m, 2h or 7d"
    private static let size = "bytes a second, as 500000, 500K or 2M"

    private static func range(_ range: ClosedRange<Int>) -> String {
        "a number from \(range.lowerBound) to \(range.upperBound)"
    }

    private static func parts(_ texts: [String]) -> [RatePlan.Part]? {
        var parts: [RatePlan.Part] = []
        for text in texts {
            let words = text.split(separator: " ")
            guard words.count == 2, let window = TimeWindow(parsing: words[0]) else { return nil }
            let rate = SizeText.parse(String(words[1]))
            guard words[1] == "none" || (rate ?? 0) > 0 else { return nil }
            parts.append(RatePlan.Part(window: window, bytesPerSecond: rate))
        }
        return parts
    }
}
