/// Reads what somebody else may have written, and checks a property of the result.
struct FuzzTarget: Sendable {
    /// As `scripts/fuzz` and the folders of the corpus name it.
    let name: String
    /// Throws ``Broken`` if the property does not hold for the input. A refusal of the input is no
    /// fault.
    let property: @Sendable ([UInt8]) throws -> Void

    static let all =
        headerTargets + addressTargets + answerTargets + listTargets + settingTargets
        + serverTargets

    static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }

    init(_ name: String, _ property: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.property = property
    }

    /// A target whose input is text, as it is wherever bytes have been decoded.
    init(_ name: String, text property: @escaping @Sendable (String) throws -> Void) {
        self.init(name) { try property(String(decoding: $0, as: UTF8.self)) }
    }
}

/// A property that does not hold.
struct Broken: Error, CustomStringConvertible {
    let description: String
}

func check(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw Broken(description: message()) }
}

/// Reading the written form gives the value again.
func checkRoundTrip<Value: Equatable>(_ value: Value, _ again: Value?) throws {
    try check(again == value, "\(value) is read again as \(again.map { "\($0)" } ?? "nothing")")
}
