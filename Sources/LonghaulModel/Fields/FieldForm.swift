/// How a field's value is written in JSON and on the command line.
package enum FieldShape: Sendable {
    /// A string.
    case text
    /// A number, or a string as it is typed.
    case number
    /// `true` or `false`; a flag of the command line.
    case flag
    /// `true` or `false`; `on` or `off` on the command line.
    case onOff
    /// Seconds, or a string as it is typed.
    case duration
    /// An array of strings, or one string; a repeatable option.
    case list
    /// An object of strings; a repeatable option.
    case headers
    /// An object of strings, or an array of `NAME=VALUE`; a repeatable option.
    case pairs
    /// Any JSON.
    case json
}

/// A value as it was read, before its field gives it a meaning.
package enum FieldInput: Hashable, Sendable {
    case text(String)
    case texts([String])
    case flag(Bool)
    case seconds(Double)
    case headers([HeaderFields.Field])

    /// The value as one text, as it is typed.
    var text: String {
        switch self {
        case .text(let text): text
        case .texts(let texts): texts.joined(separator: ",")
        case .flag(let flag): flag ? "on" : "off"
        case .seconds(let seconds): "\(seconds)"
        case .headers: ""
        }
    }
}

/// Where a value was read: the name of the option or key, for errors, and the context.
package struct FieldSource {
    package var name: String
    package var context: InputContext

    package init(name: String, _ context: InputContext) {
        self.name = name
        self.context = context
    }
}

/// A value as it is shown. The reader chooses the words; JSON has sizes and rates as numbers.
package enum FieldValue: Hashable, Sendable {
    case unknown
    case flag(Bool)
    case number(Int64)
    case size(Int64)
    case rate(Int64)
    case seconds(Double)
    case moment(Timestamp)
    case text(String)
    case texts([String])
    case numbers([Int64])
    /// A secret: only its presence is shown.
    case hidden
}

/// How the values of one type are read and shown.
struct FieldForm<Value: Hashable & Sendable>: Sendable {
    typealias Read = @Sendable (FieldInput, FieldSource, TransferRequest) throws -> Value

    let shape: FieldShape
    /// Stands for the value in `--help`.
    let placeholder: String
    /// The values, where they are few.
    let choices: [String]
    let show: @Sendable (Value) -> FieldValue
    let read: Read

    init(
        _ shape: FieldShape, _ placeholder: String, choices: [String] = [],
        _ show: @escaping @Sendable (Value) -> FieldValue, read: @escaping Read
    ) {
        self.shape = shape
        self.placeholder = placeholder
        self.choices = choices
        self.show = show
        self.read = read
    }

    /// A value that is read from its text and the name of its field.
    init(
        _ shape: FieldShape, _ placeholder: String, choices: [String] = [],
        _ show: @escaping @Sendable (Value) -> FieldValue,
        _ parse: @escaping @Sendable (String, String) throws -> Value
    ) {
        self.init(shape, placeholder, choices: choices, show) { input, source, _ in
            try parse(input.text, source.name)
        }
    }

    /// An optional value, which `none` takes away.
    init<Some>(
        optional shape: FieldShape, _ placeholder: String,
        _ show: @escaping @Sendable (Some) -> FieldValue,
        _ parse: @escaping @Sendable (String, FieldSource) throws -> Some
    ) where Value == Some? {
        self.init(shape, placeholder) {
            $0.map(show) ?? FieldValue.unknown
        } read: { input, source, _ in
            let text = input.text
            return text == "none" ? nil : try parse(text, source)
        }
    }
}

/// The forms that fields have.
enum Form {
    static let name = FieldForm(.text, "name", FieldValue.text) { text, name in
        if text.isEmpty { throw LonghaulError.usage("\(name): it is empty") }
        return text
    }
    static let flag = FieldForm(.flag, "", FieldValue.flag, OptionText.onOff)
    static let onOff = FieldForm(optional: .onOff, "on|off", FieldValue.flag) {
        try OptionText.onOff($0, $1.name)
    }
    static let size = FieldForm(optional: .number, "size", FieldValue.size) {
        try OptionText.size($0, $1.name)
    }
    static let rate = FieldForm(optional: .number, "size", FieldValue.rate) {
        try OptionText.rate($0, $1.name)
    }
    static let count = FieldForm(
        optional: .number, "n", { FieldValue.number(Int64($0)) },
        { try OptionText.retries($0, $1.name) })
    static let duration = FieldForm(.duration, "duration", FieldValue.seconds) {
        input, source, _ in
        guard case .seconds(let seconds) = input else {
            return try OptionText.duration(input.text, source.name)
        }
        if seconds >= 0 { return seconds }
        throw LonghaulError.usage("\(source.name): it is less than 0 seconds")
    }
    /// A duration that `none` takes away.
    static let optionalDuration = FieldForm<Double?>(
        .duration, "duration", { $0.map(FieldValue.seconds) ?? FieldValue.unknown }
    ) { input, source, request in
        input == .text("none") ? nil : try duration.read(input, source, request)
    }
    static let json = text(.json, "json")
    /// The absolute path of a file.
    static let file = FieldForm(optional: .text, "file", FieldValue.text) {
        try $1.context.absolute($0)
    }
    static let user = FieldForm(optional: .text, "u:p", { _ in FieldValue.hidden }) {
        if $0 == Redaction.mark { throw OptionText.hidden($1.name) }
        return $0
    }
    static let proxy = FieldForm(
        optional: .text, "url", { FieldValue.text(Redaction.url($0)) },
        {
            try OptionText.refuseHidden($0, $1.name)
            return try OptionText.proxy($0, $1.name)
        })
    static let urls = FieldForm<[String]>(.list, "url") {
        FieldValue.texts($0.map(Redaction.url))
    } read: { input, source, _ in
        guard case .texts(let urls) = input, urls != ["none"] else { return [] }
        return try urls.map {
            try OptionText.refuseHidden($0, source.name)
            return try OptionText.url($0, source.name)
        }
    }
    /// `none` is an empty list.
    static let transfers = FieldForm<[TransferID]>(
        .list, "id", { FieldValue.numbers($0.map(\.rawValue)) }, OptionText.transfers)
    /// An empty list in JSON; an empty word of a command line is none.
    static let statuses = FieldForm<[Int]>(.list, "status") {
        FieldValue.texts($0.map(String.init))
    } read: { input, source, _ in
        input == .texts([]) ? [] : try OptionText.statuses(input.text, source.name)
    }
    static let headers = FieldForm<HeaderFields>(.headers, "k: v") {
        FieldValue.texts($0.fields.map(\.name))
    } read: { input, _, _ in
        guard case .headers(let fields) = input else { return HeaderFields() }
        return HeaderFields(fields)
    }
    /// Each text is a name, an equals sign and a value.
    static let formFields = FieldForm<[FormField]?>(.pairs, "n=v") {
        $0.map { FieldValue.texts($0.map(\.name)) } ?? FieldValue.unknown
    } read: { input, source, _ in
        guard case .texts(let texts) = input, !texts.isEmpty else { return nil }
        return try texts.map { try OptionText.formField($0, source.name) }
    }
    static let connections = FieldForm(.number, "n", shown, OptionText.connections)
    static let checksum = FieldForm(
        optional: .text, "digest", { FieldValue.text("\($0.algorithm.rawValue):\($0.hex)") },
        { try OptionText.checksum($0, $1.name) })
    static let windows = FieldForm<TimeWindows?>(
        .list, "window", { $0.map { FieldValue.text($0.description) } ?? FieldValue.unknown }
    ) { input, source, _ in
        guard case .texts(let texts) = input, texts != ["none"] else { return nil }
        return try OptionText.windows(texts, source.name)
    }
    static let needs = FieldForm(
        .list, "what", { FieldValue.texts($0.names) }, { try OptionText.needs([$0], $1) })
    /// `none` is an empty list; `default` takes the list away.
    static let preferences = FieldForm<ConditionNeeds?>(
        .list, "what", { $0.map { FieldValue.texts($0.names) } ?? FieldValue.unknown },
        { $0 == "default" ? nil : try OptionText.needs([$0], $1) })
    static let moment = FieldForm(
        optional: .text, "time", { FieldValue.text(RFC3339.format($0)) },
        { try OptionText.moment($0, $1.name, $1.context) })
    static let deadline = FieldForm<Deadline>(.text, "time", shown) { input, source, request in
        try OptionText.deadline(
            input.text, source.name, source.context, earliest: request.earliestBegin)
    }
    static let priority = FieldForm(
        .text, "priority", choices: Priority.allCases.map(\.name), { FieldValue.text($0.name) },
        OptionText.priority)
    static let method = FieldForm<UploadMethod?>(
        optional: .text, "method", { FieldValue.text($0.rawValue) },
        { try OptionText.choice($0, $1.name) })

    static func text(_ shape: FieldShape, _ placeholder: String) -> FieldForm<String?> {
        FieldForm(optional: shape, placeholder, FieldValue.text) { text, _ in text }
    }

    static func choice<Value: RawRepresentable & CaseIterable & Hashable & Sendable>(
        _ placeholder: String
    ) -> FieldForm<Value> where Value.RawValue == String {
        FieldForm(
            .text, placeholder, choices: Value.allCases.map(\.rawValue),
            { FieldValue.text($0.rawValue) }, OptionText.choice)
    }

    @Sendable
    private static func shown(_ connections: ConnectionCount) -> FieldValue {
        switch connections {
        case .automatic: .text("auto")
        case .exactly(let count): .number(Int64(count))
        }
    }

    @Sendable
    private static func shown(_ deadline: Deadline) -> FieldValue {
        switch deadline {
        case .at(let time): .text(RFC3339.format(time))
        case .after(let seconds): .seconds(seconds)
        }
    }
}
