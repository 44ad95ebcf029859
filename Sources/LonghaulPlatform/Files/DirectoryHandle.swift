internal import LonghaulCore
internal import CLonghaul
internal import Glibc
package import LonghaulCore
private import Synchronization

/// An open directory: what is done through it happens in that directory, wherever its path leads
/// meanwhile.
package final class DirectoryHandle: Sendable {
    /// The path that it was opened by; for messages and for the paths of its files.
    package let path: String
    package let identity: FileIdentity
    /// Where its disk is mounted; `nil` = it is that of `/`, or it could not be told.
    package let mountPoint: String?
    private let owner: Descriptor
    private let knownMode = Mutex<mode_t?>(nil)

    package var descriptor: Int32 { owner.number }

    /// Opens a directory. The directory that a user chose may itself be reached through links.
    package init(opening path: String) throws(SystemFailure) {
        let owner = Descriptor(owning: try check(lh_open_directory(path, 0), "open", path))
        let facts = try stat.of(descriptor: owner.number, path: path)
        self.path = path
        self.owner = owner
        identity = FileIdentity(facts)
        mountPoint = MountedDisk.mountPoint(of: path, device: identity.device)
    }

    /// Makes what was created, renamed or removed in the directory survive a power loss.
    package func sync() throws(SystemFailure) {
        if uninterrupted({ fsync(descriptor) }) == 0 { return }
        let failure = SystemFailure.last("fsync", path)
        // File systems without a way to sync a directory say EINVAL (fsync(2)); there is nothing
        // else to ask them for.
        if failure.errno != EINVAL { throw failure }
    }

    /// The path still leads here. False after the directory was removed, or moved away with another
    /// put in its place.
    package var isCurrent: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && FileIdentity(facts) == identity
    }

    /// The mode that programs give to what they create in it for their user: 0666 less what its
    /// default ACL does not grant, which takes the umask's place (acl(5)). Looked up once.
    var fileMode: mode_t {
        if let known = knownMode.withLock({ $0 }) { return known }
        let granted = lh_default_mode(descriptor)
        let mode = granted < 0 ? Umask.fileMode : 0o666 & mode_t(granted)
        knownMode.withLock { $0 = mode }
        return mode
    }

    /// The path of a name in it.
    package func path(of name: String) -> String { PathParts.join(path, name) }

    /// Removes a name in the directory; one that is not there is removed already.
    package func remove(_ name: String) throws(SystemFailure) {
        guard isFileName(name) else {
            throw SystemFailure(operation: "unlink", path: path(of: name), errno: EINVAL)
        }
        if unlinkat(descriptor, name, 0) < 0, Glibc.errno != ENOENT {
            throw .last("unlink", path(of: name))
        }
    }
}

extension DirectoryHandle {
    /// Opens the directory, after creating it and those above it where they are missing (0777 less
    /// the umask). After a power loss a directory that was created here is still there: each is
    /// synced into its parent.
    package static func creating(_ path: String) throws(SystemFailure) -> DirectoryHandle {
        do {
            return try DirectoryHandle(opening: path)
        } catch {
            guard error.errno == ENOENT,
                let (parent, name) = PathParts.split(PathParts.withoutSlashes(path))
            else {
                throw error
            }
            let above = try creating(parent)
            if mkdirat(above.descriptor, name, 0o777) < 0 {
                // Another process may have made it meanwhile; what is there is opened below, if it
                // can be.
                if Glibc.errno != EEXIST { throw .last("mkdir", path) }
            } else {
                try above.sync()
            }
            do {
                return try DirectoryHandle(opening: path)
            } catch {
                throw SystemFailure.leadingNowhere(PathParts.withoutSlashes(path)) ?? error
            }
        }
    }
}

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
