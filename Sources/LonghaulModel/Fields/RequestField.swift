/// One thing that a request can say. The command line, `set`, JSON, the configuration file, `show`,
/// repeated requests and shared fetches walk ``all``: a new option is an entry there, and what uses
/// it.
package struct RequestField: Sendable {
    /// The rules of a field.
    package struct Rules: OptionSet, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Only downloads have it.
        package static let download = Rules(rawValue: 1)
        /// Only uploads have it.
        package static let upload = Rules(rawValue: 2)
        /// `set` changes it.
        package static let changeable = Rules(rawValue: 4)
        /// A fetch on the wire goes on when it is changed; otherwise the fetch starts again.
        package static let adopted = Rules(rawValue: 8)
        /// A repeated request changes it in the transfer that it means, unless it has the default.
        package static let restated = Rules(rawValue: 16)
        /// Transfers with different values share no fetch (``FetchIdentity``).
        package static let identity = Rules(rawValue: 32)
        /// JSON has it among the `options` of a transfer.
        package static let printed = Rules(rawValue: 64)
        /// It is read after the others, which it refers to.
        package static let last = Rules(rawValue: 128)
    }

    /// An option of the command line.
    package struct Option: Sendable {
        /// Without dashes.
        package let name: String
        package let short: Character?
        package let group: Group
        /// Without the full stop.
        package let help: String
        /// The default, in words.
        package let usual: String?

        init(
            _ name: String, short: Character? = nil, _ group: Group, _ help: String,
            usual: String? = nil
        ) {
            self.name = name
            self.short = short
            self.group = group
            self.help = help
            self.usual = usual
        }
    }

    /// The groups of options in `--help`.
    package enum Group: Sendable {
        case destination, session, request, schedule, transfer, download, upload
    }

    /// The key in JSON; empty = only programs set it.
    package let key: String
    package let option: Option?
    /// Its name in `show`; `nil` = `show` has it elsewhere, or not.
    package let label: String?
    /// What the configuration file takes for it, in words; `nil` = it stands not there.
    package let configured: String?
    package let rules: Rules
    package let shape: FieldShape
    package let placeholder: String
    package let choices: [String]
    /// The property, for tests and typed access.
    package let path: any AnyKeyPath & Sendable

    /// Sets the field from what was read; throws what is no value of it.
    package let read: @Sendable (FieldInput, FieldSource, inout TransferRequest) throws -> Void
    package let value: @Sendable (TransferRequest) -> FieldValue
    package let copy: @Sendable (_ from: TransferRequest, _ to: inout TransferRequest) -> Void
    package let isSame: @Sendable (TransferRequest, TransferRequest) -> Bool
    /// Why no transfer may have the value; `nil` = one may.
    package let defect: (@Sendable (TransferRequest) -> String?)?
    /// Sets the value that a fetch has which serves all of these requests; `nil` = the leader's.
    package let merge: (@Sendable ([TransferRequest], inout TransferRequest) -> Void)?

    init<Value: Hashable & Sendable>(
        _ key: String, _ lens: FieldLens<Value>, _ form: FieldForm<Value>, _ rules: Rules,
        label: String? = nil, option: Option? = nil, configured: String? = nil,
        combine: @escaping @Sendable (_ old: Value, _ new: Value) -> Value = { $1 },
        merge: (@Sendable (Value, Value) -> Value)? = nil,
        check: (@Sendable (Value) -> String?)? = nil
    ) {
        self.key = key
        self.option = option
        self.label = label
        self.configured = configured
        self.rules = rules
        shape = form.shape
        placeholder = form.placeholder
        choices = form.choices
        path = lens.path
        read = { input, source, request in
            let value = try form.read(input, source, request)
            lens.set(&request, combine(lens.get(request), value))
        }
        value = { form.show(lens.get($0)) }
        copy = { source, target in lens.set(&target, lens.get(source)) }
        isSame = { one, other in lens.get(one) == lens.get(other) }
        if let check {
            defect = { request in check(lens.get(request)) }
        } else {
            defect = nil
        }
        if let merge {
            self.merge = { requests, request in
                guard let first = requests.first else { return }
                let rest = requests.dropFirst()
                lens.set(&request, rest.reduce(lens.get(first)) { merge($0, lens.get($1)) })
            }
        } else {
            self.merge = nil
        }
    }

    /// A field that only programs set.
    init<Value: Hashable & Sendable>(
        _ lens: FieldLens<Value>, _ rules: Rules = [],
        merge: (@Sendable (Value, Value) -> Value)? = nil
    ) {
        let form = FieldForm<Value>(.text, "", { _ in .unknown }) { _, _, request in
            lens.get(request)
        }
        self.init("", lens, form, rules, merge: merge)
    }

    /// A transfer of this kind has the field.
    package func applies(to request: TransferRequest) -> Bool {
        rules.isDisjoint(with: request.options.upload == nil ? .upload : .download)
    }

    /// True if the request says nothing about it.
    package func isDefault(in request: TransferRequest) -> Bool {
        isSame(request, TransferRequest.blank)
    }

    /// Changes `request` as a repeated `new` one asks for.
    package static func restate(_ request: inout TransferRequest, by new: TransferRequest) {
        for field in restated where field.applies(to: request) && !field.isDefault(in: new) {
            field.copy(new, &request)
        }
    }

    /// The fields whose options have a heading in common.
    package static func group(_ group: Group) -> [RequestField] {
        all.filter { $0.option?.group == group }
    }

    private static let restated = all.filter { $0.rules.contains(.restated) }
    /// Those that a fetch on the wire takes over.
    package static let adopted = all.filter { $0.rules.contains(.adopted) }
    package static let downloadOnly = all.filter { $0.rules.contains(.download) }
    package static let changeable = all.filter { $0.rules.contains(.changeable) }
    package static let printed = all.filter { $0.rules.contains(.printed) }
    package static let merged = all.filter { $0.merge != nil }

    /// The first defect of a request that a field of it has.
    ///
    /// - Parameter areOptionsChecked: Only the others are looked at.
    package static func defect(
        of request: TransferRequest, areOptionsChecked: Bool = false
    ) -> String? {
        for defect in areOptionsChecked ? defectsBesideOptions : defects {
            if let text = defect(request) { return text }
        }
        return nil
    }

    /// It is one of the ``TransferOptions``, or in them.
    private var isOfOptions: Bool {
        let root = type(of: path).rootType
        return root == TransferOptions.self || root == UploadOptions.self
    }

    private static let defects = all.compactMap(\.defect)
    private static let defectsBesideOptions = all.filter { !$0.isOfOptions }.compactMap(\.defect)
}

/// Reads and writes one property of a request.
struct FieldLens<Value: Sendable>: Sendable {
    let path: any AnyKeyPath & Sendable
    let get: @Sendable (TransferRequest) -> Value
    let set: @Sendable (inout TransferRequest, Value) -> Void

    static func request(_ path: any WritableKeyPath<TransferRequest, Value> & Sendable) -> Self {
        Self(path: path) {
            $0[keyPath: path]
        } set: {
            $0[keyPath: path] = $1
        }
    }

    static func schedule(_ path: any WritableKeyPath<TransferSchedule, Value> & Sendable) -> Self {
        Self(path: path) {
            $0.schedule[keyPath: path]
        } set: {
            $0.schedule[keyPath: path] = $1
        }
    }

    static func options(_ path: any WritableKeyPath<TransferOptions, Value> & Sendable) -> Self {
        Self(path: path) {
            $0.options[keyPath: path]
        } set: {
            $0.options[keyPath: path] = $1
        }
    }

    /// What a request says of uploads makes it one.
    static func upload(_ path: any WritableKeyPath<UploadOptions, Value> & Sendable) -> Self {
        Self(path: path) {
            ($0.options.upload ?? UploadOptions())[keyPath: path]
        } set: {
            var upload = $0.options.upload ?? UploadOptions()
            upload[keyPath: path] = $1
            $0.options.upload = upload
        }
    }
}

extension TransferRequest {
    /// All is default.
    package static let blank = TransferRequest(url: "", destination: .file(""))
}
