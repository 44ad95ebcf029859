internal import Glibc
private import Synchronization

/// The directories that were used last, kept open: thousands of small files mostly go to one
/// directory.
///
/// Any thread may ask. A handle stays good for whoever holds it, also after it has left the cache.
package final class DirectoryHandles: Sendable {
    /// More directories than this are not kept open.
    package static let openMax = 32

    private struct Entry {
        var handle: DirectoryHandle
        var used: UInt64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// The directory that the path leads to now: one that was removed or replaced since it was
    /// opened is not handed out.
    ///
    /// - Parameter creating: missing directories are created, as by `mkdir -p`.
    package func handle(for path: String, creating: Bool = false) throws(SystemFailure)
        -> DirectoryHandle
    {
        if let known = known(path) {
            if known.isCurrent { return known }
            forget(path)
        }
        let handle =
            try creating ? DirectoryHandle.creating(path) : DirectoryHandle(opening: path)
        keep(handle, for: path)
        return handle
    }

    /// Closes what is not in use elsewhere.
    package func removeAll() {
        state.withLock { $0.entries.removeAll() }
    }

    package var count: Int { state.withLock { $0.entries.count } }

    // MARK: -

    private func known(_ path: String) -> DirectoryHandle? {
        state.withLock { state in
            state.clock += 1
            state.entries[path]?.used = state.clock
            return state.entries[path]?.handle
        }
    }

    private func forget(_ path: String) {
        state.withLock { _ = $0.entries.removeValue(forKey: path) }
    }

    private func keep(_ handle: DirectoryHandle, for path: String) {
        state.withLock { state in
            if state.entries.count >= Self.openMax,
                let oldest = state.entries.min(by: { $0.value.used < $1.value.used })
            {
                state.entries.removeValue(forKey: oldest.key)
            }
            state.clock += 1
            state.entries[path] = Entry(handle: handle, used: state.clock)
        }
    }
}
