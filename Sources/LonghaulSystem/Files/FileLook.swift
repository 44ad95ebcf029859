internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// What a file is, and which one it is for whoever comes back to it later.
struct FileLook {
    private let file: lh_file

    init(at descriptor: Int32, path: @autoclosure () -> String) throws(SystemFailure) {
        try self.init(descriptor, "", path)
    }

    /// What the name itself is; links are not followed.
    init(at path: String) throws(SystemFailure) {
        // To the kernel it would be the current directory.
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
    /// Names that lead to it.
    var links: UInt32 { file.links }
    /// The later of the last changes to what it holds and to what it is.
    var touched: Timestamp { Timestamp(milliseconds: file.touched) }
}
