internal import GRDB

/// The statements of one connection that have been prepared, found by where their text lies.
///
/// GRDB's own cache hashes and compares the whole text each time, which costs as much as a short
/// statement does. A literal lies at one address for ever, and so does a text that is kept here:
/// the same address and length are the same text.
final class PreparedStatements {
    /// More texts than this module has; texts that are put together anew each time are forgotten,
    /// with all others, before they use much memory.
    static let max = 512

    private struct Place: Hashable {
        var address: UInt
        var length: Int
    }

    private struct Entry {
        var statement: Prepared
        /// Keeps the text where it is.
        var text: String
    }

    private var entries: [Place: Entry] = [:]

    /// The statement for a text, prepared if it is not known yet. Used up before the next call with
    /// the same text.
    func statement(_ text: String, in database: Database) throws -> Prepared {
        guard let place = Self.place(of: text) else { return try Prepared(database, text) }
        if let known = entries[place] { return known.statement }
        if entries.count == Self.max { entries = [:] }
        let statement = try Prepared(database, text)
        entries[place] = Entry(statement: statement, text: text)
        return statement
    }

    /// Before the connection is closed: it stays half open as long as it has statements.
    func clear() {
        entries = [:]
    }

    /// `nil` for a text of a few bytes, which lies in the string itself.
    private static func place(of text: String) -> Place? {
        if text.utf8.count < 16 { return nil }
        return text.utf8.withContiguousStorageIfAvailable { bytes in
            Place(address: UInt(bitPattern: bytes.baseAddress), length: bytes.count)
        }
    }
}
