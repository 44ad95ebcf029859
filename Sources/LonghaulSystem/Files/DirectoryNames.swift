internal import Glibc

/// What stood in a directory when it was looked through: for those who ask for very many names, one
/// look instead of one system call each.
package struct DirectoryNames: Sendable {
    private let names: Set<String>

    /// More names than this are not held in memory.
    package static let namesMax = 100_000

    /// `nil` when the directory cannot be looked through, or holds too much.
    package init?(of path: String) {
        guard let stream = opendir(path) else { return nil }
        defer { closedir(stream) }
        var names: Set<String> = []
        while let entry = readdir(stream) {
            guard names.count < Self.namesMax else { return nil }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.insert(name)
        }
        self.names = names
    }

    package func contains(_ name: String) -> Bool { names.contains(name) }
}
