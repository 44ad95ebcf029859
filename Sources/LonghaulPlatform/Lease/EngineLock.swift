internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Number of tries to open the lock file if it is deleted meanwhile.
private let lockDeletedTries = 8

/// The kernel's half of the engine lease: an exclusive lock on `engine.lock` in the state
/// directory, held as long as this object lives.
///
/// The lock cannot go stale: the kernel releases it when the process ends, however it ends. It is
/// an open file description lock. So a program started by this process does not hold it
/// (close-on-exec), and closing another descriptor of the file does not release it, unlike a POSIX
/// lock.
package final class EngineLock: Sendable {
    package static let fileName = "engine.lock"

    private let owner: Descriptor

    private init(_ owner: Descriptor) {
        self.owner = owner
    }

    deinit {
        // Explicitly, because close(2) need not release it: a program that another thread is
        // starting has a copy of the descriptor until execve(2).
        lh_ofd_unlock(owner.number)
    }

    /// The lock if it is free now; `nil` if another process holds it.
    package static func tryAcquire(in directory: String) throws(SystemFailure) -> EngineLock? {
        let home = try DirectoryHandle(opening: directory)
        // Bounded, in case the file is deleted again and again; the lock then counts as held.
        for _ in 1...lockDeletedTries {
            switch try attempt(open(in: home), in: home) {
            case .taken(let lock): return lock
            case .held: return nil
            case .deleted: continue
            }
        }
        return nil
    }

    /// True if the lock is held now. Takes no lock, so it cannot make a `tryAcquire` elsewhere
    /// fail.
    package static func isHeld(in directory: String) throws(SystemFailure) -> Bool {
        let home = try DirectoryHandle(opening: directory)
        let path = home.path(of: fileName)
        do {
            // Read-only: closing a writable descriptor would wake the waiters (EngineLockWait).
            let owner = try openName(
                fileName, in: home.descriptor, flags: O_RDONLY | O_NONBLOCK, path: path)
            return try check(lh_ofd_is_locked(owner.number), "flock", path) == 1
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }

    // MARK: - Shared with EngineLockWait

    enum Attempt {
        case taken(EngineLock)
        case held
        /// The opened file is no longer the one under the name: a lock on it would exclude no other
        /// process.
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

/// Shows that a program of a host runs, as long as this object lives: a shared kernel lock on a
/// file of the state directory. It cannot go stale: the kernel releases it when the process ends,
/// however it ends. Several processes of one host may hold it.
package final class HostLock: Sendable {
    static let prefix = "host."
    private let owner: Descriptor

    deinit {
        lh_ofd_unlock(owner.number)
    }

    /// - Parameter host: an identifier that is valid in a file name.
    package init(of host: String, in directory: String) throws(SystemFailure) {
        let home = try DirectoryHandle(opening: directory)
        let name = Self.fileName(host)
        // Writable, because the engine watches for IN_CLOSE_WRITE (inotify(7)).
        owner = try openOwn(name, in: home)
        try check(lh_ofd_share_lock(owner.number), "flock", home.path(of: name))
    }

    /// True if a process holds it now.
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
