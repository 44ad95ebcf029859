internal import Foundation
internal import LonghaulCore

/// Which database files this process has open.
///
/// SQLite guards a file with POSIX locks, and those belong to the process: closing *any* descriptor
/// of the file drops all of them (fcntl(2)). A look at the header of a file that is open already
/// would leave its connections without a lock, and another process would delete the log under them
/// (sqlite.org/howtocorrupt.html §2.2). So nobody looks while one is open, and nobody opens one
/// while somebody looks.
enum OpenStores {
    private static let lock = NSRecursiveLock()
    // Touched by who holds the lock.
    private nonisolated(unsafe) static var counts: [FileIdentity: Int] = [:]

    /// Looking at files and opening them, one thread at a time.
    static func whileOpening<Value>(
        _ body: () throws(LonghaulError) -> Value
    ) throws(LonghaulError) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return try body()
    }

    static func locked(_ body: () -> Void) {
        lock.lock()
        defer { lock.unlock() }
        body()
    }

    static func isOpen(_ file: FileIdentity) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        return counts[file, default: 0] > 0
    }

    static func opened(_ file: FileIdentity) {
        lock.lock()
        defer { lock.unlock() }
        counts[file, default: 0] += 1
    }

    static func closed(_ file: FileIdentity) {
        lock.lock()
        defer { lock.unlock() }
        let left = counts[file, default: 0] - 1
        counts[file] = left > 0 ? left : nil
    }
}

/// A place among the open ones, given back once.
final class OpenPlace: Sendable {
    private let file: FileIdentity
    // Touched by who holds the lock.
    private nonisolated(unsafe) var isGivenBack = false

    init(_ file: FileIdentity) {
        self.file = file
        OpenStores.opened(file)
    }

    func giveBack() {
        OpenStores.locked {
            if !isGivenBack { OpenStores.closed(file) }
            isGivenBack = true
        }
    }

    deinit { giveBack() }
}
