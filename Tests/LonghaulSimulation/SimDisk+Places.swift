import LonghaulCore
import LonghaulPlatform

/// The simulated disk, as a process sees it that works on bundles.
final class SimPlaces: PlacedFilePort, @unchecked Sendable {
    private let disk: SimDisk
    /// Counts the effects of the process down to its end.
    private let mayAct: () -> Bool
    /// Other processes act between two calls.
    private let pause: () -> Void
    private var temporary = 0

    init(_ disk: SimDisk, mayAct: @escaping () -> Bool, pause: @escaping () -> Void) {
        self.disk = disk
        self.mayAct = mayAct
        self.pause = pause
    }

    func version(at path: String) -> SourceVersion? {
        pause()
        return disk.version(at: path)
    }

    func exists(_ path: String) -> Bool { disk.names[path] != nil }

    func foldsCase(in directory: String) -> Bool { false }

    func available(at directory: String) -> Int64? { disk.room ?? .max }

    func read(
        _ path: String, atMost most: Int64
    ) throws(SystemFailure) -> (bytes: [UInt8], sha256: String) {
        pause()
        let data = try content(of: path)
        if data.count > most { throw failure("read", path, errno: 27) }
        return (disk.text(of: data), SimDisk.checksum(of: data).hex)
    }

    func has(_ checksum: Checksum, at path: String) throws(SystemFailure) -> Bool {
        pause()
        return SimDisk.checksum(of: try content(of: path)) == checksum
    }

    func copy(
        _ source: String, _ stamp: String, to path: String, expecting checksum: Checksum,
        replaces: Bool
    ) throws(SystemFailure) -> Bool {
        pause()
        guard disk.version(at: source)?.text == stamp else { return false }
        if !replaces, disk.names[path] != nil { return false }
        let data = try content(of: source)
        return try put(at: path) { () throws(SystemFailure) in
            guard SimDisk.checksum(of: data) == checksum else { return nil }
            if let room = disk.room, room < data.count { throw failure("copy", path, errno: 28) }
            return SimDisk.File(data: data, birth: 0)
        }
    }

    func write(_ bytes: [UInt8], to path: String) throws(SystemFailure) {
        pause()
        if let data = try? content(of: path), disk.text(of: data) == bytes { return }
        let label = SimDisk.firstOwnLabel + disk.texts.count
        disk.texts[label] = bytes
        _ = try put(at: path) {
            SimDisk.File(data: SimBytes(label: label, count: Int64(bytes.count)), birth: 0)
        }
    }

    func link(_ path: String, to target: String) throws(SystemFailure) {
        pause()
        if let inode = disk.names[path] {
            guard let old = disk.files[inode]?.target else {
                throw failure("link", path, errno: 17)
            }
            if old == target { return }
        }
        _ = try put(at: path) { SimDisk.File(birth: 0, target: target) }
    }

    func remove(_ path: String, _ stamp: String?, upTo top: String) {
        pause()
        if disk.version(at: path)?.text == stamp { delete(path) }
    }

    func removeLink(_ path: String, upTo top: String) {
        if let inode = disk.names[path], disk.files[inode]?.target != nil { delete(path) }
    }

    func removeSpooled(_ path: String) { delete(path) }

    func discard(_ part: OrphanedPart) -> Bool {
        if disk.holds(part.identity, at: part.path) { delete(part.path) }
        return !disk.holds(part.identity, at: part.path)
    }

    // MARK: - Steps

    private func delete(_ path: String) {
        guard let inode = disk.names[path], !disk.isReadOnly, mayAct() else { return }
        disk.say("delete \(path)")
        disk.rename(path, to: nil, inode)
        disk.deleted[path] = inode
    }

    /// Makes a file under another name, durable, and renames it.
    ///
    /// - Returns: `false` = the content is not what it should be.
    private func put(
        at path: String, _ make: () throws(SystemFailure) -> SimDisk.File?
    ) throws(SystemFailure) -> Bool {
        if disk.isReadOnly { throw failure("open", path, errno: 30) }
        guard mayAct() else { throw failure("open", path, errno: 5) }
        guard var file = try make() else { return false }
        temporary += 1
        let name = "\(path).\(temporary).longhaul-new"
        let inode = disk.newInode()
        disk.births += 1
        file.birth = disk.births
        file.dirty = ByteRanges(0..<file.data.count)
        disk.files[inode] = file
        disk.rename(nil, to: name, inode)
        guard mayAct() else { throw failure("rename", path, errno: 5) }
        if disk.random.happens(disk.trouble.sync) {
            disk.faults += 1
            disk.rename(name, to: nil, inode)
            throw failure("fdatasync", path, errno: 5)
        }
        disk.flush(inode)
        disk.say("put \(path)")
        disk.rename(name, to: path, inode)
        guard mayAct() else { throw failure("fsync", path, errno: 5) }
        disk.syncNames()
        return true
    }

    private func content(of path: String) throws(SystemFailure) -> SimBytes {
        guard let inode = disk.names[path], let file = disk.files[inode] else {
            throw failure("open", path, errno: 2)
        }
        if disk.random.happens(disk.trouble.open) {
            disk.faults += 1
            throw failure("read", path, errno: 5)
        }
        return file.data
    }

    private func failure(_ what: String, _ path: String, errno: Int32) -> SystemFailure {
        SystemFailure(operation: what, path: path, errno: errno)
    }
}

extension SimDisk {
    /// Labels of what programs write themselves, apart from those of servers.
    static let firstOwnLabel = 1_000_000_000

    func version(at path: String) -> SourceVersion? {
        guard let inode = names[path], let file = files[inode], file.target == nil else {
            return nil
        }
        return SourceVersion(
            device: 1, inode: inode, size: file.data.count, modified: file.birth,
            changed: file.birth)
    }

    /// The bytes of a whole list; those of anything else are a page.
    func text(of data: SimBytes) -> [UInt8] {
        guard isText(data), let label = data.runs.first?.label, let text = texts[label] else {
            return Array("<html>".utf8)
        }
        return text
    }

    func isText(_ data: SimBytes) -> Bool {
        guard let label = data.runs.first?.label, let text = texts[label] else { return false }
        return data == SimBytes(label: label, count: Int64(text.count))
    }
}
