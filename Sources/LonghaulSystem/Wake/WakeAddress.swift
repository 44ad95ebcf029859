internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// The socket `wake` in the state directory, as an address.
struct WakeAddress {
    static let fileName = "wake"
    /// A socket's path may have 107 bytes and a null (unix(7)).
    private static let pathBytesMax = 107

    private let path: String
    /// Keeps the directory of a path through /proc open.
    private let directory: Descriptor?

    /// Directories with long paths are reached through a descriptor, whose path in /proc is short.
    init(in directory: String) throws(SystemFailure) {
        let path = PathParts.join(directory, Self.fileName)
        if path.utf8.count <= Self.pathBytesMax {
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
            field.copyBytes(from: path.utf8.prefix(Self.pathBytesMax))
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

    /// Which file has the name; `nil` = none.
    var identity: FileIdentity? { try? FileLook(at: path).identity }

    static func socket(_ path: String) throws(SystemFailure) -> Descriptor {
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = Glibc.socket(AF_UNIX, kind, 0)
        if number < 0 { throw .last("socket", path) }
        return Descriptor(owning: number)
    }
}
