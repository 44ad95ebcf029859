internal import CLonghaul
internal import Glibc
package import LonghaulCore

/// Looks at what stands under the names of a transfer, opening and changing nothing.
package enum FileInspection {
    /// - Parameters:
    ///   - disk: What the part file was made on, where that is known.
    ///   - identity: Where a mount may give files other numbers, nothing is said of one with
    ///     another.
    package static func facts(
        part: String, destination: String, madeOn disk: MountedDisk? = nil,
        expecting identity: FileIdentity? = nil
    ) -> FileFacts {
        let (entry, mount) = look(at: part)
        var facts = FileFacts(
            part: entry, destination: Self.entry(at: destination), mount: mount)
        // Its disk may be away, and its bytes come back with it.
        if facts.part == .missing, let (directory, _) = PathParts.split(part),
            Self.entry(at: directory) == .missing || disk?.isAway(from: directory) == true
        {
            facts.part = .unusable(errno: ENOENT)
        }
        if let identity, case .present(let other, _) = facts.part, other != identity,
            let (directory, _) = PathParts.split(part),
            let handle = try? DirectoryHandle(opening: directory),
            lh_renumbers(handle.descriptor) == 1
        {
            facts.part = .unusable(errno: ESTALE)
        }
        return facts
    }

    /// Links are not followed: one in the place of a file is no file of ours. An empty path is a
    /// name that nothing has.
    package static func entry(at path: String) -> FileFacts.Entry { look(at: path).entry }

    /// The file of a name, and when it was last touched; `nil` = there is no file, or it cannot be
    /// looked at.
    package static func file(
        at path: String
    ) -> (identity: FileIdentity, size: Int64, touched: Timestamp)? {
        guard let look = try? FileLook(at: path), look.isRegular else { return nil }
        return (look.identity, look.size, look.touched)
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

    package enum Kind { case file, link, directory, special }

    /// What the name itself is, but for a link to what is special, which is as good as that; `nil`
    /// when it is nothing, or cannot be looked at.
    package static func kind(at path: String) -> Kind? {
        guard let look = try? FileLook(at: path) else { return nil }
        return kind(of: look, name: path, in: AT_FDCWD)
    }

    static func kind(of look: FileLook, name: String, in directory: Int32) -> Kind {
        let kind = kind(of: look)
        return kind == .link && leadsToSpecial(name, in: directory) ? .special : kind
    }

    /// /dev/stdout leads to something else for each process, through /proc, and a file now and
    /// then.
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
