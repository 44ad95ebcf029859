internal import LonghaulModel

/// Prepared statements of one connection, more than the module has texts. Beyond it all are
/// forgotten.
private let preparedStatements = 512

/// The prepared statements of one connection, found by the address of their text.
///
/// Hashing and comparing a whole text costs as much as a short statement. A literal has one address
/// for ever, and so has a text that is kept here: equal address and length mean an equal text. Only
/// a text at an unknown address is compared.
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

    /// The statement for a text, prepared if it is unknown. The caller finishes with it before the
    /// next call with the same text.
    func statement(_ text: String, on database: OpaquePointer) throws -> Prepared {
        let place = Self.place(of: text)
        if let place, let known = places[place] { return known.statement }
        let statement = try texts[text] ?? prepare(text, on: database)
        if let place {
            if places.count == preparedStatements { places = [:] }
            places[place] = Entry(statement: statement, text: text)
        }
        return statement
    }

    /// Called before the connection is closed: SQLite refuses to close it while statements exist.
    func clear() {
        places = [:]
        texts = [:]
    }

    private func prepare(_ text: String, on database: OpaquePointer) throws -> Prepared {
        if texts.count == preparedStatements { texts = [:] }
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
