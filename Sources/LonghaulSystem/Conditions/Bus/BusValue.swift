/// A value of a D-Bus property, of the kinds that conditions are made of.
enum BusValue: Hashable {
    case flag(Bool)
    case number(Int)
    case fraction(Double)
    case text(String)

    var flag: Bool? {
        if case .flag(let value) = self { value } else { nil }
    }

    var number: Int? {
        if case .number(let value) = self { value } else { nil }
    }

    /// Of either kind of number.
    var fraction: Double? {
        switch self {
        case .fraction(let value): value
        case .number(let value): Double(value)
        case .flag, .text: nil
        }
    }
}
