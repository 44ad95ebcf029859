internal import Glibc
internal import Synchronization

/// This process's standard error, for lines that are whole in one call.
package enum StandardError {
    private static let log = Mutex<BoundedLog?>(nil)

    /// Where it is this file, it stays small from now on.
    package static func keepSmall(_ path: String) {
        let descriptors = BoundedLog.leading(to: path, of: [2, 1])
        guard descriptors.first == 2 else { return }
        log.withLock { $0 = BoundedLog(path, descriptors: descriptors) }
    }

    /// What cannot be written is lost: there is nowhere to say so.
    package static func write(_ text: String) {
        log.withLock { log in
            log?.makeRoom(for: text.utf8.count)
            put(text)
        }
    }

    private static func put(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                uninterrupted { Glibc.write(2, bytes.baseAddress, bytes.count) }
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Whether it is connected to the journal (systemd.exec(5), `$JOURNAL_STREAM`): the variable is
    /// inherited also by those whose standard error is somewhere else.
    package static func isJournal(environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        var facts = stat()
        guard fstat(2, &facts) == 0 else { return false }
        return stream == "\(facts.st_dev):\(facts.st_ino)"
    }
}
