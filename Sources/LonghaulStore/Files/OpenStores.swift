internal import LonghaulModel
internal import Synchronization

/// The database files that this process has open.
///
/// SQLite guards a file with POSIX locks, and those belong to the process: closing *any* descriptor
/// of the file drops all of them (fcntl(2)). Reading the header of a file that is already open
/// would therefore leave its connections without a lock, and another process would delete the log
/// under them (sqlite.org/howtocorrupt.html §2.2). So the header is never read while a connection
/// is open, and no connection is opened while a header is read.
enum OpenStores {
    private static let opening = Mutex(())
    private static let counts = Mutex<[FileIdentity: Int]>([:])

    /// Lets a single thread at a time read headers or open files.
    static func whileOpening<Value>(
        _ body: () throws(LonghaulError) -> Value
    ) throws(LonghaulError) -> Value {
        var value: Value?
        try opening.withLock { _ throws(LonghaulError) in value = try body() }
        guard let value else { preconditionFailure("a body that has returned has a value") }
        return value
    }

    static func isOpen(_ file: FileIdentity) -> Bool {
        counts.withLock { $0[file, default: 0] > 0 }
    }

    static func opened(_ file: FileIdentity) {
        counts.withLock { $0[file, default: 0] += 1 }
    }

    static func closed(_ file: FileIdentity) {
        counts.withLock { counts in
            let left = counts[file, default: 0] - 1
            counts[file] = left > 0 ? left : nil
        }
    }
}

/// The entry of one open file. It is removed once.
final class OpenPlace: Sendable {
    private let file: FileIdentity
    private let isGivenBack = Atomic(false)

    init(_ file: FileIdentity) {
        self.file = file
        OpenStores.opened(file)
    }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .relaxed) { OpenStores.closed(file) }
    }

    deinit { giveBack() }
}
