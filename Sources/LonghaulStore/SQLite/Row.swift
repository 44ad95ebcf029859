internal import CSQLite
internal import LonghaulCore

/// The current row of a statement. Columns are read by position, in the order of the statement's
/// text. Valid until the next step.
struct StoredRow {
    let handle: OpaquePointer

    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    func int64(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    func int(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(handle, column))
    }

    /// A count. A damaged value is clamped, so that additions cannot trap.
    func count(_ column: Int32) -> Int {
        Int(count64(column))
    }

    func count64(_ column: Int32) -> Int64 {
        min(max(0, int64(column)), Self.countMax)
    }

    private static let countMax = Int64.max / 16

    /// A length in bytes; one below zero is not known.
    func optionalLength(_ column: Int32) -> Int64? {
        optionalInt64(column).flatMap { $0 < 0 ? nil : $0 }
    }

    func bool(_ column: Int32) -> Bool {
        sqlite3_column_int64(handle, column) != 0
    }

    func double(_ column: Int32) -> Double {
        sqlite3_column_double(handle, column)
    }

    /// Bytes that are not UTF-8 are repaired: they can only come from damage.
    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Of microseconds.
    func seconds(_ column: Int32) -> Double? {
        optionalInt64(column).map { Double($0) / 1e6 }
    }

    func optionalInt64(_ column: Int32) -> Int64? {
        isNull(column) ? nil : int64(column)
    }

    func optionalInt(_ column: Int32) -> Int? {
        isNull(column) ? nil : int(column)
    }

    func optionalDouble(_ column: Int32) -> Double? {
        isNull(column) ? nil : double(column)
    }

    func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }

    func timestamp(_ column: Int32) -> Timestamp {
        Timestamp(milliseconds: int64(column))
    }

    func optionalTimestamp(_ column: Int32) -> Timestamp? {
        optionalInt64(column).map(Timestamp.init(milliseconds:))
    }

    /// Reads the identity of a file.
    func fileIdentity(device: Int32, inode: Int32, birth: Int32) -> FileIdentity {
        FileIdentity(
            device: UInt64(bitPattern: int64(device)), inode: UInt64(bitPattern: int64(inode)),
            birth: int64(birth))
    }

    func transferID(_ column: Int32) -> TransferID {
        TransferID(rawValue: int64(column))
    }
}
