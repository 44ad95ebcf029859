internal import LonghaulCore

extension UserConfiguration {
    /// A key of the file: its allowed values, in words, and its effect. `false` = the value is not
    /// allowed.
    struct Key: Sendable {
        var name: String
        var allowed: String
        var set: @Sendable (ConfigurationValue, inout UserConfiguration) -> Bool
    }

    static let keys: [Key] = (own + RequestField.all.compactMap(key)).sorted { $0.name < $1.name }

    /// The key that sets a default of new transfers.
    private static func key(_ field: RequestField) -> Key? {
        field.configured.map { allowed in
            Key(name: "defaults." + field.key, allowed: allowed) { value, all in
                var fields = all.defaults.fields
                let source = FieldSource(name: field.key, context)
                guard let input = value.input(field.shape),
                    (try? fields.read(field, input, source)) != nil,
                    field.defect?(fields.request) == nil
                else { return false }
                // A file that is read again and again names no moment.
                if case .at = fields.request.deadline { return false }
                all.defaults.fields = fields
                return true
            }
        }
    }

    private static let context = InputContext(
        now: Timestamp(milliseconds: 0), secondsFromUTC: { _ in 0 }, directory: .success("/"))

    private static let own: [Key] = [
        Key(name: "autostart", allowed: "true or false") { value, all in
            value.flag.map { all.autostart = $0 } != nil
        },
        Key(name: "limits.perOrigin", allowed: range(Limits.configuredAtOnce)) { value, all in
            value.number(in: Limits.configuredAtOnce).map { all.limits.perOrigin = $0 } != nil
        },
        Key(name: "limits.rate", allowed: RequestField.rate) { value, all in
            value.rate.map { all.limits.rates.bytesPerSecond = $0 } != nil
        },
        Key(
            name: "limits.rates",
            allowed: "a list of windows and rates, as [\"08:00-18:00 2M\", \"22:00-06:00 none\"]"
        ) { value, all in
            value.texts.flatMap(parts).map { all.limits.rates.parts = $0 } != nil
        },
        Key(name: "limits.running", allowed: range(Limits.configuredAtOnce)) { value, all in
            value.number(in: Limits.configuredAtOnce).map { all.limits.running = $0 } != nil
        },
        Key(
            name: "notify.command",
            allowed: "a list of texts, the absolute path of a program and its arguments"
        ) { value, all in
            value.texts.flatMap { $0.first?.isAbsolutePath == true ? $0 : nil }.map {
                all.notices.command = $0
            } != nil
        },
        Key(name: "notify.desktop", allowed: "true or false") { value, all in
            value.flag.map { all.notices.desktop = $0 } != nil
        },
        Key(name: "retention.ended", allowed: RequestField.duration) { value, all in
            value.seconds.map { all.limits.retention.ended = $0 } != nil
        },
        Key(name: "retention.events", allowed: RequestField.duration) { value, all in
            value.seconds.map { all.limits.retention.events = $0 } != nil
        },
        Key(name: "retention.parts", allowed: RequestField.duration + ", and at least 3d") {
            value, all in
            value.seconds.flatMap { $0 >= Limits.partNoticeSeconds ? $0 : nil }.map {
                all.limits.retention.parts = $0
            } != nil
        },
        Key(name: "serve.directories", allowed: "a list of absolute paths") { value, all in
            value.texts.flatMap { $0.allSatisfy(\.isAbsolutePath) ? $0 : nil }.map {
                all.servedDirectories = $0
            } != nil
        },
    ]

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
