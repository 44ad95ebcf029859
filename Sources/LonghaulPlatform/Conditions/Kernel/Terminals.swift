internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Records of logged-in terminals that are read at most.
private let terminalRecords = 10_000

/// The terminals that users may sit at: those with a login in utmp, and all pseudo-terminals (not
/// every program that opens one writes utmp).
struct Terminals {
    let dev: String
    let logins: String

    /// The time of the latest input at any of them: the kernel keeps it as the access time of the
    /// terminal, to eight seconds. `nil` = there is no terminal.
    ///
    /// A graphical login counts as input now: no file shows its input.
    func lastInput() -> Timestamp? {
        var paths = Set(
            (directoryNames("\(dev)/pts") ?? []).lazy.filter { $0 != "ptmx" }
                .map { "\(dev)/pts/\($0)" })
        for line in loggedIn() {
            if line.hasPrefix(":") { return .distantFuture }
            paths.insert("\(dev)/\(line)")
        }
        return paths.compactMap(Self.accessTime).max()
    }

    private static func accessTime(_ path: String) -> Timestamp? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        let time = facts.st_atim
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The lines of utmp's user processes. The file is read directly: the C library's functions for
    /// it share one position among all threads.
    private func loggedIn() -> [String] {
        let opened = lh_openat(AT_FDCWD, logins, O_RDONLY | O_CLOEXEC, 0)
        guard opened >= 0 else { return [] }
        let file = Descriptor(owning: opened)
        var found: [String] = []
        var record = utmp()
        let size = MemoryLayout<utmp>.size
        for _ in 0..<terminalRecords {
            let got = withUnsafeMutableBytes(of: &record) { bytes in
                uninterrupted { read(file.number, bytes.baseAddress, size) }
            }
            guard got == size else { break }
            guard record.ut_type == Self.userProcess else { continue }
            let line = withUnsafeBytes(of: &record.ut_line) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isPath = line.split(separator: "/").contains { $0 == ".." }
            if !line.isEmpty, !isPath { found.append(line) }
        }
        return found
    }

    /// USER_PROCESS in utmp(5).
    private static let userProcess: Int16 = 7
}
