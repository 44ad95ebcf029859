internal import Glibc
internal import LonghaulCore

/// What stood in a directory when it was looked through: for those who ask for very many names, one
/// look instead of one system call each.
package struct DirectoryNames: Sendable {
    private let names: Set<ExactText>

    /// More names than this are not held in memory.
    package static let namesMax = 100_000

    /// `nil` when the directory cannot be looked through, or holds too much.
    package init?(of path: String) {
        var names: Set<ExactText> = []
        let isRead = eachName(in: path) { name in
            guard names.count < Self.namesMax else { return false }
            names.insert(ExactText(name))
            return true
        }
        guard isRead else { return nil }
        self.names = names
    }

    package func contains(_ name: String) -> Bool { names.contains(ExactText(name)) }
}

/// The names in a directory, but for `.` and `..`; `nil` when it cannot be read.
package func directoryNames(_ path: String) -> [String]? {
    var found: [String] = []
    let isRead = eachName(in: path) { name in
        if name != ".", name != ".." { found.append(name) }
        return true
    }
    return isRead ? found : nil
}

/// All names that the directory has, `.` and `..` included, one after the other. `false` when it
/// cannot be read, or `body` had enough before the end.
private func eachName(in path: String, _ body: (String) -> Bool) -> Bool {
    guard let stream = opendir(path) else { return false }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if !body(name) { return false }
    }
    return true
}
