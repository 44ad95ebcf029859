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
        #expect(try hasLock(scratch))
        let second = try Store.open(directory: scratch.directory)
        #expect(try hasLock(scratch), "opening")
        #expect(try second.transfers.counts() == [.waiting: 1])
        try second.close()
        #expect(try hasLock(scratch), "closing")
    }

    /// In write-ahead-log mode a connection holds a shared lock on the file for life.
    private func hasLock(_ scratch: ScratchStore) throws -> Bool {
        var facts = stat()
        guard stat(scratch.location.database, &facts) == 0 else { return false }
        // While other tests take and free locks, one reading of the list may miss some.
        for _ in 1...50 {
            let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
            let isListed = locks.split(separator: "\n").contains { line in
                line.contains("POSIX") && line.contains(":\(facts.st_ino) ")
                    && line.contains(" \(getpid()) ")
            }
            if isListed { return true }
        }
        return false
    }
}
