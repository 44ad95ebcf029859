/// What a change, or the configuration file, says of a request: some fields, and their values.
package struct PartialRequest: Hashable, Sendable {
    /// The fields that are said.
    package private(set) var said = FieldSet()
    /// Has their values; the others have the default.
    package private(set) var request = TransferRequest.blank

    package init() {}

    /// Sets in `request` what is said, in place of what is there.
    ///
    /// - Parameter isDefault: A field that the transfer cannot have is passed over.
    package func apply(to request: inout TransferRequest, isDefault: Bool = false) {
        if said.isEmpty { return }
        for (index, field) in RequestField.all.enumerated()
        where said.contains(index) && (!isDefault || field.applies(to: request)) {
            field.copy(self.request, &request)
        }
    }

    /// Reads a field.
    ///
    /// - Parameter begin: The moment to which a deadline refers, where none is said.
    package mutating func read(
        _ field: RequestField, _ input: FieldInput, _ source: FieldSource, begin: Timestamp? = nil
    ) throws {
        var read = request
        if !says(\TransferRequest.earliestBegin) { read.earliestBegin = begin }
        try field.read(input, source, &read)
        field.copy(read, &request)
        said.insert(PartialRequest.index(field.path))
    }

    /// Says of a field what another request has.
    package mutating func say(_ field: RequestField, of other: TransferRequest) {
        field.copy(other, &request)
        said.insert(PartialRequest.index(field.path))
    }

    package func says(_ path: AnyKeyPath) -> Bool { said.contains(PartialRequest.index(path)) }

    /// The value, if it is said.
    package subscript<Value>(_ path: WritableKeyPath<TransferRequest, Value>) -> Value? {
        get { says(path) ? request[keyPath: path] : nil }
        set { say(path, newValue) { $0[keyPath: path] = $1 } }
    }

    package subscript<Value>(_ path: WritableKeyPath<TransferSchedule, Value>) -> Value? {
        get { says(path) ? request.schedule[keyPath: path] : nil }
        set { say(path, newValue) { $0.schedule[keyPath: path] = $1 } }
    }

    package subscript<Value>(_ path: WritableKeyPath<TransferOptions, Value>) -> Value? {
        get { says(path) ? request.options[keyPath: path] : nil }
        set { say(path, newValue) { $0.options[keyPath: path] = $1 } }
    }

    private mutating func say<Value>(
        _ path: AnyKeyPath, _ value: Value?, _ set: (inout TransferRequest, Value) -> Void
    ) {
        let index = PartialRequest.index(path)
        if let value {
            set(&request, value)
            said.insert(index)
        } else {
            RequestField.all[index].copy(TransferRequest.blank, &request)
            said.remove(index)
        }
    }

    private static func index(_ path: AnyKeyPath) -> Int {
        guard let index = RequestField.all.firstIndex(where: { $0.path == path }) else {
            preconditionFailure("\(path) is no field of a request")
        }
        return index
    }
}

/// A set of fields, by their places in the table: a line of a list is read without making a
/// collection.
package struct FieldSet: Hashable, Sendable {
    private var bits: UInt128 = 0

    package init() {}

    package var isEmpty: Bool { bits == 0 }

    package func contains(_ index: Int) -> Bool { bits & bit(index) != 0 }

    package mutating func insert(_ index: Int) { bits |= bit(index) }

    package mutating func remove(_ index: Int) { bits &= ~bit(index) }

    private func bit(_ index: Int) -> UInt128 {
        precondition((0..<UInt128.bitWidth).contains(index), "no place \(index)")
        return 1 << UInt128(index)
    }
}
