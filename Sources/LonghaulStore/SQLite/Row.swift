internal import CSQLite
internal import LonghaulModel

/// The current row of a statement. Its columns are read by name (``StoredColumn``); a statement
/// with one or two of them is read by position. Valid until the next step.
struct StoredRow<Column: ColumnPosition> {
    let handle: OpaquePointer

    subscript<Value: StoredValue>(_ column: Column) -> Value {
        Value.read(handle, column.position)
    }

    func isNull(_ column: Column) -> Bool {
        sqlite3_column_type(handle, column.position) == SQLITE_NULL
    }

    /// A count. A damaged value is clamped, so that additions cannot trap.
    func count(_ column: Column) -> Int {
        Int(count64(column))
    }

    func count64(_ column: Column) -> Int64 {
        min(max(0, self[column]), Int64.max / 16)
    }

    /// A length in bytes; a negative one is unknown.
    func optionalLength(_ column: Column) -> Int64? {
        let length: Int64? = self[column]
        return length.flatMap { $0 < 0 ? nil : $0 }
    }

    /// Seconds of a column that stores microseconds.
    func seconds(_ column: Column) -> Double? {
        let microseconds: Int64? = self[column]
        return microseconds.map { Double($0) / 1e6 }
    }

    /// `nil` for NULL, and for a value of a later version.
    func known<Value: RawRepresentable>(_ column: Column) -> Value?
    where Value.RawValue: StoredValue {
        let stored: Value.RawValue? = self[column]
        return stored.flatMap(Value.init(rawValue:))
    }

    /// Reads the identity of a file.
    func fileIdentity(device: Column, inode: Column, birth: Column) -> FileIdentity {
        FileIdentity(
            device: UInt64(bitPattern: self[device]), inode: UInt64(bitPattern: self[inode]),
            birth: self[birth])
    }
}
