internal import CLonghaul
internal import Glibc

/// Says that a program of a host runs, for as long as this object lives: a shared kernel lock on a
/// file of the state directory. It cannot go stale: the kernel lets go of it when the process ends,
/// however that ends. Several processes of one host may hold it.
package final class HostLock: Sendable {
    static let prefix = "host."
    private let owner: Descriptor

    deinit {
        lh_ofd_unlock(owner.number)
    }

    /// - Parameter host: a name that may be one of a file.
    package init(of host: String, in directory: String) throws(SystemFailure) {
        let home = try DirectoryHandle(opening: directory)
        let name = Self.fileName(host)
        // For writing, too: the engine is told by the kernel when such a file is closed.
        owner = try openOwn(name, in: home)
        try check(lh_ofd_share_lock(owner.number), "flock", home.path(of: name))
    }

    /// Whether somebody holds it now.
    package static func isHeld(_ host: String, in directory: String) -> Bool {
        guard let home = try? DirectoryHandle(opening: directory) else { return false }
        let name = fileName(host)
        guard
            let file = try? openName(
                name, in: home.descriptor, flags: O_RDONLY | O_NONBLOCK, path: home.path(of: name))
        else { return false }
        return lh_ofd_is_locked(file.number) == 1
    }

    private static func fileName(_ host: String) -> String { "\(prefix)\(host).lock" }
}
