internal import CLonghaul
internal import CSystemd
internal import Glibc

/// A received message, read from its start. Valid only during the handler's call. Its content comes
/// from another program: a read returns `nil` where the type is not the expected one.
struct BusMessage {
    private let raw: OpaquePointer

    init(_ raw: OpaquePointer) {
        self.raw = raw
    }

    /// The name of the error, if the message is an error reply; `nil` for any other message.
    var errorName: String? {
        guard let error = sd_bus_message_get_error(raw), let name = error.pointee.name
        else { return nil }
        return String(cString: name)
    }

    func flag() -> Bool? {
        read("b", Int32(0)).map { $0 != 0 }
    }

    func number() -> UInt32? { read("u", UInt32(0)) }

    func text() -> String? {
        read("s", UnsafePointer<CChar>?.none)?.map { String(cString: $0) }
    }

    func path() -> String? {
        read("o", UnsafePointer<CChar>?.none)?.map { String(cString: $0) }
    }

    /// A duplicate of a descriptor in the message; the message closes its own.
    func descriptor() -> Descriptor? {
        guard let number = read("h", Int32(-1)) else { return nil }
        let copy = lh_duplicate(number)
        return copy < 0 ? nil : Descriptor(owning: copy)
    }

    /// A variant; values of other kinds than ``BusValue`` are skipped.
    func variant() -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard sd_bus_message_peek_type(raw, &type, &contents) > 0, type == Self.code("v"),
            let contents, sd_bus_message_enter_container(raw, type, contents) > 0
        else { return nil }
        let value = basic(String(cString: contents))
        if value == nil, sd_bus_message_skip(raw, nil) < 0 { return nil }
        guard sd_bus_message_exit_container(raw) >= 0 else { return nil }
        return value
    }

    /// A dictionary of properties, `a{sv}`; values of kinds other than ``BusValue`` are left out.
    func properties() -> [String: BusValue]? {
        guard sd_bus_message_enter_container(raw, Self.code("a"), "{sv}") > 0 else { return nil }
        var found: [String: BusValue] = [:]
        while true {
            let entered = sd_bus_message_enter_container(raw, Self.code("e"), "sv")
            if entered == 0 { break }
            guard entered > 0, let name = text() else { return nil }
            if let value = variant() { found[name] = value }
            guard sd_bus_message_exit_container(raw) >= 0 else { return nil }
        }
        guard sd_bus_message_exit_container(raw) >= 0 else { return nil }
        return found
    }

    /// An array of strings, `as`.
    func texts() -> [String]? {
        guard sd_bus_message_enter_container(raw, Self.code("a"), "s") >= 0 else { return nil }
        var found: [String] = []
        while let next = text() { found.append(next) }
        return found
    }

    // MARK: -

    private func basic(_ type: String) -> BusValue? {
        switch type {
        case "b": flag().map { .flag($0) }
        case "s", "o": (type == "s" ? text() : path()).map { .text($0) }
        case "d": read("d", Double(0)).map { .fraction($0) }
        case "y": read("y", UInt8(0)).map { .number(Int($0)) }
        case "n": read("n", Int16(0)).map { .number(Int($0)) }
        case "q": read("q", UInt16(0)).map { .number(Int($0)) }
        case "i": read("i", Int32(0)).map { .number(Int($0)) }
        case "u": read("u", UInt32(0)).map { .number(Int($0)) }
        case "x": read("x", Int64(0)).map { .number(Int($0)) }
        case "t": read("t", UInt64(0)).map { .number(Int(clamping: $0)) }
        default: nil
        }
    }

    private func read<Value>(_ type: Unicode.Scalar, _ initial: Value) -> Value? {
        var value = initial
        let answer = withUnsafeMutablePointer(to: &value) {
            sd_bus_message_read_basic(raw, Self.code(type), $0)
        }
        return answer > 0 ? value : nil
    }

    private static func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }
}

/// A value of a D-Bus property, of the kinds from which conditions are read.
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

    var text: String? {
        if case .text(let value) = self { value } else { nil }
    }

    /// A number of either kind.
    var fraction: Double? {
        switch self {
        case .fraction(let value): value
        case .number(let value): Double(value)
        case .flag, .text: nil
        }
    }
}
