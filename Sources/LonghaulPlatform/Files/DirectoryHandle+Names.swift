internal import CLonghaul
internal import Glibc
internal import LonghaulModel
internal import Synchronization

/// Names that the file system of a directory refuses. Only creating a file shows: `_PC_NAME_MAX`
/// says nothing about characters, and is not always right about lengths.
extension DirectoryHandle {
    /// Why no file of this name can be in the directory. `nil` = it can, or that is unknown. A name
    /// that is not portable is tried with a file in a separate hidden directory: no file ever
    /// appears under the name in the directory itself.
    package func refusal(of name: String) -> SystemFailure? {
        if FileNaming.isPortable(name) || hasAnyName { return nil }
        return refusal(ofAny: [name])
    }

    /// True if the directory takes the names of Linux. Looked up once.
    package var hasAnyName: Bool {
        if let known = knownToHaveAnyName.withLock({ $0 }) { return known }
        let hasAny = refusal(ofAny: FileNaming.peculiar) == nil
        knownToHaveAnyName.withLock { $0 = hasAny }
        return hasAny
    }

    /// Makes a part file, if its final name is one that the directory can have: else it would be
    /// refused when all bytes are there. A refused name is reported as the final one.
    package func making<File>(
        _ finalName: String, _ make: () throws(SystemFailure) -> File
    ) throws(SystemFailure) -> File {
        if let refusal = refusal(of: finalName) { throw refusal }
        do throws(SystemFailure) {
            return try make()
        } catch {
            guard error.isOfName else { throw error }
            var failure = error
            failure.path = path(of: finalName)
            throw failure
        }
    }

    private func refusal(ofAny names: [String]) -> SystemFailure? {
        let place = ".\(UInt64.random(in: 0 ... .max)).longhaul-probe"
        guard mkdirat(descriptor, place, 0o700) == 0 else { return nil }
        defer { unlinkat(descriptor, place, AT_REMOVEDIR) }
        // If this name is refused as well, the name is not the cause.
        guard error(ofCreating: "a", in: place) == nil else { return nil }
        for name in names {
            guard let errno = error(ofCreating: name, in: place) else { continue }
            return SystemFailure(operation: "name", path: path(of: name), errno: errno)
        }
        return nil
    }

    private func error(ofCreating name: String, in place: String) -> Int32? {
        let path = "\(place)/\(name)"
        let answer = lh_openat(
            descriptor, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if answer < 0 { return -answer }
        close(answer)
        unlinkat(descriptor, path, 0)
        return nil
    }
}
