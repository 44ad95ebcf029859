internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// An open descriptor, closed when its last reference is released.
final class Descriptor: Sendable {
    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        // No repetition on EINTR: Linux has released the number by then (close(2)).
        _ = close(number)
    }
}

/// Opens one name in a directory, never through a symbolic link at that name.
///
/// - Parameter name: one component; in a longer path another user could replace a directory by a
///   link.
func openName(
    _ name: String, in directory: Int32, flags: Int32, mode: UInt32 = 0,
    path: @autoclosure () -> String
) throws(SystemFailure) -> Descriptor {
    guard isFileName(name) else {
        throw SystemFailure(operation: "open", path: path(), errno: EINVAL)
    }
    let all = flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
    var answer = lh_openat2(directory, name, UInt64(all), UInt64(mode), lh_resolve_no_symlinks)
    // openat2 needs Linux 5.6, and seccomp filters answer EPERM for unknown calls. For a single
    // component O_NOFOLLOW gives the same guarantee.
    if answer == -ENOSYS || answer == -EPERM {
        answer = lh_openat(directory, name, all, mode)
    }
    return Descriptor(owning: try check(answer, "open", path()))
}

/// Opens a file of the state directory, and creates it (0600) if it is missing. The mode does not
/// depend on the umask: a file that its owner cannot open would block every later start.
func openOwn(_ name: String, in home: DirectoryHandle) throws(SystemFailure) -> Descriptor {
    let path = home.path(of: name)
    func open(_ more: Int32 = 0, mode: UInt32 = 0) throws(SystemFailure) -> Descriptor {
        try openName(
            name, in: home.descriptor, flags: O_RDWR | O_NONBLOCK | more, mode: mode, path: path)
    }
    do {
        return try open()
    } catch {
        guard error.errno == ENOENT else { throw error }
    }
    do {
        let made = try open(O_CREAT | O_EXCL, mode: 0o600)
        _ = fchmod(made.number, 0o600)
        return made
    } catch {
        // Another process created it first.
        guard error.isNameInUse else { throw error }
        return try open()
    }
}

/// True if the name is one component that can name an entry of a directory.
func isFileName(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
        && !name.utf8.contains(0)
}

extension FileIdentity {
    /// Reads the identity of an open file or a directory, whose inode number cannot be reused
    /// meanwhile.
    init(_ facts: stat) {
        self.init(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
    }
}

extension stat {
    var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }

    static func of(descriptor: Int32, path: @autoclosure () -> String) throws(SystemFailure) -> stat
    {
        var facts = stat()
        if fstat(descriptor, &facts) < 0 { throw .last("fstat", path()) }
        return facts
    }

    /// The status of the name itself; links are not followed.
    static func of(name: String, in directory: Int32, path: @autoclosure () -> String)
        throws(SystemFailure) -> stat
    {
        var facts = stat()
        if fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) < 0 { throw .last("stat", path()) }
        return facts
    }
}

/// The mode of new files that are made for the user: 0666 less the umask that this process was
/// started with.
enum Umask {
    static let fileMode: mode_t = 0o666 & ~current()

    static let takesFromOwner = fileMode & 0o600 != 0o600

    /// Read from /proc: umask(2) reads the mask only by setting it, which affects files that other
    /// threads create meanwhile.
    private static func current() -> mode_t {
        if let text = try? smallFile("/proc/self/status") {
            for line in text.split(separator: "\n") where line.hasPrefix("Umask:") {
                let digits = line.dropFirst("Umask:".count).drop { $0 == "\t" || $0 == " " }
                if let mask = mode_t(digits, radix: 8) { return mask }
            }
        }
        let mask = umask(0o077)
        _ = umask(mask)
        return mask
    }
}
