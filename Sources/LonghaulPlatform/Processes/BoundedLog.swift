internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// A log of standard error is renamed at this size.
private let outputLogBytes = 8 << 20

/// A log file of bounded size: a full file is renamed with the suffix `.1`, replacing the previous
/// one of that name, and an empty file takes its place.
///
/// Several processes may have it open. A process that renames the file holds a lock on it and
/// checks that it still has the name. Lines that other processes write meanwhile go to the renamed
/// file. After a crash at any point there is either a file under the name or none; the next writer
/// creates it.
struct BoundedLog {
    static let bytesMax = outputLogBytes

    private let path: String
    /// Descriptors of the file; after a rename they are redirected to the next one.
    private let descriptors: [Int32]
    private let bytesMax: Int
    private let lookEvery: Int
    /// Bytes that may be written before the next check of the file.
    private var room = 0

    /// - Parameters:
    ///   - descriptors: the descriptors to write to; the first one must be open for this very file.
    ///   - lookEvery: the number of bytes between two checks for changes by other processes.
    init(
        _ path: String, descriptors: [Int32], bytesMax: Int = bytesMax, lookEvery: Int = 64 << 10
    ) {
        self.path = path
        self.descriptors = descriptors
        self.bytesMax = bytesMax
        self.lookEvery = lookEvery
    }

    /// Opens it for appending (0600); a full file is renamed first. `nil` = it cannot be opened.
    static func open(_ path: String, bytesMax: Int = bytesMax) -> Descriptor? {
        guard let file = append(path) else { return nil }
        guard let found = facts(of: file.number), found.size >= bytesMax else { return file }
        return successor(of: file.number, at: path) ?? file
    }

    /// The descriptors among them that lead to the file, or to its renamed predecessor.
    static func leading(to path: String, of descriptors: [Int32]) -> [Int32] {
        let files = [path, path + ".1"].compactMap { try? FileLook(at: $0).identity }
        return descriptors.filter { facts(of: $0).map { files.contains($0.identity) } ?? false }
    }

    /// To be called before each line, with its length. If the file cannot be replaced, it grows
    /// beyond the bound.
    mutating func makeRoom(for count: Int) {
        room -= count
        if room >= 0 { return }
        room = lookEvery
        guard let now = BoundedLog.facts(of: descriptors[0]) else { return }
        var size = Int(now.size)
        if size + count > bytesMax || !now.isUnder(path) {
            guard let next = BoundedLog.successor(of: descriptors[0], at: path) else { return }
            for descriptor in descriptors { dup2(next.number, descriptor) }
            size = BoundedLog.facts(of: next.number).map { Int($0.size) } ?? 0
        }
        room = min(max(0, bytesMax - size - count), lookEvery)
    }

    // MARK: -

    private static func append(_ path: String) -> Descriptor? {
        let answer = lh_openat(
            AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if answer < 0 { return nil }
        // The umask may have taken bits when the file was created.
        _ = fchmod(answer, 0o600)
        return Descriptor(owning: answer)
    }

    /// The file under the name after this one has been renamed; `nil` = another process is doing
    /// that now, or it fails.
    private static func successor(of descriptor: Int32, at path: String) -> Descriptor? {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        defer { flock(descriptor, LOCK_UN) }
        guard let own = facts(of: descriptor) else { return nil }
        if own.isUnder(path), rename(path, path + ".1") < 0 { return nil }
        return append(path)
    }

    private static func facts(of descriptor: Int32) -> FileLook? {
        try? FileLook(at: descriptor, path: "")
    }
}

extension FileLook {
    fileprivate func isUnder(_ path: String) -> Bool {
        (try? FileLook(at: path))?.identity == identity
    }
}
