internal import CSQLite
internal import LonghaulModel

/// A value that is bound to a parameter of a statement, or read from a column. NULL reads as zero
/// or as the empty text, and as `nil` where the value is optional.
protocol StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32
    static func read(_ handle: OpaquePointer, _ column: Int32) -> Self
}

/// SQLite copies the bytes before the call returns (SQLITE_TRANSIENT): a Swift string's storage
/// does not outlive it.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension Int64: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, self)
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }
}

extension Int: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, Int64(self))
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Int {
        Int(sqlite3_column_int64(handle, column))
    }
}

extension Bool: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, self ? 1 : 0)
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Bool {
        sqlite3_column_int64(handle, column) != 0
    }
}

extension Double: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_double(handle, index, self)
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Double {
        sqlite3_column_double(handle, column)
    }
}

extension String: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else {
                    return sqlite3_bind_text(handle, index, "", 0, copied)
                }
                return sqlite3_bind_text(
                    handle, index, start, Int32(clamping: characters.count), copied)
            }
        }
    }

    /// Bytes that are not UTF-8 are repaired: they can only come from damage.
    static func read(_ handle: OpaquePointer, _ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}

extension Timestamp: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        milliseconds.bind(to: handle, at: index)
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Timestamp {
        Timestamp(milliseconds: .read(handle, column))
    }
}

/// The number of a row.
protocol StoredID: StoredValue {
    var rawValue: Int64 { get }
    init(rawValue: Int64)
}

extension StoredID {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Self {
        Self(rawValue: .read(handle, column))
    }
}

extension TransferID: StoredID {}
extension FetchID: StoredID {}
extension LaunchID: StoredID {}
extension TaskID: StoredID {}
extension ResidentID: StoredID {}
extension ReaderID: StoredID {}

extension Optional: StoredValue where Wrapped: StoredValue {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        self?.bind(to: handle, at: index) ?? sqlite3_bind_null(handle, index)
    }

    static func read(_ handle: OpaquePointer, _ column: Int32) -> Wrapped? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : Wrapped.read(handle, column)
    }
}
