internal import LonghaulCore

/// Finds the rows of a table whose upper pages are gone, leaf by leaf.
///
/// A page of rows (type 13, sqlite.org/fileformat2.html §1.6) is a whole table when it stands where
/// the table begins. So each is put there in turn, in the copy, and read by SQLite with all its
/// care. Pages of other tables have too few columns, and rows that the table's checks refuse.
struct LeafScan {
    let path: String
    let table: String
    let columns: [String]
    /// Where the table begins.
    let root: UInt32

    /// Hands out the rows of every page of rows that is in use; a row may come that was read
    /// before.
    func run(_ body: (Int64, [SalvageSource.Value]) throws -> Void) throws {
        let file = try PageFile(path)
        defer { file.close() }
        try file.leaveLogging()
        let free = try file.freePages()
        var number: UInt32 = 2
        while number <= file.count {
            defer { number += 1 }
            if number == root || free.contains(number) { continue }
            let page = try file.page(number)
            guard page[0] == 0x0D else { continue }
            try file.write(page, as: root)
            guard let source = try? SalvageSource(path: path) else { continue }
            _ = try source.read(
                "SELECT rowid, \(columns.joined(separator: ", ")) FROM \(table) NOT INDEXED", []
            ) { row in
                guard case .integer(let id) = row[0] else { return }
                try body(id, Array(row.dropFirst()))
            }
        }
    }
}
