internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// Larger files are no configuration and no units of this program.
private let textFileBytes = 1 << 20

/// A small file that is read and written whole: configuration, units.
package enum TextFile {
    /// `nil` = the file does not exist.
    package static func read(_ path: String) throws(SystemFailure) -> [UInt8]? {
        guard let file = try open(path) else { return nil }
        guard try stat.of(descriptor: file.number, path: path).isRegular else {
            throw SystemFailure(operation: "open", path: path, errno: EINVAL)
        }
        return try readToEnd(file.number, path, atMost: textFileBytes)
    }

    /// The same as text; bytes that are not UTF-8 are replaced.
    static func text(_ path: String) throws(SystemFailure) -> String? {
        try read(path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of standard input, until its end.
    package static func readStandardInput() throws(SystemFailure) -> [UInt8] {
        try readToEnd(STDIN_FILENO, "standard input", atMost: .max)
    }

    /// A list that is read once, until its end: a file or a pipe, `-` = standard input. `nil` = it
    /// does not exist.
    package static func readInput(_ path: String) throws(SystemFailure) -> [UInt8]? {
        // A socket cannot be opened by these paths.
        if ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path) {
            return try readStandardInput()
        }
        guard let file = try open(path) else { return nil }
        return try readToEnd(file.number, path, atMost: .max)
    }

    private static func open(_ path: String) throws(SystemFailure) -> Descriptor? {
        let answer = lh_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)
        if answer == -ENOENT || answer == -ENOTDIR { return nil }
        return Descriptor(owning: try check(answer, "open", path))
    }

    private static func readToEnd(
        _ descriptor: Int32, _ path: String, atMost most: Int
    ) throws(SystemFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = uninterrupted { Glibc.read(descriptor, &buffer, buffer.count) }
            if count < 0 { throw .last("read", path) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            if bytes.count > most {
                throw SystemFailure(operation: "read", path: path, errno: EFBIG)
            }
        }
    }

    /// Replaces the file in one step: a reader sees either the old or the new content. Missing
    /// directories are created.
    package static func write(_ text: String, to path: String) throws(SystemFailure) {
        guard let (directory, name) = PathParts.split(path) else {
            throw SystemFailure(operation: "open", path: path, errno: EINVAL)
        }
        try makeDirectory(directory)
        let new = PathParts.join(directory, ".\(name).\(getpid())")
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
        let answer = lh_openat(AT_FDCWD, new, flags, 0o644)
        let file = Descriptor(owning: try check(answer, "open", new))
        do throws(SystemFailure) {
            try write(Array(text.utf8), file, new)
            if rename(new, path) < 0 { throw .last("rename", path) }
        } catch {
            unlink(new)
            throw error
        }
    }

    /// Writes all bytes, durably.
    static func write(
        _ bytes: [UInt8], _ file: Descriptor, _ path: String
    ) throws(SystemFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                uninterrupted { Glibc.write(file.number, bytes.baseAddress, bytes.count) }
            }
            if count < 0 { throw .last("write", path) }
            rest = rest.dropFirst(count)
        }
        if fsync(file.number) < 0 { throw .last("fsync", path) }
    }

    /// Creates a file that its owner alone can read, and the missing directories above it.
    ///
    /// - Throws: With EEXIST when something has the name.
    package static func createPrivate(
        _ text: String, at path: String
    ) throws(SystemFailure) {
        guard let (directory, name) = PathParts.split(path) else {
            throw SystemFailure(operation: "open", path: path, errno: EINVAL)
        }
        let home = try DirectoryHandle.creating(directory, isPrivate: true)
        let file = try openName(
            name, in: home.descriptor, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600, path: path)
        do throws(SystemFailure) {
            // The umask may have left less.
            if fchmod(file.number, 0o600) < 0 { throw .last("chmod", path) }
            try write(Array(text.utf8), file, path)
        } catch {
            unlinkat(home.descriptor, name, 0)
            throw error
        }
    }

    /// Users other than the owner can read or change the file.
    package static func isOpenToOthers(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & 0o066 != 0
    }

    /// Returns whether the file existed.
    @discardableResult
    package static func remove(_ path: String) throws(SystemFailure) -> Bool {
        if unlink(path) == 0 { return true }
        if Glibc.errno == ENOENT || Glibc.errno == ENOTDIR { return false }
        throw .last("unlink", path)
    }

    /// Removes a directory if nothing is in it.
    package static func removeEmptyDirectory(_ path: String) { _ = rmdir(path) }

    private static func makeDirectory(_ path: String) throws(SystemFailure) {
        if mkdir(path, 0o777) == 0 || Glibc.errno == EEXIST { return }
        guard Glibc.errno == ENOENT, let (parent, _) = PathParts.split(path), parent != path else {
            throw .last("mkdir", path)
        }
        try makeDirectory(parent)
        if mkdir(path, 0o777) < 0, Glibc.errno != EEXIST { throw .last("mkdir", path) }
    }
}

extension SecretFiles {
    /// The secrets as the files have them now.
    package func secrets() throws(SecretFileProblem) -> RequestSecrets {
        try secrets { path throws(SecretFileProblem) in
            do throws(SystemFailure) {
                return try TextFile.text(path)
            } catch {
                throw .unreadable(path, error.reason)
            }
        }
    }
}

extension MediaTypes {
    /// The system's list, read once.
    package static let system = MediaTypes(
        mimeTypes: "/etc/mime.types", globs: "/usr/share/mime/globs2")

    /// Reads the first of the two files that is there; without both, the common types count.
    package init(mimeTypes: String, globs: String) {
        if let text = try? TextFile.read(mimeTypes) {
            self.init(mimeTypes: text)
        } else if let text = try? TextFile.read(globs) {
            self.init(globs: text)
        } else {
            self = .common
        }
    }
}

extension S3Profile {
    /// Keys as the files have them now.
    package func keys() throws(S3KeysProblem) -> S3Keys {
        try keys(texts())
    }

    /// Present texts of the files.
    package func texts() throws(S3KeysProblem) -> Texts {
        try Texts(credentials: text(of: credentialsFile), config: text(of: configFile))
    }

    private func text(of path: String) throws(S3KeysProblem) -> String? {
        do throws(SystemFailure) {
            return try TextFile.text(path)
        } catch {
            throw .unreadable(path, error.reason)
        }
    }
}

/// The text of a small file, such as those in /proc; bytes beyond the bound are left out.
func smallFile(_ path: String, atMost bytesMax: Int = 65_536) throws(SystemFailure) -> String {
    let descriptor = Descriptor(
        owning: try check(lh_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), "open", path))
    var failure: SystemFailure?
    let bytes = [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, filled in
        filled = 0
        while filled < buffer.count {
            let got = uninterrupted {
                read(descriptor.number, buffer.baseAddress! + filled, buffer.count - filled)
            }
            if got < 0 { failure = .last("read", path) }
            if got <= 0 { return }
            filled += got
        }
    }
    if let failure { throw failure }
    return String(decoding: bytes, as: UTF8.self)
}

/// A file without an owner after its content was handed over.
package enum SpooledFile {
    /// Deletes the file; a missing file is no error.
    package static func remove(_ path: String) {
        _ = unlink(path)
    }

    /// A file without a name, which is gone when its descriptor is closed. It is in memory if the
    /// directory's file system does not support O_TMPFILE.
    ///
    /// - Returns: the descriptor, the caller's to close.
    package static func unnamed(in directory: String) throws(SystemFailure) -> Int32 {
        let home = try DirectoryHandle(opening: directory)
        return try check(lh_unnamed_file(home.descriptor), "open", directory)
    }
}
