internal import CLonghaul
internal import Glibc
package import LonghaulModel
internal import Synchronization

/// Directories with more names are not kept in memory.
private let directoryNamesMaximum = 100_000

/// An open directory. Operations through it stay in that directory, even if its path comes to lead
/// elsewhere.
package final class DirectoryHandle: Sendable {
    /// The path that it was opened by; for messages and for the paths of its files.
    package let path: String
    package let identity: FileIdentity
    /// The mount point of its disk; `nil` = it is the disk of `/`, or the mount point is unknown.
    package let mountPoint: String?
    private let owner: Descriptor
    private let knownMode = Mutex<mode_t?>(nil)
    /// See ``hasAnyName``.
    let knownToHaveAnyName = Mutex<Bool?>(nil)

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

    /// Makes changes of the directory's entries (create, rename, remove) survive a power loss.
    package func sync() throws(SystemFailure) {
        if uninterrupted({ fsync(descriptor) }) == 0 { return }
        let failure = SystemFailure.last("fsync", path)
        // File systems that cannot sync a directory answer EINVAL (fsync(2)); they offer no other
        // way.
        if failure.errno != EINVAL { throw failure }
    }

    /// True if the path still leads here. False after the directory was removed, or was moved away
    /// and replaced.
    package var isCurrent: Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && FileIdentity(facts) == identity
    }

    /// The mode of new files that are made in it for the user: 0666 less what its default ACL does
    /// not grant, which replaces the umask (acl(5)). Looked up once.
    var fileMode: mode_t {
        if let known = knownMode.withLock({ $0 }) { return known }
        let granted = lh_default_mode(descriptor)
        let mode = granted < 0 ? Umask.fileMode : 0o666 & mode_t(granted)
        knownMode.withLock { $0 = mode }
        return mode
    }

    /// The path of a name in it.
    package func path(of name: String) -> String { PathParts.join(path, name) }

    /// Removes a name in the directory. A missing name is no error.
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
    /// Opens the directory and creates it and its missing parents (0777 less the umask; 0700 if
    /// private). Each created directory is synced into its parent, so that it is still there after
    /// a power loss.
    package static func creating(
        _ path: String, isPrivate: Bool = false
    ) throws(SystemFailure) -> DirectoryHandle {
        do {
            return try DirectoryHandle(opening: path)
        } catch {
            guard error.errno == ENOENT,
                let (parent, name) = PathParts.split(PathParts.withoutSlashes(path))
            else {
                throw error
            }
            let above = try creating(parent, isPrivate: isPrivate)
            if mkdirat(above.descriptor, name, isPrivate ? 0o700 : 0o777) < 0 {
                // Another process may have made it meanwhile; it is opened below.
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

/// The names in a directory at one moment: for a caller that asks for very many names, one read of
/// the directory instead of a system call for each.
package struct DirectoryNames: Sendable {
    private let names: Set<ExactText>

    /// `nil` if the directory cannot be read, or has more than `directoryNamesMaximum` names.
    package init?(of path: String) {
        var names: Set<ExactText> = []
        let isRead = eachName(in: path) { name in
            guard names.count < directoryNamesMaximum else { return false }
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

/// Calls `body` for each name of the directory, `.` and `..` included. `false` if the directory
/// cannot be read, or if `body` returned `false`.
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

/// An event of inotify(7).
struct DirectoryEvent {
    /// Number of the watch; -1 of a lost event.
    var watch: Int32
    /// The change: `IN_CREATE` and others.
    var mask: UInt32
    /// The name in the directory. A lost event (`IN_Q_OVERFLOW`) has none.
    var name: ArraySlice<UInt8>

    /// Reads what read(2) has given: `struct inotify_event` has 16 bytes, of which the first four
    /// are the watch and the last four the length of the following name, padding included.
    static func all(_ bytes: ArraySlice<UInt8>) -> [DirectoryEvent] {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
            bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        var events: [DirectoryEvent] = []
        var rest = bytes
        while rest.count >= 16 {
            let size = Int(number(rest.dropFirst(12)))
            events.append(
                DirectoryEvent(
                    watch: Int32(bitPattern: number(rest)), mask: number(rest.dropFirst(4)),
                    name: rest.dropFirst(16).prefix(size).prefix { $0 != 0 }))
            rest = rest.dropFirst(16 + size)
        }
        return events
    }
}
