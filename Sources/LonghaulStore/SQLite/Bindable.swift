internal import CSQLite
internal import LonghaulCore

/// A value that may be bound to a parameter of a statement.
protocol Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32
}

/// SQLite copies the bytes before the call returns (SQLITE_TRANSIENT): a Swift string's storage
/// does not outlive it.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension Int64: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, self)
    }
}

extension Int: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, Int64(self))
    }
}

extension Bool: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(handle, index, self ? 1 : 0)
    }
}

extension Double: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_double(handle, index, self)
    }
}

extension String: Bindable {
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
}

extension Timestamp: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        milliseconds.bind(to: handle, at: index)
    }
}

extension TransferID: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension FetchID: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension Want: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension Phase: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        rawValue.bind(to: handle, at: index)
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to handle: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .none: sqlite3_bind_null(handle, index)
        case .some(let value): value.bind(to: handle, at: index)
        }
    }
}
