internal import Glibc
package import LonghaulCore

/// Looks at what stands under the names of a transfer, opening and changing nothing.
package enum FileInspection {
    package static func facts(part: String, destination: String) -> FileFacts {
        var facts = FileFacts(part: entry(at: part), destination: entry(at: destination))
        // Its disk may be away, and its bytes come back with it.
        if facts.part == .missing, let (directory, _) = PathParts.split(part),
            entry(at: directory) == .missing
        {
            facts.part = .unusable(errno: ENOENT)
        }
        return facts
    }

    /// Links are not followed: one in the place of a file is no file of ours. An empty path is a
    /// name that nothing has.
    package static func entry(at path: String) -> FileFacts.Entry {
        var facts = stat()
        if lstat(path, &facts) < 0 {
            let number = Glibc.errno
            // ENOTDIR: a directory of the path has become a file.
            return number == ENOENT || number == ENOTDIR ? .missing : .unusable(errno: number)
        }
        if facts.isRegular {
            return .present(FileIdentity(facts, at: path), size: Int64(facts.st_size))
        }
        if facts.isDirectory { return .unusable(errno: EISDIR) }
        return .unusable(errno: facts.isLink ? ELOOP : EINVAL)
    }
}
