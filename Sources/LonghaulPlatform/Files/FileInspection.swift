internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// Inspects the files under the names of a transfer. Opens and changes no file.
package enum FileInspection {
    /// - Parameters:
    ///   - disk: The part file's original disk, if known.
    ///   - identity: The recorded identity. Where inode numbers may change with each mount, a file
    ///     with another identity counts as unusable, not as another file.
    package static func facts(
        part: String, destination: String, madeOn disk: MountedDisk? = nil,
        expecting identity: FileIdentity? = nil
    ) -> FileFacts {
        let (entry, mount) = look(at: part)
        var facts = FileFacts(
            part: entry, destination: Self.entry(at: destination), mount: mount)
        // The disk may be unmounted; the bytes are there again when it is mounted.
        if facts.part == .missing, let (directory, _) = PathParts.split(part),
            Self.entry(at: directory) == .missing || disk?.isAway(from: directory) == true
        {
            facts.part = .unusable(errno: ENOENT)
        }
        if let identity, case .present(let other, _) = facts.part, other != identity,
            isRenumbered(part)
        {
            facts.part = .unusable(errno: ESTALE)
        }
        return facts
    }

    /// Links are not followed: a link is never a file of this store. An empty path counts as a
    /// missing name.
    package static func entry(at path: String) -> FileFacts.Entry { look(at: path).entry }

    /// The file of a name, and when it was last touched; `nil` = there is no file, or it cannot be
    /// looked at.
    package static func file(
        at path: String
    ) -> (identity: FileIdentity, size: Int64, touched: Timestamp)? {
        guard let look = try? FileLook(at: path), look.isRegular else { return nil }
        return (look.identity, look.size, look.touched)
    }

    /// The name has that file still, and nothing has changed its content, its name or its mode
    /// since the moment.
    package static func isUnchanged(
        _ path: String, _ identity: FileIdentity, size: Int64, since moment: Timestamp
    ) -> Bool {
        guard let file = file(at: path), file.size == size, file.touched <= moment else {
            return false
        }
        return file.identity == identity || isRenumbered(path)
    }

    /// The file system of the path may give other inode numbers with each mount.
    private static func isRenumbered(_ path: String) -> Bool {
        guard let (directory, _) = PathParts.split(path),
            let handle = try? DirectoryHandle(opening: directory)
        else { return false }
        return lh_renumbers(handle.descriptor) == 1
    }

    private static func look(at path: String) -> (entry: FileFacts.Entry, mount: UInt64) {
        let look: FileLook
        do throws(SystemFailure) {
            look = try FileLook(at: path)
        } catch {
            // ENOTDIR: a directory of the path has become a file.
            let isMissing = error.errno == ENOENT || error.errno == ENOTDIR
            return (isMissing ? .missing : .unusable(errno: error.errno), 0)
        }
        let entry: FileFacts.Entry =
            switch kind(of: look) {
            case .file: .present(look.identity, size: look.size)
            case .directory: .unusable(errno: EISDIR)
            case .link: .unusable(errno: ELOOP)
            case .special: .unusable(errno: EINVAL)
            }
        return (entry, look.mount)
    }

    /// A program has the file open for writing. The kernel tells that to the owner of a file only,
    /// and for local file systems.
    package static func hasWriter(_ path: String) -> Bool {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard number >= 0 else { return false }
        let file = Descriptor(owning: number)
        return lh_has_writer(file.number) == 1
    }

    package enum Kind { case file, link, directory, special }

    /// The kind of the name itself; a link to a special file counts as special. `nil` if nothing
    /// has the name, or if it cannot be inspected.
    package static func kind(at path: String) -> Kind? {
        guard let look = try? FileLook(at: path) else { return nil }
        return kind(of: look, name: path, in: AT_FDCWD)
    }

    static func kind(of look: FileLook, name: String, in directory: Int32) -> Kind {
        let kind = kind(of: look)
        return kind == .link && leadsToSpecial(name, in: directory) ? .special : kind
    }

    /// /dev/stdout leads through /proc to a different target for each process, at times to a
    /// regular file.
    private static func leadsToSpecial(_ name: String, in directory: Int32) -> Bool {
        var facts = stat()
        let kinds = [S_IFREG, S_IFDIR, S_IFLNK]
        if fstatat(directory, name, &facts, 0) == 0, !kinds.contains(facts.st_mode & S_IFMT) {
            return true
        }
        let procs = Array("/proc/".utf8CString.dropLast())
        var target = procs.map { _ in CChar(0) }
        return readlinkat(directory, name, &target, target.count) >= 0 && target == procs
    }

    static func kind(of look: FileLook) -> Kind {
        if look.isRegular { return .file }
        if look.isLink { return .link }
        return look.isDirectory ? .directory : .special
    }
}

/// The status of a file, and its identity to recognize it later.
struct FileLook {
    private let file: lh_file

    init(at descriptor: Int32, path: @autoclosure () -> String) throws(SystemFailure) {
        try self.init(descriptor, "", path)
    }

    /// The status of the name itself; links are not followed.
    init(at path: String) throws(SystemFailure) {
        // fstatat(2) with AT_EMPTY_PATH would take it for the current directory.
        if path.isEmpty {
            throw SystemFailure(operation: "stat", path: path, errno: ENOENT)
        }
        try self.init(AT_FDCWD, path, { path })
    }

    init(at name: String, in directory: DirectoryHandle) throws(SystemFailure) {
        try self.init(directory.descriptor, name, { directory.path(of: name) })
    }

    private init(
        _ directory: Int32, _ name: String, _ path: () -> String
    ) throws(SystemFailure) {
        var file = lh_file()
        try check(lh_look(directory, name, &file), "stat", path())
        self.file = file
    }

    var identity: FileIdentity {
        FileIdentity(device: file.device, inode: file.inode, birth: file.birth)
    }

    /// See ``FileFacts/mount``.
    var mount: UInt64 { file.mount }
    var isRegular: Bool { file.mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { file.mode & S_IFMT == S_IFDIR }
    var isLink: Bool { file.mode & S_IFMT == S_IFLNK }
    var size: Int64 { file.size }
    var owner: UInt32 { file.owner }
    /// The number of its hard links.
    var links: UInt32 { file.links }
    /// The later of its last changes of content and of status.
    var touched: Timestamp { Timestamp(milliseconds: file.touched) }
}
