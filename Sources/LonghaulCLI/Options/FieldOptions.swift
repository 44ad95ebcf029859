import ArgumentParser
import Longhaul

/// The options of the command line that a part of the table of request fields has: the parser
/// finds in the mirror what other groups declare one by one.
struct FieldOptions<Scope: FieldScope>: ParsableArguments, CustomReflectable {
    /// The options that were given, in the order of the table.
    private var given: [(field: RequestField, input: FieldInput)] = []

    init() {}

    init(from decoder: any Decoder) throws {
        let options = try decoder.container(keyedBy: FieldKey.self)
        for field in Scope.fields {
            let key = FieldKey(stringValue: field.key)
            switch field.shape {
            case .flag where Scope.isChange:
                if let flag = try options.decode(Flag<Bool?>.self, forKey: key).wrappedValue {
                    given.append((field, .flag(flag)))
                }
            case .flag:
                let isGiven = try options.decode(Flag<Bool>.self, forKey: key).wrappedValue
                if isGiven { given.append((field, .flag(true))) }
            case .list, .headers, .pairs:
                let texts = try options.decode(Option<[String]>.self, forKey: key).wrappedValue
                if !texts.isEmpty { given.append((field, .texts(texts))) }
            case .text, .number, .onOff, .duration, .json:
                let text = try options.decode(Option<String?>.self, forKey: key).wrappedValue
                if let text { given.append((field, .text(text))) }
            }
        }
    }

    var customMirror: Mirror {
        let children = Scope.fields.compactMap { field in
            field.option.map { option in
                Mirror.Child(label: "_" + field.key, value: Self.argument(field, option))
            }
        }
        return Mirror(self, children: children)
    }

    private static func argument(_ field: RequestField, _ option: RequestField.Option) -> Any {
        var words = option.help
        if let usual = option.usual, !Scope.isChange { words += " (default: \(usual))" }
        let help = ArgumentHelp(
            words + ".", valueName: field.placeholder.isEmpty ? nil : field.placeholder)
        var name: NameSpecification = [.customLong(option.name)]
        if let short = option.short, !Scope.isChange {
            name = [.customShort(short), .customLong(option.name)]
        }
        var completion: CompletionKind? = field.placeholder == "file" ? .file() : nil
        if !field.choices.isEmpty { completion = .list(field.choices) }
        switch field.shape {
        case .flag where Scope.isChange:
            return Flag<Bool?>(name: name, inversion: .prefixedNo, help: help)
        case .flag: return Flag<Bool>(wrappedValue: false, name: name, help: help)
        case .list, .headers, .pairs:
            return Option<[String]>(wrappedValue: [], name: name, help: help)
        case .text, .number, .onOff, .duration, .json:
            return Option<String?>(name: name, help: help, completion: completion)
        }
    }

    /// The option with this key in JSON was given.
    func says(_ key: String) -> Bool { given.contains { $0.field.key == key } }

    func apply(
        to request: inout TransferRequest, _ context: InputContext
    ) throws(LonghaulError) {
        try forEach(context) { try $0.read($1, $2, &request) }
    }

    /// - Parameter begin: The moment from which the transfer may begin, to which a deadline refers.
    func apply(
        to change: inout PartialRequest, _ context: InputContext, begin: Timestamp? = nil
    ) throws(LonghaulError) {
        try forEach(context) { field, input, source in
            // `now` is no moment that is kept.
            if case .text("now") = input, field.key == "earliestBegin" {
                try change.read(field, .text("none"), source)
            } else {
                try change.read(field, input, source, begin: begin)
            }
        }
    }

    private func forEach(
        _ context: InputContext,
        _ body: (RequestField, FieldInput, FieldSource) throws -> Void
    ) throws(LonghaulError) {
        for (field, input) in given {
            let name = "--" + (field.option?.name ?? field.key)
            var input = input
            do {
                switch (field.shape, input) {
                case (.headers, .texts(let texts)):
                    input = .headers(try OptionText.headers(texts))
                case (.json, .text(let text)) where text != "none":
                    input = .text(try OptionText.json(text, name))
                default: break
                }
                try body(field, input, FieldSource(name: name, context))
            } catch let error as LonghaulError {
                throw error
            } catch {
                throw .usage("\(name): \(error)")
            }
        }
    }
}

/// Finds a field by any key.
private struct FieldKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// A part of the table.
protocol FieldScope {
    static var fields: [RequestField] { get }
    /// A flag can be taken back.
    static var isChange: Bool { get }
}

extension FieldScope {
    static var isChange: Bool { false }
}

enum DestinationFields: FieldScope { static let fields = RequestField.group(.destination) }
enum SessionFields: FieldScope { static let fields = RequestField.group(.session) }
enum AccessFields: FieldScope { static let fields = RequestField.group(.request) }
enum ScheduleFields: FieldScope { static let fields = RequestField.group(.schedule) }
enum TransferFields: FieldScope { static let fields = RequestField.group(.transfer) }
enum DownloadFields: FieldScope { static let fields = RequestField.group(.download) }
enum UploadFields: FieldScope { static let fields = RequestField.group(.upload) }

/// The conditions of tasks and jobs.
enum TaskFields: FieldScope {
    static let fields = ScheduleFields.fields.filter {
        ["earliestBegin", "require"].contains($0.key)
    }
}

enum WakeUpFields: FieldScope {
    static let fields = ScheduleFields.fields.filter { ["require", "prefer"].contains($0.key) }
}

enum JobFields: FieldScope {
    static let fields = ScheduleFields.fields.filter {
        ["earliestBegin", "window", "require", "prefer", "discretionary"].contains($0.key)
    }
}

/// The uploads of a watched folder. Its own `--settle` is about the files that appear.
enum FolderUploadFields: FieldScope {
    static let fields = UploadFields.fields.filter { $0.key != "settle" }
}

/// The schedule of the uploads of a watched folder. Its own `--after` is about files.
enum FolderScheduleFields: FieldScope {
    static let fields = ScheduleFields.fields.filter {
        !["after", "afterAny", "earliestBegin"].contains($0.key)
    }
}

/// The fields that `set` changes. Its header fields are edited one by one.
enum ChangeableFields: FieldScope {
    static let fields = RequestField.changeable.filter { $0.shape != .headers }
    static let isChange = true
}
