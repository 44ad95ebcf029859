internal import LonghaulCore

/// The statements of one connection that have been prepared, found by where their text lies.
///
/// To hash and compare a whole text costs as much as a short statement does. A literal lies at one
/// address for ever, and so does a text that is kept here: the same address and length are the same
/// text. Only a text at an address that is not known is compared.
final class PreparedStatements {
    private struct Place: Hashable {
        var address: UInt
        var length: Int
    }

    private struct Entry {
        var statement: Prepared
        /// Keeps the text where it is.
        var text: String
    }

    private var places: [Place: Entry] = [:]
    private var texts: [String: Prepared] = [:]

    /// The statement for a text, prepared if it is not known yet. Used up before the next call with
    /// the same text.
    func statement(_ text: String, on database: OpaquePointer) throws -> Prepared {
        let place = Self.place(of: text)
        if let place, let known = places[place] { return known.statement }
        let statement = try texts[text] ?? prepare(text, on: database)
        if let place {
            if places.count == Limits.preparedStatements { places = [:] }
            places[place] = Entry(statement: statement, text: text)
        }
        return statement
    }

    /// Before the connection is closed, which it cannot be as long as it has statements.
    func clear() {
        places = [:]
        texts = [:]
    }

    private func prepare(_ text: String, on database: OpaquePointer) throws -> Prepared {
        if texts.count == Limits.preparedStatements { texts = [:] }
        let statement = try Prepared(database, text, isKept: true)
        texts[text] = statement
        return statement
    }

    /// `nil` for a text of a few bytes, which lies in the string itself.
    private static func place(of text: String) -> Place? {
        if text.utf8.count < 16 { return nil }
        return text.utf8.withContiguousStorageIfAvailable { bytes in
            Place(address: UInt(bitPattern: bytes.baseAddress), length: bytes.count)
        }
    }
}
