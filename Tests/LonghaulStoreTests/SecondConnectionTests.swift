import Foundation
import LonghaulCore
import Testing

@testable import LonghaulStore

/// Several stores on one file in one process, as an engine and a session of the same program have
/// them: the locks of one must not go with the opening of another.
@Suite struct SecondConnectionTests {
    @Test func theLockIsKept() throws {
        let scratch = try ScratchStore()
        try scratch.add("/d/1")
        // Closing it would release the locks of the process.
        let file = open(scratch.location.database, O_RDWR | O_CLOEXEC)
        #expect(isLocked(file))
        let second = try Store.open(directory: scratch.directory)
        #expect(isLocked(file), "opening")
        #expect(try second.transfers.counts() == [.waiting: 1])
        try second.close()
        #expect(isLocked(file), "closing")
    }

    /// In write-ahead-log mode a connection holds a shared lock on the file for life. A lock of an
    /// open file conflicts with those of its own process.
    private func isLocked(_ file: Int32) -> Bool {
        let getLock: Int32 = 36  // F_OFD_GETLK
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        return fcntl(file, getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }
}
