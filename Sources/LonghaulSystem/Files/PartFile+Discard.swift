package import LonghaulCore

extension PartFile {
    /// Deletes a part file that belongs to nobody any more, if it still is that file. Returns
    /// whether it is gone for sure; that it was gone already is fine.
    @discardableResult
    package static func discard(_ part: OrphanedPart) -> Bool {
        guard let (directory, _) = PathParts.split(part.path),
            let handle = try? DirectoryHandle(opening: directory)
        else { return false }
        return discard(part, in: handle)
    }

    /// ``discard(_:)`` in the open directory of its path.
    @discardableResult
    package static func discard(_ part: OrphanedPart, in directory: DirectoryHandle) -> Bool {
        guard let (_, name) = PathParts.split(part.path) else { return false }
        switch FileInspection.entry(at: directory.path(of: name)) {
        // By all that tells it from others, and not by its number alone.
        case .present(part.identity, _):
            do throws(SystemFailure) {
                try directory.remove(name)
                return true
            } catch {
                return false
            }
        // Where its disk is not mounted, this says nothing.
        case .present, .missing: return directory.identity.device == part.identity.device
        case .unusable: return false
        }
    }
}
