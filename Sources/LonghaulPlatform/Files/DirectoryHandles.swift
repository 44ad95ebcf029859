internal import Glibc
internal import LonghaulModel
private import Synchronization

/// A cache of the most recently used directories, kept open: thousands of small files mostly go to
/// one directory.
///
/// Any thread may use it. A handle stays valid after it has left the cache.
package final class DirectoryHandles: Sendable {
    private struct Entry {
        var handle: DirectoryHandle
        var used: UInt64
        var seen: Instant
    }

    private struct State {
        var entries: [ExactText: Entry] = [:]
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())
    private let trustedSeconds: Double

    /// - Parameter seconds: How long a directory counts as unchanged without a check: a batch of
    ///   small files asks for it dozens of times. A change in that time is noticed when the file is
    ///   published.
    package init(trustedFor seconds: Double = 0.001) {
        trustedSeconds = seconds
    }

    /// The directory that the path leads to, or led to at the last check. A directory that was
    /// removed or replaced before that check is not returned.
    ///
    /// - Parameter creating: missing directories are created, as by `mkdir -p`.
    package func handle(for path: String, creating: Bool = false) throws(SystemFailure)
        -> DirectoryHandle
    {
        let now = SystemClock.now().monotonic
        if let (known, seen) = known(path) {
            if now - seen < trustedSeconds { return known }
            if known.isCurrent {
                keep(known, for: path, seen: now)
                return known
            }
            forget(path)
        }
        let handle =
            try creating ? DirectoryHandle.creating(path) : DirectoryHandle(opening: path)
        keep(handle, for: path, seen: now)
        return handle
    }

    /// The device that the path was on when it was last used; no system call is made.
    package func device(of path: String) -> UInt64? {
        state.withLock { $0.entries[ExactText(path)]?.handle.identity.device }
    }

    /// Closes all directories that are not in use elsewhere.
    package func removeAll() {
        state.withLock { $0.entries.removeAll() }
    }

    package var count: Int { state.withLock { $0.entries.count } }

    // MARK: -

    private func known(_ path: String) -> (DirectoryHandle, seen: Instant)? {
        let path = ExactText(path)
        return state.withLock { state in
            state.clock += 1
            state.entries[path]?.used = state.clock
            return state.entries[path].map { ($0.handle, $0.seen) }
        }
    }

    private func forget(_ path: String) {
        state.withLock { _ = $0.entries.removeValue(forKey: ExactText(path)) }
    }

    private func keep(_ handle: DirectoryHandle, for path: String, seen: Instant) {
        let path = ExactText(path)
        state.withLock { state in
            if state.entries[path] == nil, state.entries.count >= Limits.openDirectories,
                let oldest = state.entries.min(by: { $0.value.used < $1.value.used })
            {
                state.entries.removeValue(forKey: oldest.key)
            }
            state.clock += 1
            state.entries[path] = Entry(handle: handle, used: state.clock, seen: seen)
        }
    }
}
