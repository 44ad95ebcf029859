internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// Least seconds between two readings of a directory: events come in bursts.
private let pathPauseSeconds = 1.0
/// Seconds between two readings where the kernel does not notify: another machine may write.
private let remotePauseSeconds: Double = 600
/// Entries of a directory that are watched, those that have changed last. Each takes about forty
/// bytes of the store.
private let pathEntries = 10_000

/// Watches the paths that triggers name, by inotify(7), and tells which files are complete there.
final class PathWatches {
    private struct Seen {
        var stamp: Int64
        var changedAt: Timestamp
        var isRegular: Bool
        /// When it is complete, unless it changes.
        var settlesAt: Instant
        var isComplete = false
    }

    private struct Place {
        let path: String
        let settle: Double
        var seen: [String: Seen] = [:]
        /// Once read, all entries are known.
        var isRead = false
    }

    /// `nil` if this user has no inotify instance left: then paths are read at intervals.
    private let notices: Descriptor?
    private var places: [TaskTrigger: Place] = [:]
    /// The watched directories by their number at the kernel, with the names that matter there;
    /// `nil` = all.
    private var watched: [Int32: Set<String>?] = [:]
    private var isRemote = false
    private var readAt: Instant?
    private var lastRead: Instant?
    private var told: [TaskTrigger: PathFacts] = [:]

    init() {
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        notices = number < 0 ? nil : Descriptor(owning: number)
    }

    var descriptor: Int32? { notices?.number }

    /// When ``advance(to:)`` has something to do.
    var due: Instant? {
        places.values.flatMap(\.seen.values).lazy.filter { !$0.isComplete }.map(\.settlesAt)
            .min().map { min($0, readAt ?? $0) } ?? readAt
    }

    /// - Parameter triggers: Those with a path.
    func follow(_ triggers: Set<TaskTrigger>, now: Instant) {
        if Set(places.keys) == triggers { return }
        places = places.filter { triggers.contains($0.key) }
        told = told.filter { triggers.contains($0.key) }
        for case .path(let path, let settle) in triggers {
            let trigger = TaskTrigger.path(path, settle: settle)
            places[trigger] = places[trigger] ?? Place(path: path, settle: settle)
        }
        readAt = now
    }

    /// The descriptor is readable.
    func receive(now: Instant) {
        guard let notices else { return }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(notices.number, &buffer, buffer.count)
            if count <= 0 { return }
            if hasNews(buffer[..<count]) { expect(now) }
        }
    }

    /// Something may be mounted at a path.
    func expect(_ now: Instant) {
        if places.isEmpty { return }
        let soonest = max(now, lastRead.map { $0 + pathPauseSeconds } ?? now)
        readAt = min(readAt ?? soonest, soonest)
    }

    /// A lost event has no name and counts.
    private func hasNews(_ events: ArraySlice<UInt8>) -> Bool {
        DirectoryEvent.all(events).contains { event in
            guard let names = watched[event.watch] ?? nil, !event.name.isEmpty else { return true }
            return names.contains(String(decoding: event.name, as: UTF8.self))
        }
    }

    /// Returns what is at all paths, when a file is new, changed or complete.
    func advance(to now: Moment) -> [TaskTrigger: PathFacts]? {
        guard let due, due <= now.monotonic else { return nil }
        if readAt.map({ $0 <= now.monotonic }) ?? false { readAll(now) }
        for trigger in places.keys { settle(trigger, now.monotonic) }
        let facts = places.filter(\.value.isRead).mapValues { place in
            PathFacts(
                place.seen.mapValues {
                    PathFacts.Entry(
                        stamp: $0.stamp, changedAt: $0.changedAt, isComplete: $0.isComplete)
                })
        }
        let isNew = facts.contains { trigger, facts in
            guard let before = told[trigger] else { return true }
            return facts.entries.contains { $1.isComplete && before.entries[$0] != $1 }
        }
        if isNew { told = facts }
        return isNew ? facts : nil
    }

    // MARK: - Reading

    private func readAll(_ now: Moment) {
        (readAt, lastRead) = (nil, now.monotonic)
        // Watched first, so that no change falls between.
        watchAll()
        for trigger in places.keys { read(trigger, now) }
        if isRemote || notices == nil, !places.isEmpty {
            readAt = now.monotonic + remotePauseSeconds
        }
    }

    private func read(_ trigger: TaskTrigger, _ now: Moment) {
        guard var place = places[trigger] else { return }
        let root = PathParts.resolved(place.path)
        var found: [String: lh_file] = [:]
        var facts = lh_file()
        if lh_look(AT_FDCWD, root, &facts) == 0 {
            found["."] = facts
            for name in facts.isDirectory ? directoryNames(root) ?? [] : [] {
                if lh_look(AT_FDCWD, "\(root)/\(name)", &facts) == 0 { found[name] = facts }
            }
        }
        if found.count > pathEntries {
            let latest = found.sorted { $0.value.touched > $1.value.touched }
            found = Dictionary(uniqueKeysWithValues: latest.prefix(pathEntries).map { ($0, $1) })
        }
        let before = place.seen
        place.seen = found.reduce(into: [:]) { seen, entry in
            let (name, file) = (entry.key, entry.value)
            if let old = before[name], old.stamp == file.stamp {
                seen[name] = old
                return
            }
            let changed = Timestamp(milliseconds: file.touched)
            // What is found at first may have been there for long.
            let age = place.isRead ? 0 : min(max(now.wall - changed, 0), place.settle)
            seen[name] = Seen(
                stamp: file.stamp, changedAt: changed, isRegular: file.isRegular,
                settlesAt: now.monotonic + (place.settle - age))
        }
        place.isRead = true
        places[trigger] = place
    }

    /// Entries whose time is over are complete, or begin again where a program still writes.
    private func settle(_ trigger: TaskTrigger, _ now: Instant) {
        guard var place = places[trigger] else { return }
        let root = PathParts.resolved(place.path)
        for (name, entry) in place.seen where !entry.isComplete && entry.settlesAt <= now {
            let path = name == "." ? root : "\(root)/\(name)"
            var facts = lh_file()
            guard lh_look(AT_FDCWD, path, &facts) == 0 else {
                place.seen[name] = nil
                continue
            }
            // The kernel tells of a change when the writer closes the file.
            if facts.stamp != entry.stamp || entry.isRegular && FileInspection.hasWriter(path) {
                place.seen[name]?.stamp = facts.stamp
                place.seen[name]?.changedAt = Timestamp(milliseconds: facts.touched)
                place.seen[name]?.settlesAt = now + max(place.settle, pathPauseSeconds)
            } else {
                place.seen[name]?.isComplete = true
            }
        }
        places[trigger] = place
    }

    // MARK: - Watching

    /// Watches each path that is a directory, and the nearest directory above each that is there.
    private func watchAll() {
        guard let notices else { return }
        let events = UInt32(
            IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)
        var all: [Int32: Set<String>?] = [:]
        isRemote = false
        for place in places.values {
            var path = PathParts.resolved(place.path)
            let own = inotify_add_watch(notices.number, path, events | UInt32(IN_ONLYDIR))
            if own >= 0 { all[own] = .some(nil) }
            isRemote = isRemote || own >= 0 && lh_is_remote(path) == 1
            while path != "/", let bar = path.lastIndex(of: "/") {
                let name = String(path[path.index(after: bar)...])
                path = bar == path.startIndex ? "/" : String(path[..<bar])
                let above = inotify_add_watch(notices.number, path, events | UInt32(IN_ONLYDIR))
                if above < 0 { continue }
                if let names = all[above, default: []] { all[above] = names.union([name]) }
                isRemote = isRemote || lh_is_remote(path) == 1
                break
            }
        }
        for watch in watched.keys where all[watch] == nil {
            inotify_rm_watch(notices.number, watch)
        }
        watched = all
    }
}

extension lh_file {
    fileprivate var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    fileprivate var isRegular: Bool { mode & S_IFMT == S_IFREG }

    /// Of a directory its identity alone: what changes below it does not count.
    fileprivate var stamp: Int64 {
        var hash = StableHash()
        hash.mix("\(device) \(inode)" + (isDirectory ? "" : " \(size) \(touched)"))
        return Int64(bitPattern: hash.value)
    }
}
