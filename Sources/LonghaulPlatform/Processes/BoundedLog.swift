internal import CLonghaul
internal import Glibc

/// A file that lines are appended to for ever and that stays small: when it is full it gets `.1`
/// behind its name, instead of the one that had it before, and an empty one takes its place.
///
/// Several processes may have it open. Who moves it holds a lock on it and looks whether it still
/// has the name; lines of others that come meanwhile go with it. After a crash at any point there
/// is a file under the name or none, and the next one makes it.
struct BoundedLog {
    static let bytesMax = 8 << 20

    private let path: String
    /// They lead to the file, and are made to lead to the next one.
    private let descriptors: [Int32]
    private let bytesMax: Int
    private let lookEvery: Int
    /// What may be written before it is looked again.
    private var room = 0

    /// - Parameters:
    ///   - descriptors: to be written to, the first of them open for this very file.
    ///   - lookEvery: after so many bytes it is looked what others have made of the file.
    init(
        _ path: String, descriptors: [Int32], bytesMax: Int = bytesMax, lookEvery: Int = 64 << 10
    ) {
        self.path = path
        self.descriptors = descriptors
        self.bytesMax = bytesMax
        self.lookEvery = lookEvery
    }

    /// Opens it for appending (0600), moved aside first where it is full. `nil` = it cannot be.
    static func open(_ path: String, bytesMax: Int = bytesMax) -> Descriptor? {
        guard let file = append(path) else { return nil }
        guard let found = look(file.number), found.size >= bytesMax else { return file }
        return successor(of: file.number, at: path) ?? file
    }

    /// Those of the descriptors that lead to it, or to the one that it has become meanwhile.
    static func leading(to path: String, of descriptors: [Int32]) -> [Int32] {
        let files = [path, path + ".1"].compactMap { try? FileLook(at: $0).identity }
        return descriptors.filter { look($0).map { files.contains($0.identity) } ?? false }
    }

    /// To be called before each line, of so many bytes. Where there is no room and none can be
    /// made, the file grows on.
    mutating func makeRoom(for count: Int) {
        room -= count
        if room >= 0 { return }
        room = lookEvery
        guard let now = BoundedLog.look(descriptors[0]) else { return }
        var size = Int(now.size)
        if size + count > bytesMax || !now.isUnder(path) {
            guard let next = BoundedLog.successor(of: descriptors[0], at: path) else { return }
            for descriptor in descriptors { dup2(next.number, descriptor) }
            size = BoundedLog.look(next.number).map { Int($0.size) } ?? 0
        }
        room = min(max(0, bytesMax - size - count), lookEvery)
    }

    // MARK: -

    private static func append(_ path: String) -> Descriptor? {
        let answer = lh_openat(
            AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if answer < 0 { return nil }
        // Whatever the umask has left of it when it was made.
        _ = fchmod(answer, 0o600)
        return Descriptor(owning: answer)
    }

    /// What stands under the name once this file does so no more; `nil` = another process is about
    /// to see to it, or it cannot be done.
    private static func successor(of descriptor: Int32, at path: String) -> Descriptor? {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        defer { flock(descriptor, LOCK_UN) }
        guard let own = look(descriptor) else { return nil }
        if own.isUnder(path), rename(path, path + ".1") < 0 { return nil }
        return append(path)
    }

    private static func look(_ descriptor: Int32) -> FileLook? {
        try? FileLook(at: descriptor, path: "")
    }
}

extension FileLook {
    fileprivate func isUnder(_ path: String) -> Bool {
        (try? FileLook(at: path))?.identity == identity
    }
}
