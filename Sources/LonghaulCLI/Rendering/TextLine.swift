import Longhaul

/// The lines of one label in the text of a record.
struct TextLine {
    private let place: Int
    private let label: String
    private let texts: [String]

    /// - Parameter place: Orders the lines, as that of ``ShownField``.
    init(_ place: Int, _ label: String, all texts: [String]) {
        self.place = place
        self.label = label
        self.texts = texts
    }

    /// - Parameter text: `nil`: there is no line.
    init(_ place: Int, _ label: String, _ text: String?) {
        self.init(place, label, all: text.map { [$0] } ?? [])
    }

    /// The lines of the facts that have one of their own.
    static func table<Record: ShownRecord>(
        of record: Record, moment: (Timestamp) -> String
    ) -> [TextLine] {
        Record.fields.compactMap { field in
            field.label.map {
                TextLine(field.place, $0, all: texts(field.value(record), moment: moment))
            }
        }
    }

    /// The texts in the order of their places, each after its label.
    static func ordered(
        _ lines: [TextLine],
        _ join: (String, String) -> String = { DisplayWidth.padded($0, to: 11) + $1 }
    ) -> [String] {
        Set(lines.map(\.place)).sorted().flatMap { place in
            lines.filter { $0.place == place }.flatMap { line in
                line.texts.map { join(line.label, $0) }
            }
        }
    }

    /// A value as people read it.
    static func texts(_ value: FieldValue, moment: (Timestamp) -> String) -> [String] {
        switch value {
        case .unknown: []
        case .flag(let flag): [flag ? "yes" : "no"]
        case .number(let number): ["\(number)"]
        case .size(let bytes): [Units.size(bytes)]
        case .rate(let bytes): [Units.rate(Double(bytes))]
        case .seconds(let seconds): [Units.duration(seconds)]
        case .moment(let time): [moment(time)]
        case .text(let text): [text.isEmpty ? "none" : TerminalText.shown(text)]
        case .texts(let texts): texts.map(TerminalText.shown)
        case .numbers(let numbers): numbers.map(String.init)
        case .hidden: ["given"]
        }
    }
}
