internal import Glibc
package import LonghaulModel
private import Synchronization

/// The name of a time zone, or its rule.
private let zoneBytes = 255

/// The time zones of this machine, by the words of a `TZ` variable. A file is read again when it
/// has changed: a machine may move, and the database is updated.
package enum ZoneFiles {
    private struct Entry {
        var rules: ZoneRules?
        var version: FileVersion?
        var checkedAt: Instant
    }

    private struct FileVersion: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: Int64
    }

    private struct State {
        var entries: [String?: Entry] = [:]
        /// Counts the files that have changed.
        var changes = 0
    }

    private static let state = Mutex(State())
    /// Files are looked at this often at most.
    private static let checkSeconds: Double = 1
    /// Zones that are remembered: a program may name many.
    private static let entriesMax = 100
    private static let machineFile = "/etc/localtime"

    /// The rules that the words name; `nil` = there is no such zone.
    ///
    /// - Parameter words: `nil` = the machine's own zone, regardless of this process's `TZ`.
    package static func rules(_ words: String?) -> ZoneRules? {
        state.withLock { state in
            check(words, &state)
            return state.entries[words]?.rules
        }
    }

    /// Grows when the rules of a zone that was asked for have changed.
    package static var changes: Int {
        state.withLock { state in
            for words in state.entries.keys { check(words, &state) }
            return state.changes
        }
    }

    private static func check(_ words: String?, _ state: inout State) {
        let now = SystemClock.now().monotonic
        let known = state.entries[words]
        if let known, now - known.checkedAt < checkSeconds { return }
        let version = version(of: path(of: words))
        if let known, known.version == version {
            state.entries[words]?.checkedAt = now
            return
        }
        if state.entries.count >= entriesMax { state.entries.removeAll() }
        let rules = read(words, version != nil)
        if let known, known.rules != rules { state.changes += 1 }
        state.entries[words] = Entry(rules: rules, version: version, checkedAt: now)
    }

    private static func read(_ words: String?, _ isFile: Bool) -> ZoneRules? {
        if isFile, let bytes = try? TextFile.read(path(of: words)),
            let rules = ZoneRules(file: bytes)
        {
            return rules
        }
        guard let words else { return .utc }
        let name = name(words)
        return name.isEmpty ? .utc : ZoneRules(posix: name)
    }

    /// Without the colon, after which a file should be named.
    private static func name(_ words: String) -> String {
        words.utf8.first == UInt8(ascii: ":") ? String(words.dropFirst()) : words
    }

    private static func path(of words: String?) -> String {
        guard let words else { return machineFile }
        let name = name(words)
        if name.isAbsolutePath { return name }
        let directory = Environment.value("TZDIR") ?? "/usr/share/zoneinfo"
        return PathParts.join(directory, name)
    }

    private static func version(of path: String) -> FileVersion? {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.isRegular else { return nil }
        return FileVersion(
            device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino), size: Int64(facts.st_size),
            modified: Int64(facts.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(facts.st_mtim.tv_nsec))
    }
}

extension ZoneFiles {
    /// The zone of this process's user, for times of day that are recorded: `TZ`; `nil` = it is
    /// unset, and the machine's own zone counts.
    ///
    /// - Throws: `invalidRequest` when there is no such zone.
    package static func ofCaller() throws(LonghaulError) -> String? {
        guard let words = Environment.value("TZ") else { return nil }
        return try checked(words, "TZ")
    }

    /// - Throws: `invalidRequest` when the words name no zone.
    package static func checked(
        _ words: String, _ place: String
    ) throws(LonghaulError) -> String {
        guard words.utf8.count <= zoneBytes, rules(words) != nil else {
            throw .usage(
                "\(place): there is no time zone '\(TerminalText.shown(words))'; one is"
                    + " Europe/Berlin, or as POSIX writes it, CET-1CEST,M3.5.0,M10.5.0/3")
        }
        return words
    }
}

extension LocalTime {
    /// Local time by the `TZ` of this process; named zones are the machine's.
    package static let ofProcess = LocalTime(
        secondsFromUTC: LocalClock.secondsFromUTC, zones: zone, changes: { ZoneFiles.changes })

    @Sendable private static func zone(
        _ words: String?
    ) -> (@Sendable (Timestamp) -> Int)? {
        guard let rules = ZoneFiles.rules(words) else { return nil }
        return { time in rules.secondsFromUTC(time) }
    }
}
