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
    /// Any JSON.
    case json
}

/// A value as it was read, before its field gives it a meaning.
package enum FieldInput: Sendable {
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
    case text(String)
    case texts([String])
    /// A secret: only its presence is shown.
    case hidden
}

/// How the values of one type are read and shown. In every optional value `none` takes away.
struct FieldForm<Value: Hashable & Sendable>: Sendable {
    let shape: FieldShape
    /// Stands for the value in `--help`.
    let placeholder: String
    /// The values, where they are few.
    var choices: [String] = []
    let read: @Sendable (FieldInput, FieldSource, TransferRequest) throws -> Value
    let show: @Sendable (Value) -> FieldValue

    init(
        _ shape: FieldShape, _ placeholder: String, choices: [String] = [],
        show: @escaping @Sendable (Value) -> FieldValue,
        read: @escaping @Sendable (FieldInput, FieldSource, TransferRequest) throws -> Value
    ) {
        self.shape = shape
        self.placeholder = placeholder
        self.choices = choices
        self.show = show
        self.read = read
    }

    /// An optional value.
    init<Some>(
        _ shape: FieldShape, _ placeholder: String,
        show: @escaping @Sendable (Some) -> FieldValue,
        parse: @escaping @Sendable (String, FieldSource) throws -> Some
    ) where Value == Some? {
        self.init(shape, placeholder) { (value: Value) in
            value.map(show) ?? .unknown
        } read: { input, source, _ in
            let text = input.text
            return text == "none" ? nil : try parse(text, source)
        }
    }
}

extension FieldForm where Value == Int64? {
    static var size: Self {
        Self(.number, "size", show: FieldValue.size) { try OptionText.size($0, $1.name) }
    }

    static var rate: Self {
        Self(.number, "size", show: FieldValue.rate) { try OptionText.rate($0, $1.name) }
    }
}

extension FieldForm where Value == Int? {
    static var count: Self {
        Self(.number, "n") {
            FieldValue.number(Int64($0))
        } parse: {
            try OptionText.retries($0, $1.name)
        }
    }
}

extension FieldForm where Value == String? {
    static func text(_ placeholder: String) -> Self {
        Self(.text, placeholder, show: FieldValue.text) { text, _ in text }
    }

    /// The absolute path of a file.
    static var file: Self {
        Self(.text, "file", show: FieldValue.text) { try $1.context.absolute($0) }
    }

    static var user: Self {
        Self(.text, "u:p") { _ in
            FieldValue.hidden
        } parse: { text, source in
            if text == Redaction.mark { throw OptionText.hidden(source.name) }
            return text
        }
    }

    static var proxy: Self {
        Self(.text, "url") {
            FieldValue.text(Redaction.url($0))
        } parse: { text, source in
            try OptionText.refuseHidden(text, source.name)
            return try OptionText.proxy(text, source.name)
        }
    }

    static var json: Self {
        Self(.json, "json", show: FieldValue.text) { text, _ in text }
    }
}

extension FieldForm where Value == String {
    static var name: Self {
        Self(.text, "name", show: FieldValue.text) { input, source, _ in
            if input.text.isEmpty { throw LonghaulError.usage("\(source.name): it is empty") }
            return input.text
        }
    }
}

extension FieldForm where Value == Bool {
    static var flag: Self {
        Self(.flag, "", show: FieldValue.flag) { input, source, _ in
            try OptionText.onOff(input.text, source.name)
        }
    }
}

extension FieldForm where Value == Bool? {
    static var onOff: Self {
        Self(.onOff, "on|off", show: FieldValue.flag) { try OptionText.onOff($0, $1.name) }
    }
}

extension FieldForm where Value == Double {
    static var duration: Self {
        Self(.duration, "duration", show: FieldValue.seconds) { input, source, _ in
            guard case .seconds(let seconds) = input else {
                return try OptionText.duration(input.text, source.name)
            }
            if seconds >= 0 { return seconds }
            throw LonghaulError.usage("\(source.name): it is less than 0 seconds")
        }
    }
}

extension FieldForm where Value == [String] {
    static var urls: Self {
        Self(.list, "url") {
            FieldValue.texts($0.map(Redaction.url))
        } read: { input, source, _ in
            guard case .texts(let urls) = input, urls != ["none"] else { return [] }
            return try urls.map {
                try OptionText.refuseHidden($0, source.name)
                return try OptionText.url($0, source.name)
            }
        }
    }
}

extension FieldForm where Value == HeaderFields {
    static var headers: Self {
        Self(.headers, "k: v") {
            FieldValue.texts($0.fields.map(\.name))
        } read: { input, _, _ in
            guard case .headers(let fields) = input else { return HeaderFields() }
            return HeaderFields(fields)
        }
    }
}

extension FieldForm where Value == ConnectionCount {
    static var connections: Self {
        Self(.number, "n") {
            switch $0 {
            case .automatic: FieldValue.text("auto")
            case .exactly(let count): FieldValue.number(Int64(count))
            }
        } read: { input, source, _ in
            try OptionText.connections(input.text, source.name)
        }
    }
}

extension FieldForm where Value == Checksum? {
    static var checksum: Self {
        Self(.text, "digest") {
            FieldValue.text("\($0.algorithm.rawValue):\($0.hex)")
        } parse: {
            try OptionText.checksum($0, $1.name)
        }
    }
}

extension FieldForm where Value == TimeWindow? {
    static var window: Self {
        Self(.text, "hh:mm-hh:mm") {
            FieldValue.text($0.description)
        } parse: {
            try OptionText.window($0, $1.name)
        }
    }
}

extension FieldForm where Value == ConditionNeeds {
    static var needs: Self {
        Self(.list, "what") {
            FieldValue.texts($0.names)
        } read: { input, source, _ in
            try OptionText.needs([input.text], source.name)
        }
    }
}

extension FieldForm where Value == ConditionNeeds? {
    /// `none` is an empty list; `default` takes the list away.
    static var preferences: Self {
        Self(.list, "what") {
            $0.map { FieldValue.texts($0.names) } ?? .unknown
        } read: { input, source, _ in
            if input.text == "default" { return nil }
            return try OptionText.needs([input.text], source.name)
        }
    }
}

extension FieldForm where Value == Timestamp? {
    static var moment: Self {
        Self(.text, "time") {
            FieldValue.text(RFC3339.format($0))
        } parse: {
            try OptionText.moment($0, $1.name, $1.context)
        }
    }
}

extension FieldForm where Value == Deadline {
    static var deadline: Self {
        Self(.text, "time") {
            switch $0 {
            case .at(let time): FieldValue.text(RFC3339.format(time))
            case .after(let seconds): FieldValue.seconds(seconds)
            }
        } read: { input, source, request in
            try OptionText.deadline(
                input.text, source.name, source.context, earliest: request.earliestBegin)
        }
    }
}

extension FieldForm where Value == Priority {
    static var priority: Self {
        Self(.text, "priority", choices: Priority.allCases.map(\.name)) {
            FieldValue.text($0.name)
        } read: { input, source, _ in
            try OptionText.priority(input.text, source.name)
        }
    }
}

extension FieldForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static func choice(_ placeholder: String) -> Self {
        Self(.text, placeholder, choices: Value.allCases.map(\.rawValue)) {
            FieldValue.text($0.rawValue)
        } read: { input, source, _ in
            try OptionText.choice(input.text, source.name)
        }
    }
}

extension FieldForm where Value == UploadMethod? {
    static var method: Self {
        Self(.text, "method") {
            FieldValue.text($0.rawValue)
        } parse: {
            try OptionText.choice($0, $1.name)
        }
    }
}
