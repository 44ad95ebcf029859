internal import Glibc

/// The files below a directory, as an upload of the directory finds them. Links to directories are
/// followed only where that is asked for, and then none leads back into itself.
package struct FileTree {
    /// The reason for skipping a name.
    package enum Obstacle: String, Hashable, Sendable {
        case link, special, unreadable
        /// The target of a link is not there, or leads back to a directory above.
        case badLink
        /// The name is not UTF-8.
        case badName
    }

    /// Paths of files, from the root on, in the order of their names.
    package private(set) var files: [String] = []
    /// The names that are passed over.
    package private(set) var obstacles: [(path: String, why: Obstacle)] = []

    private let root: String
    private let followsLinks: Bool
    private let descends: (String) -> Bool
    /// The directories above the one that is read.
    private var above: [DirectoryID] = []

    private struct DirectoryID: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// - Parameters:
    ///   - followsLinks: Links count as their targets. The root may be a link anyway.
    ///   - descends: Whether a directory is read; called before that with its path from the root.
    /// - Throws: `SystemFailure` if the root is no directory, or cannot be read.
    package init(
        _ root: String, followsLinks: Bool, descends: @escaping (String) -> Bool = { _ in true }
    ) throws(SystemFailure) {
        self.root = root
        self.descends = descends
        self.followsLinks = followsLinks
        guard let stream = opendir(root) else { throw .last("open", root) }
        closedir(stream)
        read("")
    }

    /// The file can be opened for reading.
    package static func obstacle(toReading path: String) -> Obstacle? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return errno == EACCES ? .unreadable : .badLink }
        guard facts.st_mode & S_IFMT == S_IFREG else { return .special }
        return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ? nil : .unreadable
    }

    package static func isDirectory(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    /// - Parameter directory: Empty, or with a slash at the end.
    private mutating func read(_ directory: String) {
        let path = root + "/" + directory
        var facts = stat()
        guard stat(path, &facts) == 0, let names = names(in: path) else {
            obstacles.append((directory, .unreadable))
            return
        }
        let own = DirectoryID(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
        if above.contains(own) {
            obstacles.append((directory, .badLink))
            return
        }
        above.append(own)
        defer { above.removeLast() }
        for name in names {
            guard let text = String(validating: name, as: UTF8.self) else {
                obstacles.append((directory + String(decoding: name, as: UTF8.self), .badName))
                continue
            }
            add(directory + text)
        }
    }

    private mutating func add(_ relative: String) {
        let path = root + "/" + relative
        var facts = stat()
        guard lstat(path, &facts) == 0 else {
            // Gone meanwhile, like a file that was deleted before.
            if errno != ENOENT { obstacles.append((relative, .unreadable)) }
            return
        }
        if facts.st_mode & S_IFMT == S_IFLNK {
            guard followsLinks else {
                obstacles.append((relative, .link))
                return
            }
            guard stat(path, &facts) == 0 else {
                obstacles.append((relative, .badLink))
                return
            }
        }
        if facts.st_mode & S_IFMT == S_IFDIR {
            if descends(relative) { read(relative + "/") }
            return
        }
        if let obstacle = FileTree.obstacle(toReading: path) {
            obstacles.append((relative, obstacle))
        } else {
            files.append(relative)
        }
    }

    /// Sorted by bytes, so that the order is the same each time.
    private func names(in path: String) -> [[UInt8]]? {
        guard let stream = opendir(path) else { return nil }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }
}
