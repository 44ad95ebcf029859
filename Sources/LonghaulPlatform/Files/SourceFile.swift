internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// A file that an upload sends, open for reading until the last reference is released.
package final class SourceFile: Sendable {
    /// Version of the file as it was opened.
    package let version: SourceVersion
    package let path: String
    private let owner: Descriptor

    package var descriptor: Int32 { owner.number }

    /// Links are followed, as a program that reads the file would.
    package init(_ path: String) throws(SystemFailure) {
        // A pipe would block until someone writes to it.
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if number < 0 { throw SystemFailure.last("open", path) }
        owner = Descriptor(owning: number)
        let facts = try stat.of(descriptor: number, path: path)
        guard facts.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = facts.st_mode & S_IFMT == S_IFDIR
            throw SystemFailure(
                operation: "open", path: path, errno: isDirectory ? EISDIR : EINVAL)
        }
        version = SourceVersion(facts)
        self.path = path
    }

    /// The file was changed while it was read.
    package static let changed = LocalFault(
        code: .sourceChanged, message: LonghaulError.sourceChanged.message)

    /// The file is unchanged since it was opened.
    package var isUnchanged: Bool {
        (try? stat.of(descriptor: descriptor, path: path)).map { SourceVersion($0) } == version
    }

    /// Version of the open file now; `nil` = another file has its name, or none.
    package var present: SourceVersion? {
        var named = stat()
        guard let facts = try? stat.of(descriptor: descriptor, path: path),
            stat(path, &named) == 0, named.st_ino == facts.st_ino, named.st_dev == facts.st_dev
        else { return nil }
        return SourceVersion(facts)
    }

    /// Its bytes, size and times are durable when the call returns.
    func sync() throws(SystemFailure) {
        if uninterrupted({ fsync(descriptor) }) == 0 { return }
        let failure = SystemFailure.last("fsync", path)
        if !failure.isUnsyncable { throw failure }
    }

    /// A program has the file open for writing, see ``FileInspection/hasWriter(_:)``.
    package var hasWriter: Bool { lh_has_writer(descriptor) == 1 }

    /// Version of the file of this name.
    package static func version(at path: String) throws(SystemFailure) -> SourceVersion {
        try SourceFile(path).version
    }

    /// Version of the regular file of this name, without opening it; `nil` = there is none. A link
    /// is not followed.
    package static func present(at path: String) -> SourceVersion? {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return SourceVersion(facts)
    }

    /// Fault of a file that was there when it was enqueued and cannot be opened.
    package static func fault(_ failure: SystemFailure) -> LocalFault {
        let path = failure.path
        let change: String? =
            switch failure.errno {
            case ENOENT, ENOTDIR: "the file \(path) is gone; bring it back, then `resume`"
            case EISDIR: "\(path) is a directory by now; bring the file back, then `resume`"
            // ENXIO of a socket.
            case EINVAL, ENXIO:
                "\(path) is a device, a pipe or a socket by now; bring the file back, then `resume`"
            default: nil
            }
        if let change { return LocalFault(code: .sourceChanged, message: change) }
        var error = failure.longhaulError()
        if error.code == .permission {
            // Other permissions make it another version of the file, which is not sent unasked.
            error.message =
                "no permission to read \(path); change its permissions, then enqueue it again"
        }
        return LocalFault(code: error.code, message: error.message, isPassing: failure.isPassing)
    }
}

extension SourceVersion {
    init(_ facts: stat) {
        func nanoseconds(_ time: timespec) -> Int64 {
            Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000).partialValue
                .addingClamped(Int64(time.tv_nsec))
        }
        self.init(
            device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino), size: Int64(facts.st_size),
            modified: nanoseconds(facts.st_mtim), changed: nanoseconds(facts.st_ctim))
    }
}
