internal import CLonghaul
internal import Glibc

/// The file `wanted` in the state directory. A service manager that watches it starts an engine
/// when it is touched; it is there only where one was set up to.
///
/// The socket of the wake channel cannot serve for that: it belongs to whoever is the engine, which
/// a service manager is not, and every engine makes it anew.
package enum ActivationFile {
    package static func path(in directory: String) -> String {
        PathParts.join(directory, "wanted")
    }

    /// Makes it, if there is none, and with it the directory, for its user alone.
    package static func create(in directory: String) throws(SystemFailure) {
        let path = path(in: directory)
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let file = Descriptor(
            owning: try check(lh_openat(AT_FDCWD, path, flags, 0o600), "open", path))
        // Whatever the umask is.
        _ = fchmod(file.number, 0o600)
    }

    /// Asks for an engine. `false` = nobody is to be asked.
    package static func touch(in directory: String) -> Bool {
        let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW
        let answer = lh_openat(AT_FDCWD, path(in: directory), flags, 0)
        guard answer >= 0 else { return false }
        // Closing a file that was open for writing is what is watched for; the time is for people.
        let file = Descriptor(owning: answer)
        return futimens(file.number, nil) == 0
    }
}
