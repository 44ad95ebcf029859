internal import CLonghaul
internal import Glibc

/// Directories of all folders that are watched: the kernel grants each user a number of watches,
/// which other programs need, too.
private let folderWatchesMaximum = 8_192

/// Watches the directories of folders by inotify(7).
package final class FolderWatches {
    /// Changes in a folder. Paths begin at its directory.
    package struct News {
        /// Names that may be those of new files.
        package var names: Set<String> = []
        /// New directories.
        package var directories: Set<String> = []
        /// Events were lost, or directories have moved: everything has to be read.
        package var isAll = false
    }

    private struct Place: Hashable {
        let folder: Int64
        /// Empty = the folder's own directory.
        let path: String
    }

    private static let events = UInt32(
        IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF)
    /// A file that is moved away is no news, but a directory is.
    private static let isDirectory = UInt32(IN_ISDIR)

    private let notices: Descriptor?
    /// Several folders may have one directory.
    private var watched: [Int32: Set<Place>] = [:]
    private let limit: Int

    /// - Parameter limit: The most watches.
    package init(limit: Int? = nil) {
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        notices = number < 0 ? nil : Descriptor(owning: number)
        self.limit = limit ?? folderWatchesMaximum
    }

    /// Readable when there is news.
    package var descriptor: Int32? { notices?.number }

    /// Watches one directory of a folder, before it is read.
    ///
    /// - Parameter path: From the folder's directory on; empty = that one.
    /// - Returns: Why the kernel does not tell of new files there; `nil` = it does.
    package func watch(_ folder: Int64, _ root: String, _ path: String) -> String? {
        let directory = path.isEmpty ? root : root + "/" + path
        if lh_is_remote(directory) == 1 {
            return "its file system does not tell of changes by other machines"
        }
        guard let notices else { return "this user has no inotify instance left" }
        if watched.count >= limit { return "more than \(limit) directories would be watched" }
        let flags = Self.events | UInt32(IN_ONLYDIR)
        let number = inotify_add_watch(notices.number, directory, flags)
        if number < 0 {
            // The directory may be gone.
            return errno == ENOSPC ? "this user has no inotify watches left" : nil
        }
        watched[number, default: []].insert(Place(folder: folder, path: path))
        return nil
    }

    /// Watches nothing of the folder any more.
    package func forget(_ folder: Int64) {
        for (number, places) in watched {
            let rest = places.filter { $0.folder != folder }
            if rest.count == places.count { continue }
            watched[number] = rest.isEmpty ? nil : rest
            if rest.isEmpty, let notices { inotify_rm_watch(notices.number, number) }
        }
    }

    /// Changes since the last call, by folder.
    package func news() -> [Int64: News] {
        guard let notices else { return [:] }
        var all: [Int64: News] = [:]
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(notices.number, &buffer, buffer.count)
            if count <= 0 { return all }
            for event in DirectoryEvent.all(buffer[..<count]) { add(event, to: &all) }
        }
    }

    private func add(_ event: DirectoryEvent, to all: inout [Int64: News]) {
        if event.watch < 0 {
            for place in watched.values.joined() { all[place.folder, default: News()].isAll = true }
            return
        }
        for place in watched[event.watch] ?? [] {
            let isMoved = event.mask & UInt32(IN_MOVED_FROM) != 0
            let isDirectory = event.mask & Self.isDirectory != 0
            let name = String(validating: event.name, as: UTF8.self) ?? ""
            if event.name.isEmpty {
                // The directory itself is gone. One below the folder's own takes its files along.
                if place.path.isEmpty { all[place.folder, default: News()].isAll = true }
            } else if isMoved {
                if isDirectory { all[place.folder, default: News()].isAll = true }
            } else if !name.isEmpty {
                let path = place.path.isEmpty ? name : place.path + "/" + name
                if isDirectory {
                    all[place.folder, default: News()].directories.insert(path)
                } else {
                    all[place.folder, default: News()].names.insert(path)
                }
            }
        }
        if event.mask & UInt32(IN_IGNORED) != 0 { watched[event.watch] = nil }
    }
}
