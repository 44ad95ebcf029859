internal import CLonghaul
internal import Glibc

/// The kernel's half of the engine lease: an exclusive lock on `engine.lock` in the state
/// directory, held as long as this object lives.
///
/// It cannot go stale: the kernel lets go of it when the process ends, however it ends. It is an
/// open file description lock, so a program that this process starts does not hold it
/// (close-on-exec), and closing another descriptor of the file does not drop it, as it would with
/// the older POSIX locks.
package final class EngineLock: Sendable {
    package static let fileName = "engine.lock"

    private let owner: Descriptor

    private init(_ owner: Descriptor) {
        self.owner = owner
    }

    deinit {
        // Said, and not left to the close: a program that another thread is just starting still has
        // the descriptor until it has begun to run.
        lh_ofd_unlock(owner.number)
    }

    /// The lock if it is free now; `nil` if another holds it.
    package static func tryAcquire(in directory: String) throws(SystemFailure) -> EngineLock? {
        let home = try DirectoryHandle(opening: directory)
        // Bounded, should somebody delete the file all the time; that is as good as held.
        for _ in 1...deletedTriesMax {
            switch try attempt(open(in: home), in: home) {
            case .taken(let lock): return lock
            case .held: return nil
            case .deleted: continue
            }
        }
        return nil
    }

    /// Whether somebody holds the lock now. Takes nothing, so it cannot make a `tryAcquire`
    /// elsewhere fail.
    package static func isHeld(in directory: String) throws(SystemFailure) -> Bool {
        let home = try DirectoryHandle(opening: directory)
        let path = home.path(of: fileName)
        do {
            // Read-only, so that closing it does not look like a release to those who wait
            // (EngineLockWait).
            let owner = try openName(
                fileName, in: home.descriptor, flags: O_RDONLY | O_NONBLOCK, path: path)
            return try check(lh_ofd_is_locked(owner.number), "flock", path) == 1
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }

    private static let deletedTriesMax = 8

    // MARK: - Shared with those who wait

    enum Attempt {
        case taken(EngineLock)
        case held
        /// The file opened is no longer the one that others will open: a lock on it would keep
        /// nobody out.
        case deleted
    }

    static func open(in home: DirectoryHandle) throws(SystemFailure) -> Descriptor {
        try openOwn(fileName, in: home)
    }

    static func attempt(_ owner: Descriptor, in home: DirectoryHandle) throws(SystemFailure)
        -> Attempt
    {
        let path = home.path(of: fileName)
        let answer = lh_ofd_try_lock(owner.number)
        if answer != -EAGAIN { try check(answer, "flock", path) }
        let facts = try stat.of(descriptor: owner.number, path: path)
        guard try home.holds(.init(facts), at: fileName) else { return .deleted }
        return answer == -EAGAIN ? .held : .taken(EngineLock(owner))
    }
}

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
