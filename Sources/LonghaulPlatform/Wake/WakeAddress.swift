internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// A socket's path may have 107 bytes and a null (unix(7)).
private let socketPathBytes = 107

/// The socket `wake` in the state directory, as an address.
struct WakeAddress {
    static let fileName = "wake"
    private let path: String
    /// Keeps the directory of a path through /proc open.
    private let directory: Descriptor?

    /// A directory with a long path is reached through a descriptor, whose path in /proc is short.
    init(in directory: String) throws(SystemFailure) {
        let path = PathParts.join(directory, Self.fileName)
        if path.utf8.count <= socketPathBytes {
            self.path = path
            self.directory = nil
        } else {
            let opened = Descriptor(
                owning: try check(lh_open_directory(directory, 1), "open", directory))
            self.path = "/proc/self/fd/\(opened.number)/\(Self.fileName)"
            self.directory = opened
        }
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { field in
            // The rest stays zero, the null at the end included.
            field.copyBytes(from: path.utf8.prefix(socketPathBytes))
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    func remove() {
        _ = unlink(path)
    }

    /// The file that has the name; `nil` = none.
    var identity: FileIdentity? { try? FileLook(at: path).identity }

    static func socket(_ path: String) throws(SystemFailure) -> Descriptor {
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = Glibc.socket(AF_UNIX, kind, 0)
        if number < 0 { throw .last("socket", path) }
        return Descriptor(owning: number)
    }
}

/// Wakes the engine of a state directory to check the store for changes. Only a hint: without an
/// engine, or if enough hints are pending, it has no effect, and nothing is lost.
package enum WakeChannel {
    /// Never blocks, never fails.
    package static func poke(_ directory: String) {
        guard let address = try? WakeAddress(in: directory),
            let socket = try? WakeAddress.socket(directory)
        else { return }
        var byte: UInt8 = 1
        address.with { target, length in
            _ = sendto(
                socket.number, &byte, 1, Int32(MSG_DONTWAIT | MSG_NOSIGNAL),
                target, length)
        }
    }
}

/// The file `wanted` in the state directory. A service manager that watches it starts an engine
/// when it is touched. It exists only if such a service was set up.
///
/// The socket of the wake channel cannot serve for that: it belongs to the running engine, and
/// every engine creates another one.
package enum ActivationFile {
    package static func path(in directory: String) -> String {
        PathParts.join(directory, "wanted")
    }

    /// Creates the file (0600) unless it exists. The directory must exist.
    package static func create(in directory: String) throws(SystemFailure) {
        let path = path(in: directory)
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let file = Descriptor(
            owning: try check(lh_openat(AT_FDCWD, path, flags, 0o600), "open", path))
        // The umask must not matter.
        _ = fchmod(file.number, 0o600)
    }

    /// Asks for an engine. `false` = no service manager watches the file.
    package static func touch(in directory: String) -> Bool {
        let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW
        let answer = lh_openat(AT_FDCWD, path(in: directory), flags, 0)
        guard answer >= 0 else { return false }
        // The service manager watches for the close of a writable file; the time is for users.
        let file = Descriptor(owning: answer)
        return futimens(file.number, nil) == 0
    }
}
